import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("Renewals that can't be charged (C7)")
struct BillingRetryTests {
    private func failing(_ grace: BillingGracePeriod?, product: String = "basic.monthly") async throws -> (
        SubscribedWorld, StoreTransaction
    ) {
        let world = try await SubscribedWorld { $0.billingGracePeriod = grace }
        let first = try await world.bought(product)
        _ = try await world.store.failBilling(first.number).get()
        return (world, first)
    }

    @Test("Without a grace period the service stops at the end of the period; after 60 days Apple gives up")
    func retry() async throws {
        let (world, first) = try await failing(nil)
        try world.go(to: "2026-04-01T08:30:00.000Z")
        #expect(try await world.subscription(first.number).state == .billingRetry)
        let renewal = try await world.renewal(first.number)
        #expect(renewal["isInBillingRetryPeriod"] == true)
        #expect(renewal["expirationIntent"] == 2)
        #expect(renewal["gracePeriodExpiresDate"] == nil)
        #expect(renewal["renewalDate"] == .int(try #require(first.subscription).expires.milliseconds))
        world.advance(days: 100)
        #expect(try await world.names() == ["SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW", "EXPIRED/BILLING_RETRY"])
        #expect(try await world.notified().map(\.status) == [1, 3, 2])
        #expect(try await world.notified().last?.at.rfc3339 == "2026-05-31T08:30:00.000Z")
        #expect(try await world.renewal(first.number)["isInBillingRetryPeriod"] == false)
        #expect(try await world.transactions().count == 1)
        await world.remove()
    }

    @Test("Recovery in a grace period keeps the billing date; a later recovery starts a new period")
    func recoveries() async throws {
        for (days, expires, names) in [
            (5, "2026-05-01T08:30:00.000Z", ["DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_RENEW/BILLING_RECOVERY"]),
            (
                20, "2026-05-21T08:30:00.000Z",
                ["DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "DID_RENEW/BILLING_RECOVERY"]
            ),
        ] as [(Int64, String, [String])] {
            let (world, first) = try await failing(BillingGracePeriod(.sixteen))
            world.advance(days: 31)
            let failing = try await world.subscription(first.number)
            #expect(failing.state == .gracePeriod)
            #expect(failing.graceExpires?.rfc3339 == "2026-04-17T08:30:00.000Z")
            let renewal = try await world.renewal(first.number)
            #expect(renewal["gracePeriodExpiresDate"] == .int(try #require(failing.graceExpires).milliseconds))
            #expect(renewal["isInBillingRetryPeriod"] == true)
            world.advance(days: days)
            let recovered = try await world.store.recover(first.number).get()
            #expect(recovered.state == .active)
            #expect(recovered.expires.rfc3339 == expires)
            #expect(recovered.retryUntil == nil && recovered.graceExpires == nil)
            #expect(recovered.recentStart == first.purchased)
            #expect(try await world.names().dropFirst() == names[...])
            let second = try #require(try await world.transactions().last)
            #expect(second.reason == "RENEWAL")
            #expect(second.purchased == world.now)
            await world.remove()
        }
    }

    @Test("When the account's payment works again, Apple's next retry recovers the subscription")
    func attempts() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        try await world.setPayment(works: false)
        guard case .failed = try await world.buy("premium.monthly").get() else {
            Issue.record("a purchase went through without a payment method")
            return
        }
        try world.go(to: "2026-04-04T12:00:00.000Z")
        #expect(try await world.subscription(first.number).state == .billingRetry)
        try await world.setPayment(works: true)
        try world.go(to: "2026-04-30T12:00:00.000Z")
        let second = try #require(try await world.transactions().last)
        #expect(second.purchased.rfc3339 == "2026-04-06T08:30:00.000Z", "the fifth day")
        #expect(second.subscription?.expires.rfc3339 == "2026-05-06T08:30:00.000Z")
        #expect(
            try await world.names() == ["SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW", "DID_RENEW/BILLING_RECOVERY"])
        await world.remove()
    }

    @Test("Buying the product again while its charge fails pays the overdue period")
    func buysAgain() async throws {
        let (world, first) = try await failing(nil)
        world.advance(days: 35)
        try await world.store.change { change in
            var subscription = try #require(try SubscriptionTable.find(first.number, change.connection))
            subscription.billingFails = false
            try SubscriptionLifecycle.save(subscription, change)
        }
        let paid = try await world.bought("basic.monthly")
        #expect(paid.original == first.number)
        #expect(try await world.names().last == "DID_RENEW/BILLING_RECOVERY")
        await world.remove()
    }

    @Test("A cancellation while a charge fails ends the service at once")
    func cancels() async throws {
        for grace in [BillingGracePeriod(.twentyEight), nil] {
            let (world, first) = try await failing(grace)
            world.advance(days: 33)
            let ended = try await world.store.cancelSubscription(first.number).get()
            #expect(ended.state == .expired)
            #expect(ended.expirationIntent == 1)
            world.advance(days: 100)
            #expect(
                try await world.names() == [
                    "SUBSCRIBED/INITIAL_BUY", grace == nil ? "DID_FAIL_TO_RENEW" : "DID_FAIL_TO_RENEW/GRACE_PERIOD",
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                ])
            await world.remove()
        }
    }

    @Test("A paid-to-paid grace period excludes renewals from a free trial; weekly subscriptions have at most six days")
    func scopes() async throws {
        let (world, first) = try await failing(
            BillingGracePeriod(.sixteen, scope: .paidToPaidOnly), product: "trial.monthly")
        #expect(first.price.amount == 0)
        world.advance(days: 4)
        #expect(try await world.names().last == "DID_FAIL_TO_RENEW")
        await world.remove()
        let (weekly, week) = try await failing(BillingGracePeriod(.sixteen), product: "light.weekly")
        weekly.advance(days: 8)
        #expect(try await weekly.subscription(week.number).graceExpires?.rfc3339 == "2026-03-14T08:30:00.000Z")
        weekly.advance(days: 30)
        #expect(
            try await weekly.names() == [
                "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED",
            ])
        await weekly.remove()
    }

    @Test("Recovering a working subscription is refused")
    func nothingToRecover() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        await #expect(throws: StoreRefusal.nothingToRecover(String(first.number))) {
            try await world.store.recover(first.number).get()
        }
        await #expect(throws: StoreRefusal.unknownSubscription("5")) { try await world.store.recover(5).get() }
        await world.remove()
    }
}
