import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Entitlements without a network")
struct OfflineEntitlementTests {
    private static let day: Int64 = 86_400

    @Test("The last answer holds without a network and after a relaunch, for its own user only")
    func kept() async throws {
        let world = PretendWorld()
        world.answer("ann", [])
        let first = try await world.launch()
        #expect(!first.isEntitled("pro"))
        // Only now: a launch reads the entitlements too, at any moment.
        world.answer("ann", [PretendWorld.right("pro", .lasting)])
        try await first.refresh()
        #expect(first.isEntitled("pro") && !first.isEntitled("gold"))
        await world.end(first)

        world.state.withLock { $0.isAway = true }
        let second = try await world.launch()
        #expect(second.isEntitled("pro") && second.entitlements.items.map(\.name) == ["pro"])
        #expect(second.entitlements.updatedAt == Date(Instant(seconds: 1_800_000_000)))
        await #expect(throws: TillError(.server(.noResponse(TransportError(.offline))))) { try await second.refresh() }
        #expect(second.isEntitled("pro"))
        await second.signIn("bob") { "bob" }
        #expect(!second.isEntitled("pro"))
        #expect(second.entitlements.items.isEmpty && second.entitlements.updatedAt == nil)
        await second.signOut()
        #expect(!second.isEntitled("pro"))
        await second.signIn("ann") { "ann" }
        #expect(second.isEntitled("pro"))
        await world.end(second)
    }

    @Test(
        "An entitlement ends when the answer says; a subscription that renews by itself stays for the grace",
        arguments: [
            (Entitlement.Kind.service, nil, 0), (.service, true, 0), (.subscription, nil, 0), (.subscription, false, 0),
            (.subscription, true, 7_200),
        ] as [(Entitlement.Kind, Bool?, Int64)])
    func ends(_ kind: Entitlement.Kind, _ renews: Bool?, _ grace: Int64) async throws {
        let world = PretendWorld()
        let end = world.state.now.now.adding(seconds: Self.day)
        world.answer("ann", [PretendWorld.right("pro", kind, ends: end, renews: renews)])
        let store = try await world.launch { $0.offlineGrace = 7_200 }
        try await store.refresh()
        world.state.withLock { $0.isAway = true }
        world.wait(seconds: Self.day + grace - 1)
        #expect(store.isEntitled("pro"))
        world.wait(seconds: 1)
        #expect(!store.isEntitled("pro"))
        await world.end(store)
    }

    @Test("A clock that is set back brings no ended entitlement back, in this launch or the next")
    func setBack() async throws {
        let world = PretendWorld()
        let end = world.state.now.now.adding(seconds: Self.day)
        world.answer("ann", [PretendWorld.right("pro", .service, ends: end)])
        let first = try await world.launch()
        try await first.refresh()
        world.state.withLock { $0.isAway = true }
        #expect(first.isEntitled("pro"))
        world.wait(seconds: 2 * Self.day)
        #expect(!first.isEntitled("pro"))
        world.wait(seconds: -2 * Self.day)
        #expect(!first.isEntitled("pro"))
        await world.end(first)
        let second = try await world.launch()
        #expect(!second.isEntitled("pro"))
        await world.end(second)
    }

    @Test("After a clock that was far ahead is corrected, the server's next answer counts again")
    func setForward() async throws {
        let world = PretendWorld()
        let end = world.state.now.now.adding(seconds: Self.day)
        world.answer("ann", [PretendWorld.right("pro", .service, ends: end)])
        let store = try await world.launch()
        try await store.refresh()
        world.wait(seconds: 400 * Self.day)
        #expect(!store.isEntitled("pro"))
        world.wait(seconds: -400 * Self.day)
        try await store.refresh()
        #expect(store.isEntitled("pro"))
        await world.end(store)
    }

    @Test("A damaged file, one of another server and one beyond the limit are ignored")
    func damaged() async throws {
        let world = PretendWorld()
        world.answer("ann", [PretendWorld.right("pro", .lasting)])
        let first = try await world.launch()
        try await first.refresh()
        await world.end(first)
        let good = try #require(world.entitlements.now)
        #expect(EntitlementFile(good, server: "https://till.test")?.records.count == 1)
        #expect(EntitlementFile(good, server: "https://other.test") == nil)
        for length in stride(from: 0, to: good.count, by: 3) {
            #expect(EntitlementFile(Array(good.prefix(length)), server: "https://till.test") == nil)
        }
        for index in stride(from: 0, to: good.count, by: 3) {
            var bad = good
            bad[index] ^= 1 << (index % 8)
            #expect(EntitlementFile(bad, server: "https://till.test") == nil, "byte \(index)")
        }
        #expect(EntitlementFile([UInt8](repeating: 0, count: 1 << 19), server: "https://till.test") == nil)

        world.state.withLock { $0.isAway = true }
        world.entitlements.withLock { $0 = Array(good.dropLast()) }
        let second = try await world.launch()
        #expect(!second.isEntitled("pro") && second.entitlements.updatedAt == nil)
        world.state.withLock { $0.isAway = false }
        try await second.refresh()
        #expect(second.isEntitled("pro"))
        await world.end(second)
    }

