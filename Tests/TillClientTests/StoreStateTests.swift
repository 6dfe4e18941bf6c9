import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("What an app shows of the store")
struct StoreStateTests {
    private static let rights = "GET /v1/users/ann/entitlements"
    private static let wallet = "GET /v1/users/ann/wallet"

    @Test("The state has the signed-in user's orders, newest first; a sign-out clears it")
    func orders() async throws {
        let world = PretendWorld()
        world.answer("ann", [PretendWorld.right("pro", .lasting)])
        world.answer("bob", [], points: 5)
        let store = try await world.launch()
        #expect(store.state.userID == "ann" && store.state.orders.isEmpty)
        let first = try #require(try await store.purchase("points.60").order)
        world.wait(seconds: 1)
        world.shop.withLock { $0.sheets = [.cancel] }
        let second = try #require(try await store.purchase("points.300").order)
        try await store.refresh()
        #expect(store.state.orders == [second, first] && store.state.wallet == ["points": 60])
        #expect(store.state.entitlements.items.map(\.name) == ["pro"])

        await store.signOut()
        #expect(store.state == StoreState())
        await store.signIn("bob") { "bob" }
        #expect(store.state.userID == "bob" && store.state.orders.isEmpty && store.state.entitlements.items.isEmpty)
        #expect(await world.sees { store.state.wallet == ["points": 5] })
        await store.signIn("ann") { "ann" }
        #expect(store.state.orders == [second, first])
        await world.end(store)
    }

    @Test("A purchase in progress is shown as long as it lasts, and the products of the last page stay")
    func purchasing() async throws {
        let world = PretendWorld()
        world.sell("pro")
        let store = try await world.launch()
        #expect(await store.cachedProducts().isEmpty && store.state.products.isEmpty)
        let products = try await store.products()
        #expect(store.state.products == products && products.map(\.id) == ["points.60"])
        let (gate, open) = AsyncStream<Void>.makeStream()
        world.shop.withLock { shop in shop.onSheet = { for await _ in gate { break } } }
        async let purchase = store.purchase("points.60")
        #expect(await world.sees { world.shop.now.sheetsShown.count == 1 })
        #expect(store.state.purchasing == ["points.60"] && store.state.isBusy)
        open.finish()
        _ = try await purchase
        #expect(store.state.purchasing.isEmpty && !store.state.isBusy)
        await world.end(store)
    }

