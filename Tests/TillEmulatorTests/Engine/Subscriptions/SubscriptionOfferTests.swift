import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("Offers of subscriptions (facts/business-rules §9)")
struct SubscriptionOfferTests {
    /// Expiry, price and offer type of every transaction.
    private func periods(_ world: SubscribedWorld) async throws -> [String] {
        try await world.transactions().map { transaction in
            let end = (transaction.subscription?.expires.rfc3339 ?? "").prefix(10)
            let offer = transaction.offer.map { " \($0.kind.rawValue) \($0.period ?? "")" } ?? ""
            return "\(end) \(transaction.price.amount)\(offer)"
        }
    }

    @Test("A free trial costs nothing, lasts its days, and is followed by the list price")
    func trial() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("trial.monthly")
        #expect(first.offer?.kind == .introductory)
        #expect(first.offer?.discount == .freeTrial)
        let signed = SignedContent.transaction(first, signed: world.now).json
        #expect(signed["price"] == 0)
        #expect(signed["offerType"] == 1)
        #expect(signed["offerIdentifier"] == nil)
        #expect(signed["offerDiscountType"] == "FREE_TRIAL")
        #expect(signed["offerPeriod"] == "P3D")
        #expect(try await world.renewal(first.number)["renewalPrice"] == 4_990)
        #expect(try await world.renewal(first.number)["offerType"] == nil)
        try world.go(to: "2026-05-01T00:00:00.000Z")
        #expect(
            try await periods(world) == [
                "2026-03-04 0 introductory P3D", "2026-04-04 499", "2026-05-04 499",
            ])
        await world.remove()
    }

    @Test("Pay as you go repeats its price, pay up front pays once; a group has one introductory offer per customer")
    func introductory() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("steps.monthly")
        let next = try await world.renewal(first.number)
        #expect(next["offerType"] == 1)
        #expect(next["renewalPrice"] == 990)
        #expect(next["offerPeriod"] == "P2M")
        try world.go(to: "2026-05-02T00:00:00.000Z")
        #expect(
            try await periods(world) == [
                "2026-04-01 99 introductory P2M", "2026-05-01 99 introductory P2M", "2026-06-01 599",
            ])
        _ = try await world.store.cancelSubscription(first.number).get()
        try world.go(to: "2026-06-10T00:00:00.000Z")
        #expect(try await world.bought("trial.monthly").offer == nil, "once in a life")
        await world.remove()

        let other = try await SubscribedWorld()
        try await other.bought("upfront.monthly")
        try other.go(to: "2026-09-02T00:00:00.000Z")
        #expect(try await periods(other) == ["2026-09-01 999 introductory P6M", "2026-10-01 599"])
        await other.remove()

        let active = try await SubscribedWorld()
        try await active.bought("light.weekly")
        #expect(try await active.bought("trial.monthly").offer == nil, "not for who subscribes now")
        await active.remove()
    }

    @Test(
        "A promotional offer is for current and former subscribers, and starts at the next renewal of the same product")
    func promotional() async throws {
        let world = try await SubscribedWorld()
        let early = try await world.promotional("half")
        await #expect(throws: StoreRefusal.notEligible(offer: "half")) {
            try await world.buy("basic.monthly", offer: early).get()
        }
        await #expect(throws: StoreRefusal.nonceUsed, "its signature is used up all the same") {
            try await world.buy("basic.monthly", offer: early).get()
        }
        let first = try await world.bought("basic.monthly")
        await #expect(throws: StoreRefusal.unknownOffer("none", product: "basic.monthly")) {
            try await world.buy("basic.monthly", offer: try await world.promotional("none")).get()
        }
        await #expect(throws: StoreRefusal.wrongSignature, "who is eligible is not said without a signature") {
            try await world.buy(
                "basic.monthly", account: "nobody", offer: .promotional(identifier: "half", signature: .jws("a.b.c"))
            ).get()
        }
        let offer = try await world.promotional("half")
        _ = try await world.store.cancelSubscription(first.number).get()
        guard case .scheduled(let subscription) = try await world.buy("basic.monthly", offer: offer).get() else {
            Issue.record("it did not wait")
            return
        }
        #expect(subscription.renews)
        let next = try await world.renewal(first.number)
        #expect(next["offerIdentifier"] == "half")
        #expect(next["offerType"] == 2)
        #expect(next["renewalPrice"] == 1_490)
        try world.go(to: "2026-07-15T00:00:00.000Z")
        #expect(
            try await periods(world) == [
                "2026-04-01 299", "2026-05-01 149 promotional P3M", "2026-06-01 149 promotional P3M",
                "2026-07-01 149 promotional P3M", "2026-08-01 299",
            ])
        #expect(
            try await world.names().prefix(4) == [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "OFFER_REDEEMED",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
            ])
        await world.remove()
    }

    @Test("An offer on another plan changes as the plan does: OFFER_REDEEMED with UPGRADE or DOWNGRADE")
    func withPlanChange() async throws {
        let up = try await SubscribedWorld()
        let token = UniqueID(high: 0x3F2C_1A00_1111_4222, low: 0x8333_4444_5555_6666)
        try await up.bought("light.weekly")
        let half = try await up.promotional("half", token: token)
        #expect(try await up.bought("basic.monthly", offer: half, token: token).price == SubscribedWorld.dollars(149))
        #expect(try await up.names().last == "OFFER_REDEEMED/UPGRADE")
        await up.remove()
        let down = try await SubscribedWorld()
        let premium = try await down.bought("premium.monthly")
        let signed = try await down.promotionalToken("half", transaction: premium.number)
        guard case .scheduled = try await down.buy("basic.monthly", offer: signed).get() else {
            Issue.record("it did not wait")
            return
        }
        #expect(try await down.names().last == "OFFER_REDEEMED/DOWNGRADE")
        try down.go(to: "2026-04-02T00:00:00.000Z")
        #expect(try await periods(down) == ["2026-04-01 699", "2026-05-01 149 promotional P3M"])
        await down.remove()
    }

    @Test("Win-back offers are for former subscribers, the best first; one who uses it has resubscribed")
    func winBack() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        let offer = PurchaseRequest.Offer.winBack(identifier: "again")
        await #expect(throws: StoreRefusal.notEligible(offer: "again")) {
            try await world.buy("basic.monthly", offer: offer).get()
        }
        _ = try await world.store.cancelSubscription(first.number).get()
        #expect(try await world.renewal(first.number)["eligibleWinBackOfferIds"] == nil)
        world.advance(days: 40)
        // The offer without a price here is not listed.
        #expect(try await world.renewal(first.number)["eligibleWinBackOfferIds"] == ["free-again", "again"])
        let back = try await world.bought("basic.monthly", offer: offer)
        #expect(back.price == SubscribedWorld.dollars(499))
        #expect(back.offer?.kind == .winBack)
        #expect(back.subscription?.expires.rfc3339 == "2026-07-10T08:30:00.000Z")
        #expect(try await world.names().last == "SUBSCRIBED/RESUBSCRIBE")
        #expect(try await world.renewal(first.number)["eligibleWinBackOfferIds"] == nil)
        await world.remove()
    }

    @Test(
        "A failed attempt uses up a signature; a signature for an overdue charge pays it at the offer's price")
    func failedAttempt() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        _ = try await world.store.failBilling(first.number).get()
        world.advance(days: 35)
        #expect(try await world.subscription(first.number).state == .billingRetry)
        let offer = try await world.promotional("half")
        #expect(try await world.buy("basic.monthly", offer: offer).get() == .failed)
        try await world.store.change { change in
            var subscription = try #require(try SubscriptionTable.find(first.number, change.connection))
            subscription.billingFails = false
            try SubscriptionLifecycle.save(subscription, change)
        }
        await #expect(throws: StoreRefusal.nonceUsed) { try await world.buy("basic.monthly", offer: offer).get() }
        let paid = try await world.bought("basic.monthly", offer: try await world.promotional("half"))
        #expect(paid.price == SubscribedWorld.dollars(149) && paid.offer?.identifier == "half")
        #expect(try await world.names().last == "DID_RENEW/BILLING_RECOVERY")
        await world.remove()
    }

    @Test("The developer's token grants the introductory offer to an ineligible customer, and denies it to others")
    func eligibility() async throws {
        let world = try await SubscribedWorld()
        func buy(_ product: String, _ account: String, _ token: String) async throws -> StoreTransaction? {
            var request = PurchaseRequest(bundleID: SubscribedWorld.bundleID, productID: ProductID(product))
            request.account = account
            request.introductoryEligibility = token
            guard case .purchased(let transaction) = try await world.store.purchase(request).get() else { return nil }
            return transaction
        }
        let first = try await world.bought("light.weekly", account: "a")
        let granted = try await buy(
            "trial.monthly", "a", try await world.eligibility(true, of: "trial.monthly", transaction: first.number))
        #expect(granted?.offer?.kind == .introductory && granted?.price.amount == 0)
        let other = try await world.bought("light.weekly", account: "b")
        _ = try await world.store.cancelSubscription(other.number).get()
        world.advance(days: 10)
        let word = try await world.eligibility(false, of: "trial.monthly", transaction: other.number)
        let withheld = try await buy("trial.monthly", "b", word)
        #expect(withheld?.offer == nil && withheld?.price.amount == 499)
        await #expect(throws: StoreRefusal.offerOfAnother) {
            try await buy("trial.monthly", "c", try await world.eligibility(true, of: "trial.monthly", transaction: 1))
        }
        await world.remove()
    }
}
