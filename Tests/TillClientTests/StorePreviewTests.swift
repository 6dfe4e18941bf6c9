import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("Purchases with a preview")
struct StorePreviewTests {
    private static let reply = TransportResponse(
        status: 200, contentType: "application/json",
        body: Array(
            """
            {"at":"2027-01-15T08:00:00.123Z","plan":"monthly","productId":"points.60","change":"start",
            "price":{"amount":1200,"currency":"CNY"},"dailyPrice":{"amount":20,"currency":"CNY","exact":"20"},
            "current":[],"balance":{"amount":0,"currency":"CNY","exact":"0"},"days":0,"seconds":0,
            "boughtSeconds":5184000,"expiresAt":"2027-03-16T08:00:00.123Z","explanation":{"en":[],"zh":[]}}
            """.utf8))

    private func preview(_ store: TillStore, _ world: PretendWorld) async throws -> PlanPreview {
        world.state.withLock { $0.answers = [.success(Self.reply)] }
        return try await store.previewPlan("monthly", quantity: 2)
    }

    @Test("C6: the order is created on the preview, with its product and quantity, by the call and by callbacks")
    func opened() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let seen = try await preview(store, world)
        let outcome = await store.buy(seen)
        #expect(outcome.order?.status == .completed && outcome.order?.quantity == 2)
        let ended = Guarded<[String]>([])
        store.purchase(
            seen.productID, options: PurchaseOptions(seen),
            callbacks: PurchaseCallbacks(
                paid: { _ in ended.withLock { $0.append("paid") } }, deliveryPending: { _, _ in }, cancelled: { _ in },
                failed: { _, error in ended.withLock { $0.append(error.code.rawValue) } }))
        #expect(await world.sees { !ended.now.isEmpty } && ended.now == ["paid"])
        let reported = OpenOrderBody.Preview(
            at: try #require(Instant(rfc3339: "2027-01-15T08:00:00.123Z")),
            expiresAt: try #require(Instant(rfc3339: "2027-03-16T08:00:00.123Z")),
            price: Money(amount: 1_200, currency: Currency("CNY")))
        let opened = world.state.now.opened
        #expect(opened.map(\.preview) == [reported, reported] && opened.map(\.quantity) == [2, 2])
        #expect(opened.allSatisfy { $0.productId == "points.60" && $0.phoneId != nil })
        #expect(await store.buy("points.60").error == nil && world.state.now.opened.last?.preview == nil)
        await world.end(store)
    }

    @Test("C6: after a lost answer the request is repeated with the same preview, and finds the same order")
    func repeated() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let seen = try await preview(store, world)
        world.state.withLock { $0.answers = [.failure(TransportError(.timedOut))] }
        #expect(await store.buy(seen).order?.status == .completed)
        #expect(world.state.now.opened.allSatisfy { $0.preview == seen.body } && world.state.now.orders.count == 1)
        await world.end(store)
    }

    @Test("C6: if the preview no longer holds nothing is charged, and the buyer is asked to look again")
    func changed() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let seen = try await preview(store, world)
        world.state.withLock { $0.answers = [.success(PretendWorld.problem(.previewChanged, 409))] }
        let outcome = await store.buy(seen)
        #expect(outcome.error?.code == "preview_changed" && outcome.error?.isRetryable == false)
        #expect(outcome.order?.status == .failed && world.shop.now.sheetsShown.isEmpty)
        #expect(outcome.error.map { TillError($0) }?.message(in: "zh-Hans") == "您的套餐或价格在预览之后发生了变化，请查看新的预览后再购买。")
        #expect(
            outcome.error.map { TillError($0) }?.message(in: "en")
                == "Your plans or the prices changed since this preview. Check the new preview, then buy.")
        await world.end(store)
    }
}
