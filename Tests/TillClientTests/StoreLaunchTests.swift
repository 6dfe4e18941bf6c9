import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Background work of the store")
struct StoreLaunchTests {
    @Test("G1, T10: one observer for the app's whole life, however often it is started; removed at termination (P7)")
    func oneObserver() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        await store.start()
        async let first: Void = store.start()
        async let second: Void = store.start()
        _ = await (first, second)
        for _ in 0..<3 { _ = await store.buy("points.60") }
        #expect(world.shop.now.observers == 1)
        await world.end(store)
        await store.start()
        #expect(world.shop.now.observers == 0)
    }

    @Test("G1, O6, T2: unfinished paid purchases of earlier launches are submitted, each once, and none is cleared")
    func unfinished() async throws {
        let world = PretendWorld()
        let first = try await world.launch()
        world.state.withLock { $0.answers = [] }
        world.shop.withLock { $0.sheets = Array(repeating: .askToBuy, count: 3) }
        var orders: [StoreOrder] = []
        for product in ["points.60", "points.300", "points.980"] {
            orders.append(try #require(await first.buy(product).order))
        }
        await world.end(first)
        for order in orders { world.charge(PurchaseRequest(order: order.uuid, productID: order.product, quantity: 1)) }
        func submitted() -> Int { world.state.now.requests.filter { $0 == "POST /v1/transactions" }.count }
        let before = submitted()
        let second = try await world.launch()
        #expect(await world.sees { world.state.now.queue.isEmpty })
        #expect(await world.isIdle(second))
        #expect(Set(await second.orders().map(\.status)) == [.completed])
        #expect(submitted() - before == 3 && world.state.now.grants.count == 3)
        await world.end(second)
    }

    @Test("G7: a deferred purchase grants nothing and completes days later on another launch; a declined one ends")
    func deferred() async throws {
        let world = PretendWorld()
        let first = try await world.launch()
        world.shop.withLock { $0.sheets = [.askToBuy, .askToBuy] }
        guard case .deferred(let order) = await first.buy("points.60") else { throw Unexpected("not deferred") }
        guard case .deferred(let other) = await first.buy("points.300") else { throw Unexpected("not deferred") }
        #expect(order.status == .deferred && world.state.now.grants.isEmpty && world.state.now.bodies.isEmpty)
        await world.end(first)
        world.pass(milliseconds: 3 * 86_400_000)
        let second = try await world.launch()
        world.chargeLater(order)
        // StoreKit reports a declined one without its token.
        world.tell(.failed(nil, other.product, .cancelled))
        #expect(await world.sees { Set(await second.orders().map(\.status)) == [.completed, .cancelled] })
        #expect(world.state.now.grants.count == 1)
        await world.end(second)
    }

    @Test("O4: a missing receipt is fetched once and sent; if the fetch is refused the order stays ongoing")
    func receipt() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.payWithoutReceipt, .payWithoutReceipt] }
        guard case .completed = await store.buy("points.60") else { throw Unexpected("not completed") }
        #expect(world.shop.now.receiptsRead == 1 && world.state.now.bodies.last?.receipt != nil)
        world.shop.withLock { $0.receipts = [.failure(.cancelled), .failure(.network(.offline)), .success([])] }
        guard case .deliveryPending(let order, let error?) = await store.buy("points.300") else {
            throw Unexpected("not on its way")
        }
        #expect(order.status == .ongoing && error.code == "store_cancelled" && world.state.now.queue.count == 1)
        #expect(order.sentence == AppStoreError.cancelled.sentence)
        for _ in 0..<2 {
            guard case .deliveryPending = await store.resubmitted(order.orderID) else {
                throw Unexpected("not on its way")
            }
        }
        guard case .completed = await store.resubmitted(order.orderID) else { throw Unexpected("not completed") }
        #expect(world.shop.now.receiptsRead == 5 && world.state.now.queue.isEmpty)
        await world.end(store)
    }

    @Test("P6, C9, L6: waiting orders are sent at a network's return, at the app's checks, and on the buyer's request")
    func occasions() async throws {
        for occasion in ["network", "check", "buyer"] {
            let world = PretendWorld()
            let store = try await world.launch()
            world.shop.withLock { shop in
                shop.onSheet = { world.state.withLock { $0.answers = [.failure(TransportError(.offline))] } }
            }
            for product in ["points.60", "points.300"] {
                guard case .deliveryPending = await store.buy(product) else { throw Unexpected("not on its way") }
                // The next purchase sends this one again before its own, in vain.
                world.state.withLock { $0.answers = [.failure(TransportError(.offline))] }
            }
            world.state.withLock { $0.answers = [] }
            #expect(await store.orders().map(\.status) == [.ongoing, .ongoing])
            #expect(world.state.now.grants.isEmpty && world.state.now.queue.count == 2)
            switch occasion {
            case "network":
                await store.retryCoordinator.take(.networkReturned)
                #expect(await world.sees { world.state.now.queue.isEmpty })
                // The queue is empty a moment before the journal is updated.
                #expect(await world.isIdle(store))
            case "check": await store.checkOrderStatus()
            default:
                for order in await store.orders() {
                    guard case .completed = await store.resubmitted(order.orderID) else { throw Unexpected("?") }
                }
            }
            #expect(await store.orders().map(\.status) == [.completed, .completed])
            #expect(world.state.now.grants.count == 2 && world.state.now.queue.isEmpty)
            await world.end(store)
        }
    }

    @Test("L6: resubmitting an order returns its status; a missing one is unknown")
    func resubmitOthers() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.pay, .cancel, .askToBuy, .fail(.paymentInvalid)] }
        for _ in 0..<4 {
            let outcome = await store.buy("points.60")
            let order = try #require(outcome.order)
            let again = await store.resubmitted(order.orderID.uppercased())
            #expect(again.order == order)
            if order.status != .failed { #expect(again == outcome) }
        }
        for number in ["", "60", UniqueID(high: 1, low: 1).description] {
            #expect(await store.resubmitted(number) == .failed(nil, .unknownOrder))
        }
        #expect(world.state.now.bodies.count == 1)
        await world.end(store)
    }

    @Test("A finally refused proof stays visible, and is sent again at the next launch and not by the timer")
    func refusedProof() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { shop in
            shop.onSheet = { world.state.withLock { $0.answers = [.success(PretendWorld.problem(.wrongApp, 422))] } }
        }
        guard case .failed(let order?, .undelivered(let pendingReason)) = await store.buy("points.60") else {
            throw Unexpected("not refused")
        }
        #expect(pendingReason.isFinal && pendingReason.code == "wrong_app" && order.status == .ongoing)
        #expect(world.state.now.queue.count == 1)
        await world.end(store)
        let second = try await world.launch()
        #expect(await world.sees { await second.orders().map(\.status) == [.completed] })
        await world.end(second)
    }

    @Test("With the clock set back a year, ongoing orders are sent at once, and the list stays in order")
    func clockSetBack() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { shop in
            shop.onSheet = { world.state.withLock { $0.answers = [.failure(TransportError(.offline))] } }
        }
        guard case .deliveryPending(let order, _) = await store.buy("points.60") else { throw Unexpected("?") }
        #expect(await world.isIdle(store))
        world.state.withLock { $0.now = $0.now.adding(seconds: -365 * 86_400) }
        // A few seconds pass, whatever the clock shows.
        world.pass(milliseconds: 5_000)
        #expect(await world.sees { await store.orders().first?.status == .completed })
        #expect(await store.orders().first?.id == order.id)
        world.shop.withLock { $0.onSheet = {} }
        guard case .completed = await store.buy("points.60") else { throw Unexpected("not completed") }
        await world.end(store)
    }

    @Test("P7: late listeners get everything since the launch, and every listener gets the same")
    func lateListeners() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.pay, .cancel] }
        let first = try #require(await store.buy("points.60").order)
        let second = try #require(await store.buy("points.300").order)
        world.tell(.revoked([ProductID("pro")]))
        world.tell(.promoted(ProductID("points.980")))
        world.tell(.storefrontChanged)
        #expect(await world.sees { store.components.updateLog.count == 5 })
        await world.end(store)
        var received: [[StoreUpdate]] = []
        for _ in 0..<2 {
            var all: [StoreUpdate] = []
            for await update in store.updates { all.append(update) }
            received.append(all)
        }
        #expect(Array(received[0].prefix(2)) == [.order(first), .order(second)])
        #expect(received[0].count == 5 && received[0].contains(.revoked(productIDs: ["pro"])))
        // A promoted purchase goes to one listener only.
        #expect(received[0].contains(.promoted(productID: "points.980")))
        #expect(Set(received[1]) == Set(received[0]).subtracting([.promoted(productID: "points.980")]))
    }

    @Test("P7: a waiting listener is resumed by an update, and its loop ends when its task is cancelled")
    func waitingListener() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let received = Guarded<[StoreOrder.Status]>([])
        let listener = Task {
            for await case .order(let order) in store.updates { received.withLock { $0.append(order.status) } }
        }
        guard case .completed = await store.buy("points.60") else { throw Unexpected("not completed") }
        #expect(await world.sees { received.now.last == .completed })
        listener.cancel()
        await listener.value
        _ = await store.buy("points.300")
        #expect(received.now.filter { $0 == .completed }.count == 1)
        await world.end(store)
    }

    @Test("A store released by the app releases its journal without being stopped")
    func letGo() async throws {
        let world = PretendWorld()
        var store: TillStore? = try await world.launch()
        weak let retryCoordinator = store?.retryCoordinator
        #expect(retryCoordinator != nil)
        _ = await store?.buy("points.60")
        store = nil
        await world.rest()
        #expect(await world.sees { retryCoordinator == nil } && world.shop.now.observers == 0)
    }
}
