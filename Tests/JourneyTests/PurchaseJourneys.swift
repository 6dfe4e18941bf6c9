import Testing
import TillBilling
import TillJSON
import TillLedger

@Suite("A purchase, from tap to points") struct PurchaseJourneys {
    @Test(
        "Purchased, submitted, granted, completed: the points arrive in the wallet (L8)", arguments: Reach.allCases)
    func plain(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1", quantity: 2)
            let payment = try await shop.pay(token: order, quantity: 2)
            let reply = try await shop.submit(payment.signed, as: .user("u1"))
            #expect(reply.status == 200)
            #expect(reply["outcome"].text == "granted")
            #expect(reply["orderId"].text == order.description)
            #expect(reply["transactionId"].text == payment.id)
            #expect(reply["userId"].text == "u1")
            #expect(reply["finish"] == true)
            let grant = reply["grant"]
            #expect(grant.at("productId").text == Shop.points60)
            #expect(grant.at("quantity").int == 2)
            #expect(grant.at("postings") == [["account": "user:u1", "currency": "points", "amount": 120]])
            #expect(try await shop.points(of: "u1") == 120)

            let paid = try await shop.send(.get, "/v1/orders/\(order)", as: .user("u1"))
            #expect(paid["status"].text == "completed")
            #expect(paid["statusCode"].int == 1)
            #expect(paid["transactionId"].text == payment.id)
            #expect(paid["environment"].text == "Sandbox")
            let postings = try await shop.send(
                .get, "/v1/users/u1/wallet/postings?environment=sandbox", as: .user("u1"))
            #expect(postings["data"].list.map { $0.at("kind").text } == ["purchase"])
        }
    }

    @Test(
        "The same proof again, by this device or another, is alreadyGranted: one grant (O8)", arguments: Reach.allCases)
    func again(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            _ = try await shop.submit(payment.signed, as: .user("u1"))
            for party in [Party.user("u1"), .backend] {
                let again = try await shop.submit(payment.signed, as: party)
                #expect(again.status == 200)
                #expect(again["outcome"].text == "alreadyGranted")
                #expect(again["orderId"].text == order.description)
                #expect(again["finish"] == true)
            }
            #expect(try await shop.grantCount() == 1)
            #expect(try await shop.points(of: "u1") == 60)
        }
    }

    @Test("One paid transaction delivered twenty times at once, signed at different times, is one grant (U8)")
    func manyCopies() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            var copies = [payment.signed]
            for _ in 1..<20 {
                shop.time.advance(seconds: 7)
                copies.append(
                    try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["signedTransaction"].text)
            }
            #expect(Set(copies).count == 20)
            let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
                for copy in copies.shuffled() {
                    group.addTask { try await shop.submit(copy, as: .user("u1"))["outcome"].text }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.filter { $0 == "granted" }.count == 1)
            #expect(outcomes.filter { $0 == "alreadyGranted" }.count == 19)
            #expect(try await shop.grantCount() == 1)
            #expect(try await shop.points(of: "u1") == 60)
        }
    }

    @Test("The payment carries the order id, and finds that order on any later day (O2, T9)")
    func muchLater() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            shop.time.advance(seconds: 400 * 86_400)
            let reply = try await shop.submit(payment.signed, as: .user("u1"))
            #expect(reply["outcome"].text == "granted")
            #expect(reply["orderId"].text == order.description)
        }
    }

    @Test("A receipt is granted by the order id sent with it (O3, U1 match 2)", arguments: Reach.allCases)
    func receipt(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: nil)
            let wrapped = stride(from: 0, to: payment.receipt.count, by: 64).map { start in
                payment.receipt.dropFirst(start).prefix(64)
            }
            let body: JSONValue = [
                "receipt": .string(wrapped.joined(separator: "\r\n")), "transactionId": .string(payment.id),
                "productId": .string(Shop.points60), "orderId": .string(order.description),
            ]
            let reply = try await shop.send(.post, "/v1/transactions", body, as: .user("u1"))
            #expect(reply["outcome"].text == "granted")
            #expect(try await shop.points(of: "u1") == 60)
            // The signed form of the same purchase is the same transaction.
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "alreadyGranted")
        }
    }

    @Test("Proof, transaction id and product id must agree with each other (O3)")
    func threeParameters() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(Shop.points300, as: "u1")
            let payment = try await shop.pay(token: nil)
            func submit(transaction: String?, product: String?, signed: Bool) async throws -> Reply {
                var body: [String: JSONValue] = ["orderId": .string(order.description)]
                body[signed ? "signedTransaction" : "receipt"] = .string(signed ? payment.signed : payment.receipt)
                if let transaction { body["transactionId"] = .string(transaction) }
                if let product { body["productId"] = .string(product) }
                return try await shop.send(.post, "/v1/transactions", .object(body), as: .user("u1"))
            }
            let other = try await submit(transaction: payment.id, product: Shop.points300, signed: false)
            #expect(other.status == 422)
            #expect(other.code == "product_mismatch")
            #expect(
                try await submit(transaction: "1", product: Shop.points60, signed: false).code
                    == "transaction_not_in_receipt")
            #expect(try await submit(transaction: nil, product: Shop.points60, signed: false).code == "invalid_field")
            #expect(try await submit(transaction: "1", product: nil, signed: true).code == "transaction_mismatch")
            #expect(
                try await submit(transaction: nil, product: Shop.points300, signed: true).code == "product_mismatch")
            // All three agree, but differ from the order: it is paid, so it is kept, without an owner.
            let differing = try await submit(transaction: payment.id, product: Shop.points60, signed: false)
            #expect(differing.status == 202)
            #expect(differing["outcome"].text == "quarantined")
            #expect(differing["reason"].text == "claimed_order_differs")
            #expect(differing["finish"] == false)
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("The price never blocks: a paid purchase is granted, whatever the list says")
    func price() async throws {
        try await Shop.open { shop in
            _ = try await shop.ask(
                .put, "/emulator/products",
                [
                    "products": [
                        [
                            "id": .string(Shop.points60), "type": "Consumable",
                            "price": ["amount": 1_200, "currency": "CNY"],
                        ]
                    ]
                ])
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
        }
    }

    @Test("A backend that never opens orders can use Till too: the server creates the order (CONTRACT §2)")
    func onTheSpot() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let reply = try await shop.submit(payment.signed, as: .backend, userID: "u7")
            #expect(reply["outcome"].text == "granted")
            #expect(reply["userId"].text == "u7")
            let order = try #require(UniqueID(reply["orderId"].text))
            #expect(try await shop.status(of: order) == "completed")
            #expect(try await shop.points(of: "u7") == 60)

            let token = UniqueID(high: 5, low: 6)
            let named = try await shop.pay(token: token)
            let reported = try await shop.submit(named.signed, as: .backend, userID: "u8")
            #expect(reported["outcome"].text == "granted" && reported["userId"].text == "u8")
            #expect(reported["orderId"].text != token.description, "the word is about this purchase alone")
        }
    }

    @Test("A second one-time purchase under one token has its own order")
    func secondUnderOneToken() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let first = try await shop.pay(token: order)
            let second = try await shop.pay(token: order)
            _ = try await shop.submit(first.signed, as: .user("u1"))
            let reply = try await shop.submit(second.signed, as: .user("u1"))
            #expect(reply["outcome"].text == "granted")
            #expect(reply["orderId"].text != order.description)
            #expect(try await shop.points(of: "u1") == 120)
        }
    }

    @Test("A purchase without an owner is quarantined with its proof, and granted once it has an owner (invariant 6)")
    func quarantine() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: nil)
            let orphan = try await shop.submit(payment.signed, as: .user("u1"))
            #expect(orphan.status == 202)
            #expect(orphan["outcome"].text == "quarantined")
            #expect(orphan["reason"].text == "no_owner")
            #expect(orphan["finish"] == false)
            let stored = try await shop.ledger.read { connection in
                let found = try TransactionTable(connection).find(TransactionID(payment.id), in: .sandbox)
                return try found.flatMap { try ProofTable(connection).find(transaction: $0.rowID)?.body }
            }
            #expect(stored == Array(payment.signed.utf8))
            let claimed = try await shop.submit(payment.signed, as: .user("u1"), orderID: order)
            #expect(claimed["outcome"].text == "granted")
            #expect(try await shop.points(of: "u1") == 60)
        }
    }

    @Test("A paid product that the catalogue does not list is quarantined, never dropped")
    func unlisted() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay("com.example.learn.unlisted", token: nil)
            let reply = try await shop.submit(payment.signed, as: .backend, userID: "u1")
            #expect(reply["outcome"].text == "quarantined")
            #expect(reply["reason"].text == "unknown_product")
        }
    }
}
