import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

@Suite("Renewal dates extended by the developer (facts/server-api §4.4)")
struct RenewalDateExtensionTests {
    private func extend(
        _ world: SubscribedWorld, _ original: Int64, days: Int64
    ) async throws -> Result<RenewalDateExtension, RenewalDateExtension.Refusal> {
        try await world.store.change { try SubscriptionLifecycle.extend(original, days: days, $0) }
    }

    @Test("An extension moves the current period's end and all later ones, at most twice a year")
    func one() async throws {
        let world = try await SubscribedWorld()
        let first = try await world.bought("basic.monthly")
        world.advance(days: 3)
        let moved = try await extend(world, first.number, days: 10).get()
        #expect(moved.effective.rfc3339 == "2026-04-11T08:30:00.000Z")
        #expect(moved.lineItem == first.subscription?.lineItem)
        #expect(try await world.store.transaction(first.number)?.subscription?.expires == moved.effective)
        #expect(try await extend(world, first.number, days: 90).get().effective.rfc3339 == "2026-07-10T08:30:00.000Z")
        #expect(try await extend(world, first.number, days: 1) == .failure(.tooMany))
        try world.go(to: "2026-08-01T00:00:00.000Z")
        #expect(
            try await world.transactions().map { $0.subscription?.expires.rfc3339 } == [
                "2026-07-10T08:30:00.000Z", "2026-08-10T08:30:00.000Z",
            ])
        #expect(
            try await world.names() == [
                "SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED", "RENEWAL_EXTENDED", "DID_RENEW",
            ])
        try world.go(to: "2027-03-05T00:00:00.000Z")
        #expect(try await extend(world, first.number, days: 5).get().effective.rfc3339 == "2027-03-15T08:30:00.000Z")
        await world.remove()
    }

    @Test("Free periods, ended and failing subscriptions, shared and unknown ones are refused")
    func refused() async throws {
        let world = try await SubscribedWorld()
        let trial = try await world.bought("trial.monthly", account: "trial")
        #expect(try await extend(world, trial.number, days: 5) == .failure(.ineligible))
        let failing = try await world.bought("basic.monthly", account: "failing")
        _ = try await world.store.failBilling(failing.number).get()
        world.advance(days: 35)
        #expect(try await extend(world, failing.number, days: 5) == .failure(.ineligible))
        _ = try await world.store.cancelSubscription(failing.number).get()
        #expect(try await extend(world, failing.number, days: 5) == .failure(.ineligible))
        #expect(try await extend(world, 77, days: 5) == .failure(.unknown))
        let paid = try await world.bought("basic.monthly", account: "payer")
        try await world.store.change { change in
            var copy = try #require(try SubscriptionTable.find(paid.number, change.connection))
            copy.original = 4_711
            copy.account = "member"
            copy.sharedFrom = paid.number
            try SubscriptionTable.save(copy, change.connection)
        }
        #expect(try await extend(world, 4_711, days: 5) == .failure(.familyShared))
        await #expect(throws: StoreRefusal.sharedSubscription("4711")) {
            try await world.store.cancelSubscription(4_711).get()
        }
        await world.remove()
    }

    @Test("A mass extension processes a product's subscribers and sums up; a repeated request counts once")
    func mass() async throws {
        let world = try await SubscribedWorld()
        var originals: [Int64] = []
        for index in 0..<(MassExtension.batch + 5) {
            originals.append(try await world.bought("basic.monthly", account: "a\(index)").number)
        }
        _ = try await world.bought("premium.monthly", account: "other")
        _ = try await world.store.failBilling(originals[3]).get()
        _ = try await world.store.cancelSubscription(originals[4]).get()
        world.advance(days: 32)
        let id = UniqueID("3f2c1a00-2222-4222-8333-444455556666")
        let request = MassExtension.Request(
            id: try #require(id), bundleID: SubscribedWorld.bundleID, productID: ProductID("basic.monthly"), days: 7,
            reason: 3, storefronts: ["USA"])
        for _ in 0..<2 { try await world.store.change { try MassExtension.begin(request, $0) } }
        func status(of productID: ProductID) async throws -> MassExtension.Status? {
            try await world.store.ask { connection in
                try MassExtension.status(request.id, productID: productID, bundleID: request.bundleID, connection)
            }
        }
        let begun = try await status(of: request.productID)
        #expect(begun == MassExtension.Status(completed: nil, succeeded: 0, failed: 0))
        world.advance(seconds: 600)
        let done = try await status(of: request.productID)
        // One charge fails; the one that has ended is no subscriber.
        #expect(done?.succeeded == Int64(originals.count - 2))
        #expect(done?.failed == 1)
        #expect(done?.completed != nil)
        #expect(try await status(of: ProductID("x")) == nil)
        let names = try await world.names()
        #expect(names.filter { $0 == "RENEWAL_EXTENDED" }.count == originals.count - 2)
        #expect(names.filter { $0 == "RENEWAL_EXTENSION/FAILURE" }.count == 1)
        let summary = try #require(try await world.notified().filter { $0.name == "RENEWAL_EXTENSION/SUMMARY" }.first)
        #expect(summary.content["summary"]?["succeededCount"] == .int(Int64(originals.count - 2)))
        #expect(summary.content["summary"]?["failedCount"] == 1)
        #expect(summary.content["summary"]?["storefrontCountryCodes"] == ["USA"])
        await world.remove()
    }
}