    @Test("The states begin with the current one, each change brings the newest, and the loop ends with the store")
    func states() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let seen = Guarded<[StoreState]>([])
        let loop = Task { for await state in store.states { seen.withLock { $0.append(state) } } }
        #expect(await world.sees { seen.now.first?.userID == "ann" })
        _ = try await store.purchase("points.60")
        #expect(
            await world.sees { seen.now.last?.orders.map(\.status) == [.completed] && seen.now.last?.isBusy == false })
        #expect(seen.now.last == store.state)
        await world.end(store)
        await loop.value
        // A loop that begins later gets the last state, and ends.
        var late: [StoreState] = []
        for await state in store.states { late.append(state) }
        #expect(late == [store.state])
    }

    @Test("The loop over the states ends when its task is cancelled")
    func cancelled() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let loop = Task { for await _ in store.states {} }
        loop.cancel()
        await loop.value
        await world.end(store)
    }

    // MARK: Requests

    @Test("The server is asked for entitlements and wallet only once the app reads the state, then on each occasion")
    func onDemand() async throws {
        let world = PretendWorld()
        world.answer("ann", [PretendWorld.right("pro", .lasting)])
        let store = try await world.launch()
        _ = try await store.purchase("points.60")
        #expect(await world.isIdle(store))
        #expect(world.count(Self.rights) == 0 && world.count(Self.wallet) == 0)
        _ = store.state
        #expect(await world.sees { store.state.wallet == ["points": 60] })
        #expect(store.isEntitled("pro") && world.count(Self.rights) == 1 && world.count(Self.wallet) == 1)
        // Reading again asks nothing; a purchase does.
        for _ in 0..<5 { _ = store.isEntitled("pro") }
        #expect(await world.isIdle(store))
        #expect(world.count(Self.rights) == 1)
        world.answer("ann", [], points: 120)
        _ = try await store.purchase("points.60")
        #expect(await world.sees { store.state.wallet == ["points": 120] })
        #expect(!store.isEntitled("pro"))
        let asked = world.count(Self.rights)
        // So does a revocation.
        world.tell(.revoked([ProductID("points.60")]))
        #expect(await world.sees { world.count(Self.rights) > asked })
        await world.end(store)
    }

    @Test("If only the wallet can't be read, the entitlements are shown")
    func walletFails() async throws {
        let world = PretendWorld()
        world.answer("ann", [PretendWorld.right("pro", .lasting)])
        world.state.withLock { $0.pages[Self.wallet] = PretendWorld.problem(.internalError, 500) }
        let store = try await world.launch()
        await #expect(throws: TillError.self) { try await store.refresh() }
        #expect(store.isEntitled("pro") && store.state.wallet == nil)
        await world.end(store)
    }

    @Test("When the network returns, what waits is sent and the entitlements are read")
    func networkReturns() async throws {
        let world = PretendWorld()
        world.answer("ann", [PretendWorld.right("pro", .lasting)])
        let store = try await world.launch()
        world.shop.withLock { $0.onSheet = { world.state.withLock { $0.isAway = true } } }
        guard case .deliveryPending = try await store.purchase("points.60") else { throw Unexpected("not pending") }
        #expect(!store.isEntitled("pro"))
        #expect(await world.isIdle(store))
        world.state.withLock { $0.isAway = false }
        world.network.now?.yield()
        #expect(await world.sees { world.state.now.grants.count == 1 && world.state.now.queue.isEmpty })
        #expect(await world.sees { store.state.orders.map(\.status) == [.completed] && store.isEntitled("pro") })
        await world.end(store)
    }

    @Test("After the end of the store, the system's network messages reach nothing")
    func networkAfterwards() async throws {
        let world = PretendWorld()
        let ended = Guarded(false)
        let store = try await world.launch()
        world.network.now?.onTermination = { _ in ended.withLock { $0 = true } }
        await world.end(store)
        #expect(ended.now)
    }

    @Test("A store whose state was read releases its journal like any other")
    func released() async throws {
        let world = PretendWorld()
        world.answer("ann", [])
        var store: TillStore? = try await world.launch()
        weak let journal = store?.components.journal
        _ = store?.state
        _ = try await store?.refresh()
        store = nil
        await world.rest()
        #expect(await world.sees { journal == nil })
    }

    // MARK: The log

    @Test("The log has what happened with ids and codes, and neither user nor token nor proof")
    func log() async throws {
        let world = PretendWorld()
        let events = Guarded<[LogEvent]>([])
        let store = try await world.launch(nil) { $0.log = { event in events.withLock { $0.append(event) } } }
        let user = "user-7f3a@example.com"
        await store.signIn(user) { user }
        world.shop.withLock { $0.sheets = [.pay, .cancel, .fail(.paymentInvalid)] }
        let paid = try #require(try await store.purchase("points.60").order)
        _ = try await store.purchase("points.60")
        await #expect(throws: TillError.self) { try await store.purchase("points.60") }
        world.state.withLock { $0.pages["POST \(Paths.orders)"] = PretendWorld.problem(.unknownProduct, 422) }
        await #expect(throws: TillError.self) { try await store.purchase("points.60") }
        await #expect(throws: TillError.self) { try await store.purchase("points.1") }
        await #expect(throws: TillError.self) { try await store.products() }
        await world.end(store)
        let names = events.now.map(\.name).filter { $0 != "purchase_begun" }
        #expect(
            names == [
                "purchase_completed", "purchase_cancelled", "purchase_failed", "purchase_failed", "purchase_failed",
                "products_unavailable",
            ])
        let done = try #require(events.now.first { $0.name == "purchase_completed" })
        #expect(done.level == .info && done.orderID == paid.orderID && done.productID == "points.60")
        #expect(done.transactionID == paid.transactionID && done.code == nil)
        let failed = events.now.filter { $0.name == "purchase_failed" }
        #expect(failed.map(\.code) == ["store_payment_invalid", "unknown_product", "product_unavailable"])
        #expect(failed.map(\.requestID) == [nil, "r-1", nil] && Set(failed.map(\.level)) == [.warning])
        for event in events.now {
            #expect(!"\(event)".contains("7f3a") && !"\(event)".contains("signed."), "\(event)")
        }
    }
}
