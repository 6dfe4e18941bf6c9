import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("What a purchase adds to the product")
struct PurchaseOptionsTests {
    @Test("Quantity, device and metadata are in the order at the server")
    func opened() async throws {
        let world = PretendWorld()
        let store = try await world.launch { $0.phoneID = "phone" }
        var options = PurchaseOptions()
        options.quantity = 2
        options.device = "camera-7"
        options.metadata = ["room": "42", "seat": "学"]
        #expect(try await store.purchase("points.60", options: options).order?.status == .completed)
        let body = try #require(world.state.now.opened.last)
        #expect(body.quantity == 2 && body.deviceId == "camera-7" && body.phoneId == "phone")
        #expect(body.metadata == .object(["room": .string("42"), "seat": .string("学")]))
        #expect(try await store.purchase("points.60").order?.status == .completed)
        let plain = try #require(world.state.now.opened.last)
        #expect(plain.deviceId == nil && plain.phoneId == "phone" && plain.metadata == nil && plain.quantity == 1)
        await world.end(store)
    }

    // MARK: The order of the app's backend

    private static let number = UniqueID(high: 8, low: 8)

    private static func reply(
        _ user: String = "ann", _ product: String = "points.60", quantity: Int = 1, paid: Bool = false,
        id: OrderID = number
    ) -> TransportResponse {
        var order = Order(
            id: id, userID: UserID(user), productID: ProductID(product), quantity: quantity,
            price: Money(amount: 600, currency: Currency("CNY")), createdAt: Instant(seconds: 1),
            updatedAt: Instant(seconds: 1))
        if paid { order.transactionID = TransactionID("5") }
        return PretendWorld.json(200, OrderReply(order, metadata: nil, history: []))
    }

    private func opened(_ world: PretendWorld, _ reply: TransportResponse) {
        world.state.withLock { state in
            state.orders[Self.number] = (UserID("ann"), "points.60", 1)
            state.pages["GET \(Paths.order(Self.number))"] = reply
        }
    }

    private static var options: PurchaseOptions {
        var options = PurchaseOptions()
        options.order = number.description
        return options
    }

