import Testing
import TillBilling
import TillJSON

@testable import TillEmulator

@Suite("A year paid monthly, with a commitment of twelve months (facts/jws §4, §5)")
struct CommitmentTests {
    private static let yearly = "whole.annual"

    /// A year for 59.99, whose twelfth is not whole; one with a monthly price of its own; one of a higher level.
    private func world(_ adjust: (inout EmulatorConfiguration) -> Void = { _ in }) async throws -> SubscribedWorld {
        func product(_ id: String, _ cents: Int64, level: Int64, month: Int64? = nil) -> StoreProduct {
            StoreProduct(
                id: ProductID(id), kind: .autoRenewable, name: id, prices: ["USA": SubscribedWorld.dollars(cents)],
                subscription: SubscriptionTerms(
                    groupID: "7001", level: level, period: .year, allowsMonthlyBilling: true,
                    monthlyPrices: month.map { ["USA": SubscribedWorld.dollars($0)] }))
        }
        return try await SubscribedWorld {
            $0.products =
                SubscribedWorld.products + [
                    product(Self.yearly, 5_999, level: 2), product("named.annual", 5_999, level: 2, month: 599),
                    product("upper.annual", 11_999, level: 1),
                ]
            adjust(&$0)
        }
    }

    private func buy(
        _ world: SubscribedWorld, _ product: String = yearly, byTheMonth: Bool = true,
        outcome: PurchaseRequest.Outcome = .purchased, offer: PurchaseRequest.Offer? = nil
    ) async throws -> Result<PurchaseResult, StoreRefusal> {
        var request = PurchaseRequest(bundleID: SubscribedWorld.bundleID, productID: ProductID(product))
        request.monthlyBilling = byTheMonth
        request.outcome = outcome
        request.offer = offer
        return try await world.store.purchase(request)
    }

    private func bought(_ world: SubscribedWorld, _ product: String = yearly) async throws -> StoreTransaction {
        guard case .purchased(let transaction) = try await buy(world, product).get() else {
            Issue.record("\(product) was not bought")
            throw CancellationError()
        }
        return transaction
    }

    /// Expiry, price, and the month and commitment of each transaction.
    private func months(_ world: SubscribedWorld) async throws -> [String] {
        try await world.transactions().map { transaction in
            let end = (transaction.subscription?.expires.rfc3339 ?? "").prefix(10)
            let month = transaction.commitment.map {
                " \($0.billingPeriod)/\($0.billingPeriods) to \($0.expires.rfc3339.prefix(10)) of \($0.price.amount)"
            }
            return "\(end) \(transaction.price.amount)\(month ?? "")"
        }
    }

    private func commitment(_ world: SubscribedWorld, _ original: Int64) async throws -> JSONValue {
        try await world.renewal(original)["commitmentInfo"] ?? .null
    }

    @Test("After twelve payments of a rounded-up twelfth, the thirteenth month starts the next commitment")
    func thirteen() async throws {
        let world = try await world()
        let first = try await bought(world)
        try world.go(to: "2027-03-02T00:00:00.000Z")
        let ends = (4...12).map { "2026-\($0 < 10 ? "0" : "")\($0)-01" } + ["2027-01-01", "2027-02-01", "2027-03-01"]
        let expected = zip(ends, 1...12).map { "\($0) 500 \($1)/12 to 2027-03-01 of 6000" }
        #expect(try await months(world) == expected + ["2027-04-01 500 1/12 to 2028-03-01 of 6000"])
        #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY"] + Array(repeating: "DID_RENEW", count: 12))
        let signed = SignedContent.transaction(first, signed: world.now).json
        #expect(signed["billingPlanType"] == "MONTHLY")
        #expect(signed["price"] == 5_000)
        let info: JSONValue = [
            "billingPeriodNumber": 1, "totalBillingPeriods": 12, "commitmentPrice": 60_000,
            "commitmentExpiresDate": 1_803_889_800_000,
        ]
        #expect(signed["commitmentInfo"] == info)
        await world.remove()
    }

