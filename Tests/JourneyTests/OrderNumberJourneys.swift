import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillServer

/// A released client's own order number, which is no UUID, stands for an order of the user who sends it.
@Suite("A released client's own order number is an order of its user (C8)") struct OrderNumberJourneys {
    private func post(
        _ payment: Payment, number: String, as user: String, to shop: Shop, plan: String = "points60"
    ) async throws -> Reply {
        let body: JSONValue = [
            "token": .string(UserToken.hs256(subject: user, expires: shop.time.now.seconds + 600)),
            "receipt-data": .string(payment.receipt), "product_id": .string(plan),
            "transaction_id": .string(payment.id), "order_id": .string(number),
        ]
        return try await shop.send(.post, "/postPay/ios", body, as: .anonymous)
    }

    static let numbers = [
        "2019042300017", "订单-17/甲", "7", "a b", String(repeating: "9", count: 400), "3f2c91ab6d0e4b579a430c5d8e1f2a6",
    ]

    @Test("A number of any form opens its user's order, and repeated posts meet the same order", arguments: numbers)
    func anyForm(_ number: String) async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let first = try await post(payment, number: number, as: "u1", to: shop)
            #expect(first.status == 200 && first["outcome"].text == "granted", "\(first.body)")
            let order = OrderIDCommitment(user: UserID("u1"), orderNumber: number).id
            #expect(first["order"].at("id").text == order.description)
            #expect(first["order"].at("status") == "completed" && first["order"].at("userId") == "u1")
            shop.time.advance(seconds: 86_400)
            for _ in 0..<2 {
                let again = try await post(payment, number: number, as: "u1", to: shop)
                #expect(again["outcome"].text == "alreadyGranted" && again["order"].at("id") == first["order"].at("id"))
            }
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test("An order that was opened beforehand with the number is the same order", arguments: Reach.allCases)
    func openedBefore(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let opened = try await shop.send(
                .post, "/v1/orders",
                ["userId": "u1", "productId": .string(Shop.points60), "orderNumber": "2019042300017"])
            #expect(opened.status == 201)
            let payment = try await shop.pay(token: nil)
            // The first post comes a week late; the order is older than the payment.
            shop.time.advance(seconds: 7 * 86_400)
            let reply = try await post(payment, number: "2019042300017", as: "u1", to: shop)
            #expect(reply.status == 200 && reply["order"].at("id") == opened["id"])
        }
    }

    @Test("The same number of two users is two orders, and no user reaches another's order by a number (V2)")
    func twoUsers() async throws {
        try await Shop.open { shop in
            let hers = try await shop.send(
                .post, "/v1/orders", ["userId": "A", "productId": .string(Shop.points60), "orderNumber": "17"])
            let payment = try await shop.pay(token: nil)
            let reply = try await post(payment, number: "17", as: "B", to: shop)
            #expect(reply.status == 200 && reply["order"].at("userId") == "B")
            #expect(reply["order"].at("id") != hers["id"])
            #expect(try await shop.send(.get, "/v1/orders/\(hers["id"].text)")["status"] == "prepared")
            // The id of her order, as a text: a UUID is an order's id, and this one is hers.
            let other = try await shop.pay(token: nil)
            let stolen = try await post(other, number: hers["id"].text, as: "B", to: shop)
            #expect(stolen.status == 202 && stolen["reason"].text == "claimed_order_of_another")
        }
    }

    @Test("A number keeps its product and its payment: another product or a second payment waits, with that reason")
    func reused() async throws {
        try await Shop.open { shop in
            let first = try await shop.pay(token: nil)
            #expect(try await post(first, number: "17", as: "u1", to: shop).status == 200)
            let larger = try await shop.pay(Shop.points300, token: nil)
            let differs = try await post(larger, number: "17", as: "u1", to: shop, plan: "points300")
            #expect(differs.status == 202 && differs["reason"].text == "claimed_order_differs")
            let second = try await shop.pay(token: nil)
            let taken = try await post(second, number: "17", as: "u1", to: shop)
            #expect(taken.status == 202 && taken["reason"].text == "claimed_order_taken")
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test("A number gives no right to an old receipt: an order opened by it is as young as the post (V3)")
    func oldReceipt() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            shop.time.advance(seconds: 301)
            let reply = try await post(payment, number: "17", as: "thief", to: shop)
            #expect(reply.status == 202 && reply["reason"].text == "claimed_order_opened_later")
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("Apple's token outweighs the number, and a forged receipt opens no order (P8, P9)")
    func outweighed() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            #expect(try await post(payment, number: "17", as: "ben", to: shop).status == 409)
            #expect(try await shop.points(of: "ann") == 60)
            let forged = Payment(id: payment.id, signed: "", receipt: String(payment.receipt.dropLast(40)))
            #expect(try await post(forged, number: "18", as: "ben", to: shop).status == 422)
            let opened = OrderIDCommitment(user: UserID("ben"), orderNumber: "18").id
            #expect(try await shop.send(.get, "/v1/orders/\(opened)").status == 404)
        }
    }
}
