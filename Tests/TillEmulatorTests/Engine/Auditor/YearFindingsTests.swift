import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

/// Each test is a contradiction that the year of subscribers found.
@Suite("Contradictions found by the year of subscribers")
struct YearFindingsTests {
    /// A family whose organizer `host` shares the premium plan with `guest`.
    private func family() async throws -> (world: SubscribedWorld, host: Int64, guest: StoreSubscription) {
        let world = try await SubscribedWorld { configuration in
            configuration.billingGracePeriod = BillingGracePeriod(.sixteen)
            configuration.products = SubscribedWorld.products.map { product in
                var product = product
                product.isFamilyShareable = product.id.text.hasPrefix("premium")
                return product
            }
        }
        var change = AccountChange()
        change.family = "host"
        for name in ["host", "guest"] { _ = try await world.store.changeAccount(name, change).get() }
        let host = try await world.bought("premium.monthly", account: "host").number
        let guest = try #require(try await world.store.subscriptions(account: "guest", limit: 10).first)
        return (world, host, guest)
    }

    @Test("A member who subscribes separately keeps the family's copy beside it, and the copy keeps renewing")
    func ownBesideShared() async throws {
        let (world, host, guest) = try await family()
        world.advance(days: 5)
        try await world.bought("basic.monthly", account: "guest")
        world.advance(days: 40)
        let shared = try await world.subscription(guest.original)
        #expect(shared.state == .active && shared.expires > world.now)
        #expect(shared.expires == (try await world.subscription(host).expires))
        _ = try await world.store.cancelSubscription(host).get()
        world.advance(days: 40)
        #expect(try await world.subscription(guest.original).state == .expired)
        #expect(try await world.notified(original: guest.original).last?.name == "EXPIRED/VOLUNTARY")
        await world.remove()
    }

    @Test("A renewal paid in a grace period is a recovery for the members too")
    func sharedRecovery() async throws {
        let (world, host, guest) = try await family()
        _ = try await world.store.failBilling(host).get()
        world.advance(days: 35)
        #expect(try await world.subscription(guest.original).state == .gracePeriod)
        _ = try await world.store.recover(host).get()
        #expect(try await world.notified(original: host).last?.name == "DID_RENEW/BILLING_RECOVERY")
        #expect(try await world.notified(original: guest.original).last?.name == "DID_RENEW/BILLING_RECOVERY")
        await world.remove()
    }

    @Test("Buying the current product in grace while another is scheduled charges its price and sends the change")
    func backInGrace() async throws {
        let world = try await SubscribedWorld { $0.billingGracePeriod = BillingGracePeriod(.sixteen) }
        let original = try await world.bought("premium.monthly").number
        _ = try await world.buy("basic.monthly").get()
        _ = try await world.store.failBilling(original).get()
        world.advance(days: 35)
        #expect(try await world.buy("premium.monthly") == .success(.failed))
        let waiting = try await world.subscription(original)
        #expect(waiting.state == .gracePeriod)
        #expect(waiting.renewalProductID == ProductID("basic.monthly"), "what failed changed nothing")
        try await world.store.change { change in
            var subscription = waiting
            subscription.billingFails = false
            try SubscriptionTable.save(subscription, change.connection)
        }
        let paid = try await world.bought("premium.monthly")
        #expect(paid.price == SubscribedWorld.dollars(699))
        #expect(paid.productID == ProductID("premium.monthly"))
        #expect(
            try await world.notified(original: original).suffix(2).map(\.name) == [
                "DID_CHANGE_RENEWAL_PREF", "DID_RENEW/BILLING_RECOVERY",
            ])
        await world.remove()
    }
}