    @Test("The renewal info describes the next month, and the time after the commitment")
    func renewalInfo() async throws {
        let world = try await world()
        let first = try await bought(world, "named.annual")
        var info = try await world.renewal(first.number)
        #expect(info["renewalBillingPlanType"] == "MONTHLY" && info["autoRenewStatus"] == 1)
        #expect(info["renewalPrice"] == 5_990, "the product's own price for a month")
        let end = try #require(first.commitment?.expires)
        #expect(
            info["commitmentInfo"] == [
                "commitmentAutoRenewProductId": "named.annual", "commitmentAutoRenewStatus": 1,
                "commitmentRenewalBillingPlanType": "MONTHLY", "commitmentRenewalDate": .int(end.milliseconds),
                "commitmentRenewalPrice": 71_880,
            ])
        // The year paid at once, and a lower plan: both wait for the end of the commitment.
        guard case .scheduled = try await buy(world, "named.annual", byTheMonth: false).get() else {
            Issue.record("it did not wait")
            return
        }
        info = try await world.renewal(first.number)
        #expect(info["renewalBillingPlanType"] == "MONTHLY" && info["renewalPrice"] == 5_990)
        #expect(info["commitmentInfo"]?["commitmentRenewalBillingPlanType"] == "BILLED_UPFRONT")
        #expect(info["commitmentInfo"]?["commitmentRenewalPrice"] == 59_990)
        _ = try await world.store.changePlan(first.number, to: ProductID("basic.monthly")).get()
        info = try await world.renewal(first.number)
        #expect(info["autoRenewProductId"] == "named.annual")
        #expect(info["commitmentInfo"]?["commitmentAutoRenewProductId"] == "basic.monthly")
        try world.go(to: "2027-03-02T00:00:00.000Z")
        #expect(try await months(world).suffix(2) == ["2027-03-01 599 12/12 to 2027-03-01 of 7188", "2027-04-01 299"])
        #expect(try await world.renewal(first.number)["renewalBillingPlanType"] == nil)
        await world.remove()
    }

    @Test("Cancelled in the third month, it continues to the twelfth and ends as cancelled")
    func cancelled() async throws {
        let world = try await world()
        let first = try await bought(world)
        world.advance(days: 70)
        _ = try await world.store.cancelSubscription(first.number).get()
        var info = try await world.renewal(first.number)
        #expect(info["autoRenewStatus"] == 1, "the next month is owed")
        #expect(info["commitmentInfo"]?["commitmentAutoRenewStatus"] == 0)
        #expect(info["commitmentInfo"]?["commitmentRenewalPrice"] == nil)
        try world.go(to: "2027-02-15T00:00:00.000Z")
        info = try await world.renewal(first.number)
        #expect(info["autoRenewStatus"] == 0 && info["renewalPrice"] == nil, "the twelfth is the last")
        try world.go(to: "2027-03-02T00:00:00.000Z")
        #expect(try await months(world).count == 12)
        let subscription = try await world.subscription(first.number)
        #expect(subscription.state == .expired && subscription.expirationIntent == 1)
        #expect(try await world.renewal(first.number)["commitmentInfo"] == nil)
        #expect(try await world.names().suffix(2) == ["DID_RENEW", "EXPIRED/VOLUNTARY"])
        await world.remove()
    }

    @Test("An upgrade takes effect at once, ends the commitment, and starts one of its own")
    func upgrade() async throws {
        let world = try await world()
        let first = try await bought(world)
        world.advance(days: 40)
        _ = try await world.store.changePlan(first.number, to: ProductID("upper.annual")).get()
        #expect(try await world.names().last == "DID_CHANGE_RENEWAL_PREF/UPGRADE")
        #expect(try await months(world).last == "2026-05-10 1000 1/12 to 2027-04-10 of 12000")
        #expect(try await world.transactions().map(\.isUpgraded) == [false, true, false])
        // To the year paid at once.
        let up = try await SubscribedWorld { $0.products = world.emulator.configuration.products }
        let other = try await bought(up)
        _ = try await buy(up, "upper.annual", byTheMonth: false).get()
        #expect(try await months(up).last == "2027-03-01 11999")
        let signed = SignedContent.transaction(try #require(try await up.transactions().last), signed: up.now).json
        #expect(signed["billingPlanType"] == "BILLED_UPFRONT" && signed["commitmentInfo"] == nil)
        #expect(try await up.renewal(other.number)["renewalBillingPlanType"] == "BILLED_UPFRONT")
        await up.remove()
        await world.remove()
    }

    @Test("A month that can't be charged is retried even after a cancellation; a late payment moves the end")
    func billing() async throws {
        let world = try await world()
        let first = try await bought(world)
        world.advance(days: 35)
        _ = try await world.store.failBilling(first.number).get()
        try world.go(to: "2026-05-02T08:30:00.000Z")
        #expect(try await world.subscription(first.number).state == .billingRetry)
        _ = try await world.store.cancelSubscription(first.number).get()
        #expect(try await world.subscription(first.number).state == .billingRetry, "it is owed all the same")
        try world.go(to: "2026-05-11T08:30:00.000Z")
        _ = try await world.store.recover(first.number).get()
        #expect(try await months(world).last == "2026-06-11 500 3/12 to 2027-03-11 of 6000")
        try world.go(to: "2027-03-12T00:00:00.000Z")
        #expect(try await months(world).count == 12)
        #expect(try await world.names().last == "EXPIRED/VOLUNTARY")
        await world.remove()

        let lost = try await self.world()
        let other = try await bought(lost)
        _ = try await lost.store.failBilling(other.number).get()
        lost.advance(days: 31 + 61)
        #expect(try await lost.names().last == "EXPIRED/BILLING_RETRY")
        #expect(try await bought(lost).commitment?.billingPeriod == 1, "who comes back begins anew")
        await lost.remove()
    }

    @Test(
        "A refund of the current month ends it, a reversal restores the commitment; older months affect nothing")
    func refund() async throws {
        let world = try await world()
        let first = try await bought(world)
        world.advance(days: 40)
        _ = try await world.store.refund(first.number).get()
        #expect(try await world.subscription(first.number).state == .active)
        let second = try await world.subscription(first.number).current
        _ = try await world.store.refund(second).get()
        #expect(try await world.subscription(first.number).state == .revoked)
        #expect(try await world.renewal(first.number)["autoRenewStatus"] == 0)
        world.advance(days: 2)
        _ = try await world.store.reverseRefund(second).get()
        world.advance(days: 30)
        #expect(try await months(world).last == "2026-06-01 500 3/12 to 2027-03-01 of 6000")
        await world.remove()
    }

    @Test("A price increase and an end of sales wait for the end of the commitment")
    func developer() async throws {
        let world = try await world()
        let first = try await bought(world)
        let raised = try await world.store.raisePrice(of: first.number, to: SubscribedWorld.dollars(599)).get()
        #expect(raised.priceIncrease?.needsConsent == false, "99 cents of a month")
        #expect(try await commitment(world, first.number)["commitmentRenewalPrice"] == 60_000)
        try world.go(to: "2027-02-10T00:00:00.000Z")
        #expect(try await commitment(world, first.number)["commitmentRenewalPrice"] == 71_880)
        #expect(try await world.renewal(first.number)["renewalPrice"] == 5_990)
        try world.go(to: "2027-03-02T00:00:00.000Z")
        #expect(try await months(world).suffix(2).map { $0.split(separator: " ")[1] } == ["500", "599"])
        try await world.store.change { change in
            var product = try #require(try ProductTable.find(ProductID(Self.yearly), change.connection))
            product.state = .developerRemovedFromSale
            try ProductTable.update(product, change.connection)
        }
        try world.go(to: "2028-03-02T00:00:00.000Z")
        #expect(try await months(world).count == 24)
        #expect(try await world.names().last == "EXPIRED/PRODUCT_NOT_FOR_SALE")
        await world.remove()
    }

    @Test("Only a year that allows it is sold monthly, without offers; a waiting request starts when approved")
    func rules() async throws {
        let world = try await world()
        #expect(try await buy(world, "basic.annual") == .failure(.noMonthlyBilling(product: "basic.annual")))
        #expect(try await buy(world, "basic.monthly") == .failure(.noMonthlyBilling(product: "basic.monthly")))
        let code = try await buy(world, offer: .code("X"))
        #expect(code == .failure(.noOfferByTheMonth(product: Self.yearly)))
        guard case .waiting(let asked) = try await buy(world, outcome: .deferred).get() else {
            Issue.record("it did not wait")
            return
        }
        world.advance(seconds: 3_600)
        _ = try await world.store.decide(asked.number, approved: true).get()
        #expect(try await months(world) == ["2026-04-01 500 1/12 to 2027-03-01 of 6000"])
        let begun = try await world.transactions().last
        #expect(begun?.commitment?.expires == world.now.adding(seconds: 365 * 86_400))
        #expect(try await buy(world) == .failure(.alreadySubscribed(product: Self.yearly)))
        await world.remove()
    }

    @Test("A longer month makes the commitment longer, also after a restart and at the sandbox's pace")
    func extensionAndPace() async throws {
        let world = try await world()
        let first = try await bought(world)
        _ = try await world.store.extendSubscription(first.number, days: 10).get()
        world.advance(days: 45)
        #expect(
            try await months(world) == [
                "2026-04-11 500 1/12 to 2027-03-11 of 6000", "2026-05-11 500 2/12 to 2027-03-11 of 6000",
            ])
        let again = try await world.reopened()
        again.advance(days: 30)
        #expect(try await months(again).last == "2026-06-11 500 3/12 to 2027-03-11 of 6000")
        await again.remove()
        let fast = try await self.world { $0.renewalPace = .monthInFiveMinutes }
        let begun = try await bought(fast)
        #expect(begun.commitment?.expires == fast.now.adding(seconds: 3_600))
        fast.advance(seconds: 3_000)
        #expect(try await fast.transactions().last?.commitment?.billingPeriod ?? 0 >= 10)
        #expect(Set(try await fast.transactions().map { $0.commitment?.expires }) == [begun.commitment?.expires])
        await fast.remove()
    }
}