    @Test("Eight users' answers are kept, those of the last ones")
    func limit() {
        var file = EntitlementFile(server: "https://till.test")
        for number in 0..<10 {
            file.keep(EntitlementRecord(userID: "user\(number)", updatedAt: Instant(seconds: 1), rows: []))
        }
        #expect(file.records.map(\.userID) == (2..<10).reversed().map { "user\($0)" })
    }

    /// The store counts this order's purchase as current.
    private func count(_ order: StoreOrder, _ world: PretendWorld, until end: Instant? = nil) {
        let purchase = CurrentPurchase(
            productID: order.product, token: order.uuid, transactionID: TransactionID("7"), expires: end)
        world.shop.withLock { $0.current = [purchase] }
    }

    @Test("A payment that the server has not answered yet opens its feature, for its buyer only")
    func pending() async throws {
        let world = PretendWorld()
        world.sell("pro")
        let store = try await world.launch()
        try await store.products()
        _ = store.state
        world.shop.withLock { $0.onSheet = { world.state.withLock { $0.isAway = true } } }
        guard case .deliveryPending(let order, _) = await store.buy("points.60") else { throw Unexpected("?") }
        #expect(!store.isEntitled("pro"))
        count(order, world)
        await #expect(throws: TillError.self) { try await store.refresh() }
        #expect(store.isEntitled("pro") && store.entitlements.items.map(\.kind) == [.lasting])

        // Another user of the phone has the same Apple Account.
        await store.signIn("bob") { "bob" }
        await #expect(throws: TillError.self) { try await store.refresh() }
        #expect(!store.isEntitled("pro") && store.entitlements.items.isEmpty)
        await world.end(store)
    }

    @Test("The server's answer about a granted purchase is final, whatever the store still lists")
    func answered() async throws {
        let world = PretendWorld()
        world.sell("pro")
        let store = try await world.launch()
        try await store.products()
        guard case .completed(let order) = await store.buy("points.60") else { throw Unexpected("not completed") }
        count(order, world)
        // The entitlement was moved to another account since.
        world.answer("ann", [])
        world.wait(seconds: 60)
        try await store.refresh()
        #expect(!store.isEntitled("pro") && store.entitlements.items.isEmpty)
        await world.end(store)
    }

    @Test("A pending purchase opens the feature also if the last answer has it as ended")
    func renewedByHand() async throws {
        let world = PretendWorld()
        world.sell("pro")
        let end = world.state.now.now.adding(seconds: 10)
        world.answer("ann", [PretendWorld.right("pro", .service, ends: end)])
        let store = try await world.launch()
        try await store.products()
        try await store.refresh()
        world.wait(seconds: 20)
        #expect(!store.isEntitled("pro"))
        world.shop.withLock { $0.onSheet = { world.state.withLock { $0.isAway = true } } }
        guard case .deliveryPending(let order, _) = await store.buy("points.60") else { throw Unexpected("?") }
        count(order, world, until: end.adding(seconds: Self.day))
        await #expect(throws: TillError.self) { try await store.refresh() }
        #expect(store.isEntitled("pro"))
        await world.end(store)
    }

    @Test("A plan of single devices covers those: this phone by its own name, another by the name the app gives")
    func devices() async throws {
        let world = PretendWorld()
        world.answer(
            "ann",
            [PretendWorld.right("camera", .service, devices: ["phone", "tv"]), PretendWorld.right("all", .lasting)])
        let store = try await world.launch { $0.phoneID = "phone" }
        try await store.refresh()
        #expect(store.isEntitled("camera") && store.isEntitled("camera", device: "tv"))
        #expect(!store.isEntitled("camera", device: "watch"))
        #expect(store.isEntitled("all") && store.isEntitled("all", device: "watch"))
        await world.end(store)
        let other = try await world.launch { $0.phoneID = "other" }
        #expect(!other.isEntitled("camera") && other.isEntitled("all"))
        await world.end(other)
    }

    @Test("A user who signs in during a request gets no answer of the one before")
    func switched() async throws {
        let world = PretendWorld()
        world.answer("ann", [PretendWorld.right("pro", .lasting)], points: 10)
        world.answer("bob", [], points: 20)
        let store = try await world.launch()
        let (gate, open) = AsyncStream<Void>.makeStream()
        let isUnderWay = Guarded(false)
        world.state.withLock { state in
            state.onRequest = {
                isUnderWay.withLock { $0 = true }
                for await _ in gate { break }
            }
        }
        async let asked: StoreState = store.refresh()
        #expect(await world.sees { isUnderWay.now })
        world.state.withLock { $0.onRequest = {} }
        await store.signIn("bob") { "bob" }
        open.finish()
        _ = try? await asked
        #expect(await world.sees { store.state.wallet == ["points": 20] })
        #expect(!store.isEntitled("pro"))
        await store.signIn("ann") { "ann" }
        #expect(store.isEntitled("pro"))
        await world.end(store)
    }
}
