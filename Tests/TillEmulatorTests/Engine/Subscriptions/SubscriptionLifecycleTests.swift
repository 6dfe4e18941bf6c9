import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("A subscription's life (C7)")
struct SubscriptionLifecycleTests {
    private let token = UniqueID("3f2c1a00-1111-4222-8333-444455556666")

    @Test("It renews in the last day of each period, from the old end, with the first order's token")
    func renews() async throws {
        let world = try await SubscribedWorld(start: "2026-01-31T08:00:00.000Z")
        let first = try await world.bought("basic.monthly", token: token)
        try world.go(to: "2026-04-15T00:00:00.000Z")
        let all = try await world.transactions()
        #expect(
            all.map { $0.subscription?.expires.rfc3339 } == [
                "2026-02-28T08:00:00.000Z", "2026-03-31T08:00:00.000Z", "2026-04-30T08:00:00.000Z",
            ])
        #expect(all.map(\.reason) == ["PURCHASE", "RENEWAL", "RENEWAL"])
        #expect(Set(all.map(\.original)) == [first.number])
        #expect(Set(all.compactMap { $0.subscription?.lineItem }).count == 3)
        for (old, new) in zip(all, all.dropFirst()) {
            let lead = try #require(old.subscription).expires.milliseconds - new.purchased.milliseconds
            #expect((300_000...86_400_000).contains(lead))
            #expect(new.firstPurchased == first.purchased)
            #expect(new.appAccountToken == token)
            #expect(!new.isFinished)
            #expect(new.price == SubscribedWorld.dollars(299))
        }
        #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_RENEW"])
        #expect(try await world.notified().map(\.transactionID) == all.map(\.id.text))
        let renewal = try await world.renewal(first.number)
        #expect(renewal["autoRenewStatus"] == 1)
        #expect(renewal["renewalPrice"] == 2_990)
        #expect(renewal["recentSubscriptionStartDate"] == .int(first.purchased.milliseconds))
        #expect(renewal["isInBillingRetryPeriod"] == nil)
        await world.remove()
    }

    @Test("After a cancellation it runs to its end; a resubscription to any product of the group continues its chain")
    func cancelsAndReturns() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        world.advance(days: 10)
        #expect(try await world.store.cancelSubscription(first.number).get().renews == false)
        #expect(try await world.store.resumeSubscription(first.number).get().renews)
        #expect(try await world.store.resumeSubscription(first.number).get().renews, "twice changes nothing")
        _ = try await world.store.cancelSubscription(first.number).get()
        let waiting = try await world.renewal(first.number)
        #expect(waiting["autoRenewStatus"] == 0)
        #expect(waiting["renewalPrice"] == nil)
        #expect(waiting["expirationIntent"] == nil)
        try world.go(to: "2026-04-20T00:00:00.000Z")
        let ended = try await world.subscription(first.number)
        #expect(ended.state == .expired)
        #expect(ended.expirationIntent == 1)
        #expect(try await world.notified().last?.at.rfc3339 == "2026-04-01T08:30:00.000Z")
        #expect(try await world.notified().last?.status == 2)
        await #expect(throws: StoreRefusal.subscriptionEnded(String(first.number))) {
            try await world.store.resumeSubscription(first.number).get()
        }
        let back = try await world.bought("premium.monthly")
        #expect(back.original == first.number)
        #expect(back.firstPurchased == first.purchased)
        let running = try await world.subscription(first.number)
        #expect(running.recentStart == first.purchased, "nineteen days are no gap")
        _ = try await world.store.cancelSubscription(first.number).get()
        world.advance(days: 120)
        let late = try await world.bought("basic.monthly")
        #expect(late.original == first.number)
        #expect(try await world.subscription(first.number).recentStart == late.purchased)
        #expect(
            try await world.names() == [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                "EXPIRED/VOLUNTARY", "SUBSCRIBED/RESUBSCRIBE", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                "EXPIRED/VOLUNTARY", "SUBSCRIBED/RESUBSCRIBE",
            ])
        await world.remove()
    }

    @Test("An upgrade starts at once and marks the period it ends, without a visible refund")
    func upgrades() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        world.advance(days: 10)
        let second = try await world.bought("premium.monthly")
        #expect(second.original == first.number)
        #expect(second.reason == "PURCHASE")
        #expect(second.subscription?.expires.rfc3339 == "2026-04-11T08:30:00.000Z")
        let old = try #require(try await world.store.transaction(first.number))
        #expect(old.isUpgraded)
        #expect(old.revocation == nil)
        #expect(old.modification > second.modification || old.modification > first.modification)
        // The same level with the same period counts as an upgrade.
        world.advance(days: 1)
        _ = try await world.store.cancelSubscription(first.number).get()
        let stored = try await world.buy("basic.monthly").get()
        guard case .scheduled = stored else { return #expect(Bool(false), "a downgrade waits: \(stored)") }
        #expect(try await world.subscription(first.number).renews)
        #expect(
            try await world.names() == [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
            ])
        await world.remove()
    }

    @Test(
        "A cross-grade of the same period is immediate; an upgrade in the last day marks both periods that it ends")
    func crossGrades() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        let other = try await world.bought("other.monthly")
        #expect(other.original == first.number)
        let charge = try #require(try await world.subscription(first.number).nextCharge)
        try world.go(to: charge.adding(seconds: 60).rfc3339)
        let renewed = try #require(try await world.transactions().last)
        #expect(renewed.reason == "RENEWAL")
        try await world.bought("premium.annual")
        #expect(try await world.transactions().map(\.isUpgraded) == [true, true, true, false])
        await world.remove()
    }

    @Test("A downgrade waits for the renewal, can be undone, and renews into the lower plan with reason RENEWAL")
    func downgrades() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("premium.monthly")
        for product in ["basic.monthly", "premium.monthly", "premium.annual", "basic.monthly"] {
            guard case .scheduled(let subscription) = try await world.buy(product).get() else {
                Issue.record("\(product) did not wait")
                continue
            }
            #expect(subscription.productID.text == "premium.monthly")
            #expect(subscription.renewalProductID.text == product)
        }
        await #expect(throws: StoreRefusal.alreadySubscribed(product: "basic.monthly")) {
            try await world.buy("basic.monthly").get()
        }
        #expect(try await world.renewal(first.number)["autoRenewProductId"] == "basic.monthly")
        #expect(try await world.renewal(first.number)["renewalPrice"] == 2_990)
        world.advance(days: 31)
        let second = try #require(try await world.transactions().last)
        #expect(second.productID.text == "basic.monthly")
        #expect(second.reason == "RENEWAL")
        #expect(second.price == SubscribedWorld.dollars(299))
        #expect(try await world.store.transaction(first.number)?.isUpgraded == false)
        #expect(
            try await world.names() == [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_CHANGE_RENEWAL_PREF",
                "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_RENEW",
            ])
        await world.remove()
    }

    @Test("A product that is removed from sale, or has no price any more, does not renew")
    func notForSale() async throws {
        for state in [ProductState.developerRemovedFromSale, .removedFromSale, .approved] {
            let world = try await SubscribedWorld()
            let first = try await world.bought("basic.monthly")
            try await world.store.change { change in
                guard var product = try ProductTable.find(ProductID("basic.monthly"), change.connection) else { return }
                product.state = state
                if state == .approved { product.prices = [:] }
                try ProductTable.update(product, change.connection)
            }
            world.advance(days: 40)
            #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY", "EXPIRED/PRODUCT_NOT_FOR_SALE"])
            #expect(try await world.subscription(first.number).expirationIntent == 4)
            #expect(try await world.notified().last?.at == first.subscription?.expires)
            await world.remove()
        }
    }

    @Test("At a faster pace it renews twelve times and stops, with EXPIRED and no subtype")
    func stopsAfterTwelve() async throws {
        let world = try await SubscribedWorld { $0.renewalPace = .monthInFiveMinutes }
        let first = try await world.bought("basic.monthly")
        #expect(first.subscription?.expires == first.purchased.adding(seconds: 300))
        world.advance(days: 1)
        let names = try await world.names()
        #expect(names == ["SUBSCRIBED/INITIAL_BUY"] + Array(repeating: "DID_RENEW", count: 12) + ["EXPIRED"])
        #expect(try await world.notified().last?.at == first.purchased.adding(seconds: 13 * 300))
        #expect(try await world.subscription(first.number).expirationIntent == 5)
        await world.remove()
    }

    @Test("A refund of the current period ends the service; one of an older period removes only that period (U6)")
    func refunds() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        world.advance(days: 35)
        let current = try await world.subscription(first.number).current
        #expect(current != first.number)
        _ = try await world.store.refund(first.number).get()
        #expect(try await world.subscription(first.number).state == .active)
        #expect(try await world.notified().last?.status == 1)
        _ = try await world.store.refund(current, percentage: 40_000).get()
        let revoked = try await world.subscription(first.number)
        #expect(revoked.state == .revoked)
        #expect(!revoked.renews)
        #expect(try await world.notified().last?.status == 5)
        world.advance(days: 5)
        // The refund is reversed during the period: the subscription ends on its original date, without renewal.
        let back = try await world.store.change { change -> StoreSubscription? in
            guard let transaction = try TransactionTable.find(current, change.connection) else { return nil }
            return try SubscriptionLifecycle.reinstated(transaction, change)
        }
        #expect(back?.state == .active)
        #expect(back?.expires == revoked.expires)
        world.advance(days: 60)
        #expect(
            try await world.names() == [
                "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "REFUND", "REFUND", "EXPIRED/VOLUNTARY",
            ])
        await world.remove()
    }

    @Test("An Ask to Buy request is no subscription; once approved, its period starts then, in the current chain")
    func deferred() async throws {
        let world = try await SubscribedWorld()
        guard case .waiting(let waiting) = try await world.buy("premium.monthly", outcome: .deferred).get() else {
            Issue.record("it did not wait")
            return
        }
        #expect(try await world.store.subscription(waiting.number) == nil)
        #expect(try await world.names() == [])
        world.advance(seconds: 3_600)
        let own = try await world.bought("basic.monthly")
        world.advance(seconds: 3_600)
        let done = try await world.store.change { change in
            guard let stored = try TransactionTable.find(waiting.number, change.connection) else { return waiting }
            return try SubscriptionLifecycle.complete(stored, change)
        }
        #expect(done.state == .purchased)
        #expect(done.original == own.number)
        #expect(done.subscription?.expires.rfc3339 == "2026-04-01T10:30:00.000Z")
        #expect(try await world.store.transaction(waiting.number) == done)
        #expect(try await world.subscription(own.number).current == done.number)
        #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE"])
        guard
            case .waiting(let second) = try await world.buy(
                "basic.monthly", account: "other", outcome: .interrupted
            ).get()
        else {
            Issue.record("it did not wait")
            return
        }
        let first = try await world.store.change { try SubscriptionLifecycle.complete(second, $0) }
        #expect(first.original == first.number)
        #expect(try await world.names().last == "SUBSCRIBED/INITIAL_BUY")
        await world.remove()
    }

    @Test("At the sandbox's pace a gap of ten minutes counts, and a shorter one does not (facts/jws §5)")
    func gaps() async throws {
        for (seconds, isGap) in [(599, false), (601, true)] as [(Int64, Bool)] {
            let world = try await SubscribedWorld { $0.renewalPace = .monthInFiveMinutes }
            let first = try await world.bought("basic.monthly")
            _ = try await world.store.cancelSubscription(first.number).get()
            world.advance(seconds: 300 + seconds)
            let back = try await world.bought("basic.monthly")
            let start = try await world.subscription(first.number).recentStart
            #expect(start == (isGap ? back.purchased : first.purchased))
            await world.remove()
        }
    }

    @Test("A deleted account's subscription is not renewed, and a product without monthly billing is not sold monthly")
    func others() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        try await world.store.change { change in
            var account = try #require(try AccountTable.find(Emulator.defaultAccount, change.connection))
            account.isDeleted = true
            try AccountTable.update(account, change.connection)
        }
        world.advance(days: 40)
        #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY", "EXPIRED"])
        #expect(try await world.subscription(first.number).expirationIntent == 5)
        var request = PurchaseRequest(bundleID: SubscribedWorld.bundleID, productID: ProductID("basic.annual"))
        request.monthlyBilling = true
        request.account = "somebody"
        let refused = try await world.store.purchase(request)
        #expect(refused == .failure(.noMonthlyBilling(product: "basic.annual")))
        await world.remove()
    }
}
