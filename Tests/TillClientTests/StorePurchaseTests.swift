import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Purchases through `TillStore`")
struct StorePurchaseTests {
    @Test("L3: where payments are forbidden the buyer is told, no order is left open, and nothing is requested")
    func notAllowed() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.canPay = false }
        #expect(await store.canMakePayments() == false)
        let outcome = await store.buy("points.60")
        #expect(outcome == .failed(nil, .paymentsNotAllowed))
        #expect(outcome.error?.isRetryable == false)
        #expect(world.state.now.requests.isEmpty && world.file.bytes.isEmpty)
        #expect(world.shop.now.productsAsked.isEmpty && world.shop.now.sheetsShown.isEmpty)
        await world.end(store)
    }

    @Test("L4: an unsold product fails clearly, and the bought product is the requested one, not the first")
    func askedFor() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        #expect(await store.buy("points.1") == .failed(nil, .productUnavailable))
        #expect(await store.orders(all: true).isEmpty && world.state.now.requests.isEmpty)
        let outcome = await store.buy("points.980")
        #expect(outcome.order?.productID == "points.980" && outcome.order?.status == .completed)
        #expect(outcome.order?.total?.amount == 9_800)
        #expect(world.shop.now.sheetsShown.map(\.productID) == [ProductID("points.980")])

        let offline = PretendWorld()
        let other = try await offline.launch()
        offline.shop.withLock { $0.error = .network(.offline) }
        #expect(await other.buy("points.60") == .failed(nil, .productListUnavailable))
        #expect(offline.state.now.requests.isEmpty && offline.file.bytes.isEmpty)
        await world.end(store)
        await offline.end(other)
    }

    @Test("L5, O1, O2: before the sheet the order is on the disk and at the server, and the payment carries its id")
    func orderFirst() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let seen = Guarded<(onDisk: [JournalEntry], orders: [OrderID])>(([], []))
        world.shop.withLock { shop in
            shop.onSheet = {
                let entries = try? await OrderJournal(disk: world.file.disk).entries()
                seen.withLock { $0 = (entries ?? [], Array(world.state.now.orders.keys)) }
            }
        }
        let outcome = await store.buy("points.60", quantity: 3)
        let wish = try #require(world.shop.now.sheetsShown.first)
        let entry = try #require(seen.now.onDisk.first)
        #expect(seen.now.onDisk.count == 1 && entry.id == wish.order && seen.now.orders == [wish.order])
        #expect(entry.status == .prepared && entry.isOpened && entry.quantity == 3 && wish.quantity == 3)
        #expect(entry.price == Money(amount: 1_800, currency: Currency("CNY")) && entry.userID == UserID("ann"))
        #expect(outcome.order?.orderID == wish.order.description)
        await world.end(store)
    }

    @Test("L8, O5, T1: a paid order is ongoing on the disk, then sent, and finished only after the server's answer")
    func paid() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let statuses = Guarded<[OrderStatus]>([])
        world.state.withLock { state in
            state.onRequest = {
                let entries = try? await OrderJournal(disk: world.file.disk).entries()
                statuses.withLock { $0 += entries?.map(\.status) ?? [] }
            }
        }
        guard case .completed(let order) = await store.buy("points.60") else { throw Unexpected("not completed") }
        #expect(statuses.now == [.prepared, .ongoing])
        #expect(world.state.now.requests == ["POST /v1/orders", "POST /v1/transactions"])
        #expect(world.state.now.finished.count == 1 && world.state.now.finishedBeforeWord.isEmpty)
        #expect(order.status == .completed && order.transaction == world.state.now.finished.first)
        #expect(await store.orders() == [order])
        await world.end(store)
    }

    @Test("L9, P6: an unreachable server keeps the order ongoing; the timer completes it and updates report it")
    func deliveryPending() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let isOut = Guarded(false)
        world.state.withLock { state in
            state.onRequest = {
                if isOut.now { world.state.withLock { $0.answers = [.failure(TransportError(.timedOut))] } }
            }
        }
        world.shop.withLock { shop in shop.onSheet = { isOut.withLock { $0 = true } } }
        guard case .deliveryPending(let order, let error?) = await store.buy("points.60") else {
            throw Unexpected("not on its way")
        }
        #expect(order.status == .ongoing && order.canResubmit && order.note() != nil)
        #expect(error.code == "timed_out" && error.isRetryable && world.state.now.queue.count == 1)
        #expect(await world.isIdle(store))
        world.pass(milliseconds: 5_000)
        #expect(await world.sees { world.state.now.bodies.isEmpty && world.state.now.requests.count == 3 })
        #expect(await world.isIdle(store))
        isOut.withLock { $0 = false }
        world.pass(milliseconds: 10_000)
        #expect(await world.sees { await store.orders().first?.status == .completed })
        #expect(world.state.now.grants.count == 1 && world.state.now.queue.isEmpty)
        var updates = store.updates.makeAsyncIterator()
        guard case .order(let reported) = await updates.next() else { throw Unexpected("no update") }
        #expect(reported.status == .completed && reported.id == order.id)
        await world.end(store)
    }

    @Test("L10: cancelled and failed orders keep their reason and stay in the list, and the server is informed")
    func closed() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.cancel, .fail(.paymentInvalid)] }
        guard case .cancelled(let cancelled) = await store.buy("points.60") else { throw Unexpected("?") }
        guard case .failed(let failed?, let error) = await store.buy("points.60") else { throw Unexpected("?") }
        #expect(cancelled.status == .cancelled && failed.status == .failed && error == .store(.paymentInvalid))
        #expect(failed.sentence == AppStoreError.paymentInvalid.sentence)
        #expect(cancelled.sentence == AppStoreError.cancelled.sentence)
        #expect(Set(await store.orders().map(\.status)) == [.cancelled, .failed])
        #expect(
            await world.sees {
                Set(world.state.now.requests).isSuperset(of: [
                    "POST /v1/orders/\(cancelled.orderID)/cancel", "POST /v1/orders/\(failed.orderID)/fail",
                ])
            })
        #expect(world.state.now.finished.isEmpty)
        await world.end(store)
    }

    @Test("T3, T12: a failed or cancelled order completes when the paid transaction comes, and updates report it")
    func failedThenPaid() async throws {
        for sheet in [PretendShop.Sheet.cancel, .fail(.unknown), .fail(.paymentInvalid)] {
            let world = PretendWorld()
            let store = try await world.launch()
            world.shop.withLock { $0.sheets = [sheet] }
            let order = try #require(await store.buy("points.60").order)
            #expect(order.status == .cancelled || order.status == .failed)
            var updates = store.updates.makeAsyncIterator()
            #expect(await updates.next() == .order(order))
            world.chargeLater(order)
            var received: StoreOrder?
            while received?.status != .completed, case .order(let reported)? = await updates.next() {
                received = reported
            }
            #expect(received?.id == order.id && world.state.now.grants.count == 1)
            #expect(
                await store.components.journal[order.uuid]?.history.map(\.status)
                    == [.prepared, order.state, .ongoing, .completed])
            await world.end(store)
        }
    }

    @Test("T12: an unknown error is reported as failed while it is checked, and the queue is checked automatically")
    func unknown() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.fail(.unknown)] }
        guard case .failed(let order?, .store(.unknown)) = await store.buy("points.60") else {
            throw Unexpected("not failed")
        }
        #expect(order.sentence == AppStoreError.unknown.sentence)
        // Paid after all, without an update from the store.
        world.charge(PurchaseRequest(order: order.uuid, productID: order.product, quantity: 1))
        #expect(await world.isIdle(store))
        world.pass(milliseconds: 5_000)
        #expect(await world.sees { await store.orders().first?.status == .completed })
        await world.end(store)
    }

    @Test("T2: a purchase submits what the store still shows as paid before its own payment, and clears nothing")
    func unfinishedFirst() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.askToBuy, .cancel] }
        let order = try #require(await store.buy("points.60").order)
        #expect(await world.sees { world.state.now.requests.contains { $0.hasSuffix("/defer") } })
        // Approved and charged, and no event tells the app.
        let left = world.charge(PurchaseRequest(order: order.uuid, productID: order.product, quantity: 1))
        // The server is away: the purchase continues, and what was paid stays in the queue.
        world.state.withLock { $0.answers = [.failure(TransportError(.offline))] }
        guard case .cancelled = await store.buy("points.300") else { throw Unexpected("not cancelled") }
        #expect(world.state.now.queue == [left] && world.state.now.grants.isEmpty)
        let granted = Guarded<[TransactionID]>([])
        world.shop.withLock { shop in
            shop.onSheet = { granted.withLock { $0 = Array(world.state.now.grants.keys) } }
        }
        guard case .completed = await store.buy("points.300") else { throw Unexpected("not completed") }
        #expect(granted.now == [left.id], "granted when the payment sheet is shown")
        #expect(world.state.now.finished.first == left.id && world.state.now.finishedBeforeWord.isEmpty)
        #expect(world.state.now.grants.count == 2 && world.state.now.queue.isEmpty)
        #expect(await store.orders().map(\.status).filter { $0 == .completed }.count == 2)
        await world.end(store)
    }

    @Test("G3: a second tap during a purchase starts no second payment; another product may be bought")
    func secondTap() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let (gate, open) = AsyncStream<Void>.makeStream()
        world.shop.withLock { shop in shop.onSheet = { for await _ in gate { break } } }
        async let first = store.buy("points.60")
        #expect(await world.sees { world.shop.now.sheetsShown.count == 1 })
        #expect(await store.buy("points.60") == .inProgress)
        #expect(await store.checkout.underWay == [ProductID("points.60")])
        #expect(world.shop.now.sheetsShown.count == 1 && world.state.now.orders.count == 1)
        world.shop.withLock { $0.onSheet = {} }
        guard case .completed = await store.buy("points.300") else { throw Unexpected("not completed") }
        open.finish()
        guard case .completed = await first else { throw Unexpected("not completed") }
        guard case .completed = await store.buy("points.60") else { throw Unexpected("still in progress") }
        #expect(world.state.now.grants.count == 3)
        await world.end(store)
    }

    @Test("Several concurrent purchases lose nothing and mix nothing up")
    func atOnce() async throws {
        let world = PretendWorld()
        let products = (1...12).map { "points.\($0 * 10)" }
        world.shop.withLock { $0.sells = products }
        let store = try await world.launch()
        await withTaskGroup(of: (String, PurchaseOutcome).self) { group in
            for product in products { group.addTask { (product, await store.buy(product)) } }
            for await (product, outcome) in group {
                #expect(outcome.order?.productID == product && outcome.order?.status == .completed)
            }
        }
        #expect(world.state.now.grants.count == 12 && world.state.now.queue.isEmpty)
        #expect(await store.orders().count == 12)
        await world.end(store)
    }

    @Test("Without a signed-in user, or with an invalid quantity, nothing is written, requested or paid")
    func notEvenBegun() async throws {
        let world = PretendWorld()
        let store = try await world.launch(nil)
        #expect(await store.buy("points.60") == .failed(nil, .notSignedIn))
        await store.signIn("ann") { nil }
        #expect(await store.buy("points.60").error == .notSignedIn)
        for quantity in [0, 11, -1, .max] {
            #expect(await store.buy("points.60", quantity: quantity) == .failed(nil, .badQuantity))
        }
        #expect(world.state.now.requests.isEmpty && world.file.bytes.isEmpty && world.shop.now.sheetsShown.isEmpty)
        await world.end(store)
    }

    @Test(
        "P11: if the order can't be created nothing is charged, it is closed, and the next tap creates a new one",
        arguments: [
            Result<TransportResponse, TransportError>.failure(TransportError(.offline)),
            .success(TransportResponse(status: 200, contentType: "text/html", body: Array("<html>".utf8))),
            .success(TransportResponse(status: 302, contentType: "", body: [])),
            .success(PretendWorld.problem(.unauthorized, 401)), .success(PretendWorld.problem(.orderConflict, 409)),
            .success(PretendWorld.problem(.unknownProduct, 422)), .success(PretendWorld.problem(.tooManyRequests, 429)),
            .success(PretendWorld.problem(.internalError, 500)),
        ])
    func cannotOpen(_ answer: Result<TransportResponse, TransportError>) async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.state.withLock { $0.answers = Array(repeating: answer, count: 4) }
        guard case .failed(let order?, .server) = await store.buy("points.60") else { throw Unexpected("?") }
        #expect(order.status == .failed && world.shop.now.sheetsShown.isEmpty)
        world.state.withLock { $0.answers = [] }
        guard case .completed(let next) = await store.buy("points.60") else { throw Unexpected("not completed") }
        #expect(next.id != order.id)
        await world.end(store)
    }

    @Test("A full disk before the payment: nothing is charged, and the buyer is told what to do")
    func fullBefore() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.file.state.withLock { $0.capacity = 0 }
        let outcome = await store.buy("points.60")
        #expect(outcome == .failed(nil, .journal(.disk(DiskError(.full)))) && outcome.error?.isRetryable == true)
        #expect(world.state.now.requests.isEmpty && world.shop.now.sheetsShown.isEmpty)
        await world.end(store)
    }

    @Test("A full disk after the payment: the proof is still sent, and finished once it can be recorded")
    func fullAfter() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { shop in shop.onSheet = { world.file.state.withLock { $0.capacity = $0.bytes.count } } }
        guard case .completed(let order) = await store.buy("points.60") else { throw Unexpected("not completed") }
        #expect(order.status == .completed && world.state.now.grants.count == 1)
        #expect(world.state.now.queue.count == 1 && world.state.now.finished.isEmpty)
        world.file.state.withLock { $0.capacity = .max }
        #expect(await world.isIdle(store))
        world.pass(milliseconds: 3_600_000)
        #expect(await world.sees { world.state.now.queue.isEmpty })
        #expect(await world.sees { await store.orders().map(\.status) == [.completed] })
        #expect(world.state.now.grants.count == 1)
        await world.end(store)
    }
}
