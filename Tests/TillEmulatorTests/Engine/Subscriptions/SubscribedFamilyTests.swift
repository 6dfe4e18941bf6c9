import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("Subscriptions shared in a family: the purchaser's changes reach every member")
struct SubscribedFamilyTests {
    /// A family of `payer`, `m1` and `m2`; all products are shareable except the weekly one.
    private func world(
        _ adjust: (inout EmulatorConfiguration) -> Void = { _ in }
    ) async throws -> (world: SubscribedWorld, paid: StoreTransaction) {
        let world = try await SubscribedWorld {
            var products = SubscribedWorld.products
            for index in products.indices {
                products[index].isFamilyShareable = products[index].id.text != "light.weekly"
            }
            $0.products = products
            adjust(&$0)
        }
        let token = UniqueID(high: 0x3F2C_1A00_1111_4222, low: 0x8333_4444_5555_6666)
        for name in ["payer", "m1", "m2"] { try await join(world, name) }
        return (world, try await world.bought("basic.monthly", account: "payer", token: token))
    }

    private func join(_ world: SubscribedWorld, _ name: String) async throws {
        var change = AccountChange()
        change.family = "payer"
        _ = try await world.store.changeAccount(name, change).get()
    }

    private func share(_ world: SubscribedWorld, _ name: String) async throws -> StoreSubscription? {
        try await world.store.subscriptions(account: name, limit: 10).first { $0.sharedFrom != nil }
    }

    /// The notifications about this member's copy, in order.
    private func notified(_ world: SubscribedWorld, _ name: String) async throws -> [String] {
        let share = try #require(try await share(world, name))
        return try await world.notified(original: share.original).map(\.name)
    }

    /// A member's copies have no token, cost nothing and are marked as shared; at every moment there is one state.
    private func check(_ world: SubscribedWorld, _ state: StoreSubscription.State, _ places: String = #function)
        async throws
    {
        for name in ["m1", "m2"] {
            let share = try #require(try await share(world, name), "\(places)")
            #expect(share.state == state, "\(places) \(name)")
            let info = try await world.renewal(share.original)
            #expect(info["appAccountToken"] == nil && info["autoRenewStatus"] == (share.renews ? 1 : 0))
            for copy in try await world.transactions(account: name) where copy.sharedFrom != nil {
                let signed = SignedContent.transaction(copy, signed: world.now).json
                #expect(signed["inAppOwnershipType"] == "FAMILY_SHARED" && signed["price"] == 0)
                #expect(signed["appAccountToken"] == nil && signed["offerType"] == nil)
            }
        }
    }

    @Test("Renewal, cancellation, resumption and expiry reach the members")
    func life() async throws {
        let (world, paid) = try await world()
        try await check(world, .active)
        world.advance(days: 35)
        try await check(world, .active)
        _ = try await world.store.cancelSubscription(paid.number).get()
        #expect(try await share(world, "m1")?.renews == false)
        _ = try await world.store.resumeSubscription(paid.number).get()
        #expect(try await share(world, "m1")?.renews == true)
        _ = try await world.store.cancelSubscription(paid.number).get()
        world.advance(days: 35)
        try await check(world, .expired)
        for name in ["m1", "m2"] {
            #expect(try await notified(world, name) == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "EXPIRED/VOLUNTARY"])
            let copies = try await world.transactions(account: name)
            #expect(copies.map(\.reason) == ["PURCHASE", "RENEWAL"])
            #expect(Set(copies.map(\.original)).count == 1 && copies.allSatisfy { $0.revocation == nil })
        }
        try await world.bought("basic.monthly", account: "payer")
        try await check(world, .active)
        #expect(try await notified(world, "m2").last == "SUBSCRIBED/RESUBSCRIBE")
        await world.remove()
    }

    @Test("An upgrade reaches the members at once, even over a period renewed early; a downgrade with the renewal")
    func plans() async throws {
        let (world, paid) = try await world()
        let charged = try #require(try await world.subscription(paid.number).nextCharge)
        world.advance(seconds: charged.seconds - world.now.seconds + 1)
        #expect(try await world.transactions(account: "m1").count == 2)
        _ = try await world.store.changePlan(paid.number, to: ProductID("premium.monthly")).get()
        let upgraded = try await world.transactions(account: "m1")
        #expect(upgraded.map(\.isUpgraded) == [true, true, false])
        #expect(upgraded.map(\.isUpgraded) == (try await world.transactions(account: "payer").map(\.isUpgraded)))
        try await check(world, .active)
        _ = try await world.store.changePlan(paid.number, to: ProductID("basic.monthly")).get()
        #expect(try await share(world, "m2")?.renewalProductID.text == "basic.monthly")
        world.advance(days: 32)
        #expect(try await share(world, "m2")?.productID.text == "basic.monthly")
        #expect(
            try await notified(world, "m2") == [
                "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_RENEW",
            ])
        await world.remove()
    }