    @Test("The order that the app's backend opened is paid, and no other one is opened")
    func adopted() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world, Self.reply())
        let result = try await store.purchase("points.60", options: Self.options)
        #expect(result.order?.uuid == Self.number && result.order?.status == .completed)
        #expect(world.shop.now.sheetsShown.map(\.order) == [Self.number] && world.state.now.opened.isEmpty)
        #expect(world.state.now.grants.values.map(\.text) == ["ann"])
        // It is paid once.
        await #expect(throws: TillError(.unknownOrder)) {
            try await store.purchase("points.60", options: Self.options)
        }
        #expect(world.shop.now.sheetsShown.count == 1)
        await world.end(store)
    }

    @Test("After a closed sheet the same order may be paid; another user of the phone may not pay it")
    func again() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world, Self.reply())
        world.shop.withLock { $0.sheets = [.cancel] }
        guard case .cancelled = try await store.purchase("points.60", options: Self.options) else {
            throw Unexpected("not cancelled")
        }
        await store.signIn("bob") { "bob" }
        await #expect(throws: TillError(.unknownOrder)) {
            try await store.purchase("points.60", options: Self.options)
        }
        await store.signIn("ann") { "ann" }
        let result = try await store.purchase("points.60", options: Self.options)
        #expect(result.order?.uuid == Self.number && result.order?.status == .completed)
        #expect(world.state.now.grants.count == 1)
        await world.end(store)
    }

    @Test(
        "An order of another user, product or quantity, a paid one and another one than asked for are not paid",
        arguments: [
            reply("bob"), reply("ann", "points.300"), reply(quantity: 2), reply(paid: true),
            reply(id: UniqueID(high: 9, low: 9)),
        ])
    func others(_ reply: TransportResponse) async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world, reply)
        await #expect(throws: TillError(.unknownOrder)) {
            try await store.purchase("points.60", options: Self.options)
        }
        #expect(world.shop.now.sheetsShown.isEmpty && world.state.now.opened.isEmpty && world.file.bytes.isEmpty)
        #expect(await store.orders(all: true).isEmpty)
        await world.end(store)
    }

    @Test("An order number that is none, or that the server doesn't know, is not paid")
    func unknown() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        var options = PurchaseOptions()
        options.order = "A-17"
        await #expect(throws: TillError(.unknownOrder)) { try await store.purchase("points.60", options: options) }
        #expect(world.state.now.requests.isEmpty)
        world.state.withLock {
            $0.pages["GET \(Paths.order(Self.number))"] = PretendWorld.problem(.unknownOrder, 404)
        }
        do throws(TillError) {
            let result = try await store.purchase("points.60", options: Self.options)
            Issue.record("\(result)")
        } catch {
            #expect(error.code == .unknownOrder && error.requestID == "r-1")
        }
        #expect(world.shop.now.sheetsShown.isEmpty && world.file.bytes.isEmpty)
        await world.end(store)
    }

    // MARK: Previews

    private static let previewReply = """
        {"at":"2027-01-15T08:00:00.123Z","plan":"monthly","productId":"points.60","change":"start",
        "price":{"amount":1200,"currency":"CNY"},"dailyPrice":{"amount":20,"currency":"CNY","exact":"20"},
        "current":[],"balance":{"amount":0,"currency":"CNY","exact":"0"},"days":0,"seconds":0,
        "boughtSeconds":5184000,"expiresAt":"2027-03-16T08:00:00.123Z","deviceIds":["camera-7"],
        "explanation":{"en":[],"zh":[]}}
        """

    @Test("A preview of another product or quantity is refused without any request; its device is in the order")
    func preview() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.state.withLock {
            $0.pages["POST \(Paths.planPreview)"] = TransportResponse(
                status: 200, contentType: "application/json", body: Array(Self.previewReply.utf8))
        }
        let seen = try await store.previewPlan("monthly", quantity: 2, device: "camera-7")
        let before = world.state.now.requests.count
        for (product, quantity) in [("points.300", 2), ("points.60", 1)] {
            var options = PurchaseOptions(seen)
            options.quantity = quantity
            do throws(TillError) {
                let result = try await store.purchase(product, options: options)
                Issue.record("\(result)")
            } catch {
                #expect(error.code == .previewChanged && !error.isRetryable && error.orderID == nil)
            }
        }
        #expect(world.state.now.requests.count == before && world.file.bytes.isEmpty)
        #expect(world.shop.now.productsAsked.isEmpty && world.shop.now.sheetsShown.isEmpty)
        let options = PurchaseOptions(seen)
        #expect(options.quantity == 2 && options.device == "camera-7" && options.preview == seen)
        #expect(try await store.purchase("points.60", options: options).order?.status == .completed)
        #expect(world.state.now.opened.map(\.deviceId) == ["camera-7"])
        await world.end(store)
    }

    // MARK: Promotional offers

    @Test("A promotional offer is signed for this very order and passed on to the store")
    func offer() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        var reply = PromotionalOfferReply(form: .classic, productId: "points.60", offerId: "spring")
        (reply.keyId, reply.nonce, reply.timestamp, reply.signature) = ("KEY", UniqueID(high: 3, low: 4), 5, "c2ln")
        let answer = PretendWorld.json(200, reply)
        world.state.withLock { $0.pages["POST \(Paths.promotionalOffers)"] = answer }
        var options = PurchaseOptions()
        options.promotionalOffer = "spring"
        let order = try #require(try await store.purchase("points.60", options: options).order)
        #expect(order.status == .completed)
        let shown = try #require(world.shop.now.sheetsShown.first)
        #expect(shown.order == order.uuid)
        #expect(
            shown.terms.offer
                == SignedOffer(
                    id: "spring",
                    form: .classic(keyID: "KEY", nonce: UniqueID(high: 3, low: 4), timestamp: 5, signature: "c2ln")))
        #expect(
            world.state.now.requests.prefix(2) == ["POST \(Paths.orders)", "POST \(Paths.promotionalOffers)"])
        #expect(try await store.purchase("points.60").order != nil)
        #expect(world.shop.now.sheetsShown.last?.terms.offer == nil)
        await world.end(store)
    }

    @Test(
        "If the server refuses the offer, or its signature is incomplete, the order fails and nothing is charged",
        arguments: [
            PretendWorld.problem(.notAutoRenewable, 422),
            PretendWorld.json(200, PromotionalOfferReply(form: .classic, productId: "points.60", offerId: "spring")),
        ])
    func noOffer(_ answer: TransportResponse) async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.state.withLock { $0.pages["POST \(Paths.promotionalOffers)"] = answer }
        var options = PurchaseOptions()
        options.promotionalOffer = "spring"
        do throws(TillError) {
            let result = try await store.purchase("points.60", options: options)
            Issue.record("\(result)")
        } catch {
            let order = try #require(await store.orders().first)
            #expect(error.orderID == order.orderID && order.status == .failed)
            #expect((error.requestID == "r-1") == (answer.status == 422))
        }
        #expect(world.shop.now.sheetsShown.isEmpty && world.state.now.queue.isEmpty)
        await world.end(store)
    }
}
