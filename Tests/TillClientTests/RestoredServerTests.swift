import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("A server that was restored from a backup") struct RestoredServerTests {
    /// The server answers with these orders, and says when it was restored.
    private func restore(_ world: PretendWorld, backupAt: Instant, restoredAt: Instant) {
        let page = Page<OrderReply>(data: [], hasMore: false, nextCursor: nil)
        let answer = OrderPage(page, restored: RestoredLedger(backupAt: backupAt, restoredAt: restoredAt))
        world.state.withLock { state in
            state.orders = [:]
            state.opened = []
            for query in ["limit=100", "status=refunded&limit=100"] {
                state.pages["GET /v1/users/ann/orders?\(query)"] = PretendWorld.json(200, answer)
            }
        }
    }

    @Test("R4: an order that the backup lacks is opened again with its nonce, although it was completed")
    func reopened() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        _ = try await store.purchase("points.60")
        let order = try #require(await store.orders().first)
        #expect(order.status == .completed)
        let nonce = try #require(world.state.now.opened.first?.idNonce)
        await store.stop()

        let now = world.state.now.now
        restore(world, backupAt: now.adding(seconds: -3_600), restoredAt: now)
        let second = try await world.launch()
        let body = try #require(world.state.now.opened.first)
        #expect(body.id?.description == order.orderID && body.idNonce == nonce && body.productId == "points.60")
        #expect(world.state.now.opened.count == 1 && world.state.now.orders.count == 1)
        #expect(await second.orders().map(\.status) == [.completed])
        await second.stop()
    }

    @Test("Orders from long before the backup are not opened again")
    func older() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        _ = try await store.purchase("points.60")
        await store.stop()
        let now = world.state.now.now
        restore(world, backupAt: now.adding(seconds: 90_000), restoredAt: now.adding(seconds: 90_060))
        let second = try await world.launch()
        #expect(world.state.now.opened.isEmpty)
        await second.stop()
    }
}