    @Test("A grace period serves the members too, billing retry does not, and recovery subscribes them again")
    func billing() async throws {
        let (world, paid) = try await world { $0.billingGracePeriod = BillingGracePeriod(.three) }
        _ = try await world.store.failBilling(paid.number).get()
        world.advance(days: 32)
        try await check(world, .gracePeriod)
        let grace = try await world.subscription(paid.number).graceExpires
        #expect(try await share(world, "m1")?.graceExpires == grace)
        world.advance(days: 5)
        try await check(world, .expired)
        let share = try #require(try await share(world, "m1"))
        #expect(try await world.renewal(share.original)["gracePeriodExpiresDate"] == nil)
        _ = try await world.store.recover(paid.number).get()
        try await check(world, .active)
        #expect(
            try await notified(world, "m1") == [
                "SUBSCRIBED/INITIAL_BUY", "EXPIRED/BILLING_RETRY", "SUBSCRIBED/RESUBSCRIBE",
            ])
        await world.remove()
    }

    @Test("A refund ends it for all, a reversal restores it from now on, and an excluded member stays excluded")
    func refund() async throws {
        let (world, paid) = try await world()
        let copy = try #require(try await world.transactions(account: "m1").first)
        _ = try await world.store.revoke(copy.number).get()
        #expect(try await share(world, "m1")?.state == .revoked)
        #expect(try await share(world, "m2")?.state == .active)
        world.advance(days: 35)
        #expect(try await world.transactions(account: "m1").count == 1, "the renewal gives nothing back")
        #expect(try await notified(world, "m1") == ["SUBSCRIBED/INITIAL_BUY", "REVOKE"])
        let current = try await world.subscription(paid.number).current
        _ = try await world.store.refund(current).get()
        #expect(try await share(world, "m2")?.state == .revoked)
        world.advance(days: 2)
        _ = try await world.store.reverseRefund(current).get()
        let back = try #require(try await world.transactions(account: "m2").last)
        let end = try await world.subscription(paid.number).expires
        #expect(back.purchased == world.now && back.subscription?.expires == end)
        #expect(
            try await notified(world, "m2") == [
                "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "REVOKE", "SUBSCRIBED/RESUBSCRIBE",
            ])
        #expect(try await share(world, "m1")?.state == .revoked)
        await world.remove()
    }

    @Test("A member's own subscription and the shared one run side by side; the shared one remains when the own ends")
    func own() async throws {
        let (world, _) = try await world()
        let own = try await world.bought("premium.monthly", account: "m1")
        try await join(world, "late")
        let late = try await world.bought("other.monthly", account: "solo")
        try await join(world, "solo")
        #expect(try await share(world, "solo") == nil, "no second one is given")
        #expect(try await share(world, "m1")?.state == .active)
        world.advance(days: 35)
        #expect(try await share(world, "m1").map { $0.expires > world.now } == true)
        #expect(try await world.subscription(own.number).state == .active)
        _ = try await world.store.cancelSubscription(late.number).get()
        world.advance(days: 31)
        #expect(try await world.subscription(late.number).state == .expired)
        #expect(try await share(world, "solo")?.state == .active)
        #expect(try await notified(world, "solo").first == "SUBSCRIBED/INITIAL_BUY")
        await world.remove()
    }

    @Test("A member joining in mid-period gets its rest, a leaving one loses it, and both then renew correctly")
    func comingAndGoing() async throws {
        let (world, paid) = try await world()
        world.advance(days: 10)
        try await join(world, "late")
        let first = try #require(try await world.transactions(account: "late").first)
        #expect(first.purchased == world.now && first.subscription?.expires == paid.subscription?.expires)
        _ = try await world.store.leaveFamily("m1").get()
        #expect(try await share(world, "m1")?.state == .revoked)
        world.advance(days: 25)
        #expect(try await notified(world, "late") == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW"])
        #expect(try await notified(world, "m1") == ["SUBSCRIBED/INITIAL_BUY", "REVOKE"])
        try await join(world, "m1")
        #expect(try await notified(world, "m1").last == "SUBSCRIBED/RESUBSCRIBE")
        try await check(world, .active)
        await world.remove()
    }
}
