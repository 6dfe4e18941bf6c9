import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("The start of a purchase")
struct PurchaseTests {
    private let html = TransportResponse(status: 200, contentType: "text/html", body: Array("<html>".utf8))

    @Test("L5, O1: the order is on the disk before any request, and at the server before it may be paid")
    func order() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points, price: PretendApp.price))
        #expect(entry.status == .prepared && entry.isOpened)
        #expect(world.state.now.orders[entry.id]?.user == UserID("ann"))
        #expect(world.state.now.requests == ["POST /v1/orders"])

        // A second device loses power with the first request in transit.
        let cut = PretendWorld()
        cut.state.withLock { $0.killAt = 2 }
        let doomed = try PretendApp(cut)
        await #expect(throws: PurchaseError.self) {
            try await doomed.purchase.prepare(OrderRequest(PretendApp.points, price: PretendApp.price, quantity: 2))
        }
        #expect(cut.state.now.requests.isEmpty)
        let found = try #require(await OrderJournal(disk: cut.file.disk).entries().first)
        #expect(found.status == .prepared && found.quantity == 2 && found.price == PretendApp.price)
        #expect(found.userID == UserID("ann") && found.createdAt == cut.state.now.now && !found.isOpened)
    }

    @Test("Without a network the buyer is told after three attempts, and the order stays prepared and unopened")
    func offline() async throws {
        let world = PretendWorld()
        world.state.withLock { $0.answers = Array(repeating: .failure(TransportError(.offline)), count: 3) }
        let app = try PretendApp(world)
        let refused = try #require(
            await #expect(throws: PurchaseError.self) {
                try await app.purchase.prepare(OrderRequest(PretendApp.points, price: PretendApp.price))
            }, "an order that the server does not know may not be paid")
        guard case .cannotOpen(let id, let error) = refused else { throw refused }
        #expect(error == .noResponse(TransportError(.offline)) && error.isRetryable)
        #expect(world.state.now.requests.count == 3)
        #expect(world.state.now.pauses == [500, 1_000])
        #expect(await app.journal[id]?.status == .prepared)
        #expect(await app.journal[id]?.isOpened == false)
        #expect(world.state.now.orders.isEmpty)
    }

    @Test("O1: after a lost answer the repeated request finds the same order and creates no second one")
    func answerLost() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        world.state.withLock { $0.answers = [.failure(TransportError(.timedOut)), .success(html)] }
        let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
        #expect(world.state.now.requests.count == 3)
        #expect(Array(world.state.now.orders.keys) == [entry.id])
        #expect(await app.journal.entries().count == 1)
    }

    @Test(
        "P11: answers of other servers never open an order",
        arguments: [
            TransportResponse(status: 200, contentType: "text/html", body: Array("<html>".utf8)),
            TransportResponse(status: 200, contentType: "application/json", body: []),
            TransportResponse(status: 201, contentType: "application/json", body: Array("{}".utf8)),
            TransportResponse(status: 302, contentType: "text/html", body: []),
            TransportResponse(status: 502, contentType: "text/html", body: []),
            TransportResponse(status: 404, contentType: "text/plain", body: []),
        ])
    func unreadable(_ response: TransportResponse) async throws {
        let world = PretendWorld()
        world.state.withLock { $0.answers = Array(repeating: .success(response), count: 3) }
        let app = try PretendApp(world)
        do {
            _ = try await app.purchase.prepare(OrderRequest(PretendApp.points))
            Issue.record("opened by \(response.status)")
        } catch {
            guard case .cannotOpen(let id, .unreadable(response.status, nil)) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(await app.journal[id]?.status == .prepared)
            let shown = TillError(StoreError(error))
            #expect(shown.isRetryable)
            #expect(
                shown.message(in: "en")
                    == "This response did not come from the server. Try another network, or try again later.")
            #expect(shown.message(in: "zh") == "当前网络返回的内容并非来自服务器。请更换网络，或稍后重试。")
        }
    }

    @Test("A refusal of the server closes the order as failed, with its reason")
    func refused() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        do {
            _ = try await app.purchase.prepare(OrderRequest(ProductID("unknown")))
            Issue.record("an unknown product may not be bought")
        } catch {
            guard case .refused(let id, let refusal) = error else { throw Unexpected("\(error)") }
            #expect(refusal.refusal == .unknownProduct && !StoreError(error).isRetryable)
            #expect(await app.journal[id]?.status == .failed)
            #expect(await app.journal[id]?.history.last?.reason == "unknown_product")
            #expect(world.state.now.requests.count == 1)
        }
    }

    @Test("With a full disk the buyer is told and no request is sent")
    func fullDisk() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        world.file.state.withLock { $0.capacity = 0 }
        do {
            _ = try await app.purchase.prepare(OrderRequest(PretendApp.points))
            Issue.record("an order that is not on the disk may not go on")
        } catch {
            #expect(error == .journal(.disk(DiskError(.full))))
            let shown = TillError(StoreError(error))
            let row = StoreSentences.rows(StoreSentences.journal).first { $0.code == "disk_full" }
            #expect(shown.message(in: "en") == row?.en && shown.message(in: "zh") == row?.zh && shown.isRetryable)
        }
        #expect(world.state.now.requests.isEmpty)
        #expect(await app.journal.entries().isEmpty)
    }

    @Test("Without a signed-in user, or with an invalid quantity, nothing is written or sent")
    func notEvenBegun() async throws {
        let world = PretendWorld()
        let app = try PretendApp(world)
        for quantity in [0, -1, 11, .max] {
            await #expect(throws: PurchaseError.badQuantity) {
                try await app.purchase.prepare(OrderRequest(PretendApp.points, price: nil, quantity: quantity))
            }
        }
        world.state.withLock { $0.session = nil }
        await #expect(throws: PurchaseError.notSignedIn) {
            try await app.purchase.prepare(OrderRequest(PretendApp.points))
        }
        #expect(world.state.now.requests.isEmpty && world.file.bytes.isEmpty)
    }

    @Test("L10, T3: cancelled and failed orders keep their reason and reach the server; a later payment completes them")
    func cancelledThenPaid() async throws {
        for fails in [false, true] {
            let world = PretendWorld()
            let app = try PretendApp(world)
            let entry = try await app.purchase.prepare(OrderRequest(PretendApp.points))
            if fails {
                try await app.purchase.failed(entry.id, reason: "您的银行要求验证")
            } else {
                try await app.purchase.cancelled(entry.id, reason: "您的银行要求验证")
            }
            let closed = try #require(await app.journal[entry.id])
            #expect(closed.status == (fails ? .failed : .cancelled))
            #expect(closed.history.last?.reason == "您的银行要求验证")
            await world.rest()
            #expect(world.state.now.requests.last == "POST /v1/orders/\(entry.id)/\(fails ? "fail" : "cancel")")

            guard case .completed = await app.submitter.submit(world.pay(entry)) else {
                throw Unexpected("not completed")
            }
            #expect(
                await app.journal[entry.id]?.history.map(\.status) == [
                    .prepared, fails ? .failed : .cancelled, .ongoing, .completed,
                ])
            await #expect(throws: JournalError.self) { try await app.purchase.failed(entry.id, reason: "late") }
        }
    }

    @Test("Ask to Buy: nothing is sent until it is approved, even on a later launch")
    func deferred() async throws {
        let world = PretendWorld()
        let first = try PretendApp(world)
        let entry = try await first.purchase.prepare(OrderRequest(PretendApp.points))
        try await first.purchase.deferred(entry.id)
        let later = try PretendApp(world)
        #expect(await later.retry.resubmit(on: .launch).outcomes.isEmpty)
        #expect(await later.journal[entry.id]?.status == .deferred)
        _ = world.pay(entry)
        #expect(await later.retry.resubmit(on: .launch).outcomes.count == 1)
        #expect(await later.journal[entry.id]?.status == .completed)
    }
}
