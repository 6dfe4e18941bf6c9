import Testing
import TillAPI
import TillAppStore
import TillBilling
import TillLedger
import TillServer

/// Proofs with a nonce open orders, under the same limits as orders that are requested.
@Suite("Orders that a proof opens") struct ProvenOrderJourneys {
    private func post(
        _ payment: Payment, as user: String, _ proven: ProvenOrder, in shop: Shop
    ) async throws -> Reply {
        try await shop.send(
            .post, "/v1/transactions",
            [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(Shop.points60), "orderId": .string(proven.id.description),
                "idNonce": .string(proven.nonce.text),
            ], as: .user(user))
    }

    private func orders(of user: String, in shop: Shop) async throws -> Int {
        try await shop.send(.get, "/v1/users/\(user)/orders?environment=sandbox&limit=100")["data"].list.count
    }

    @Test("A receipt of an old grant opens no orders, with any number of nonces")
    func decided() async throws {
        try await Shop.open(.socket) { shop in
            let paid = try await shop.purchase(as: "ann")
            for number in 1...5 {
                let reply = try await post(paid, as: "ann", ProvenOrder(of: "ann", number), in: shop)
                #expect(reply["outcome"].text == "alreadyGranted", "\(reply.body)")
                let borrowed = try await post(paid, as: "eve", ProvenOrder(of: "eve", number), in: shop)
                #expect(borrowed["outcome"].text == "alreadyGranted", "\(borrowed.body)")
            }
            #expect(try await orders(of: "ann", in: shop) == 1)
            #expect(try await orders(of: "eve", in: shop) == 0)
        }
    }

    @Test("Orders that receipts open count like requested ones; above the limit it is 429")
    func quota() async throws {
        try await Shop.open(.socket, change: { $0.orders.perHour = 3 }) { shop in
            let started = shop.time.now.seconds
            for number in 1...3 {
                let paid = try await shop.pay(token: nil)
                let reply = try await post(paid, as: "ann", ProvenOrder(of: "ann", number), in: shop)
                #expect(reply["outcome"].text == "granted", "\(reply.body)")
            }
            let paid = try await shop.pay(token: nil)
            let refused = try await post(paid, as: "ann", ProvenOrder(of: "ann", 4), in: shop)
            #expect(refused.status == 429 && refused.code == "too_many_orders", "\(refused.body)")
            #expect(try await orders(of: "ann", in: shop) == 3)
            #expect(
                try await shop.send(.post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user("ann"))
                    .status == 429)
            shop.time.advance(seconds: started + 3_601 - shop.time.now.seconds)
            let later = try await post(try await shop.pay(token: nil), as: "ann", ProvenOrder(of: "ann", 5), in: shop)
            #expect(later["outcome"].text == "granted", "\(later.body)")
        }
    }

    @Test(
        "A payment of a guest who signed in opens the account's order, not the guest's, and is granted to the account")
    func merged() async throws {
        try await Shop.open(.socket) { shop in
            #expect(try await shop.merge("guest-7", into: "ann").status == 201)
            let receipt = try await shop.pay(token: nil)
            let granted = try await post(receipt, as: "guest-7", ProvenOrder(of: "guest-7", 1), in: shop)
            #expect(granted["outcome"].text == "granted", "\(granted.body)")
            #expect(try await shop.points(of: "ann") == 60)
            // The same with a signed copy, whose token is the guest's own order id.
            let proven = ProvenOrder(of: "guest-7", 2)
            let signed = try await shop.pay(token: proven.id)
            let reply = try await shop.send(
                .post, "/v1/transactions",
                ["signedTransaction": .string(signed.signed), "idNonce": .string(proven.nonce.text)],
                as: .user("guest-7"))
            #expect(reply["outcome"].text == "granted", "\(reply.body)")
            #expect(try await shop.points(of: "ann") == 120)
            #expect(try await orders(of: "guest-7", in: shop) == 0)
            #expect(try await orders(of: "ann", in: shop) == 2)
        }
    }

    @Test("With save-then-finish too a payment of a guest who signed in is the account's")
    func mergedAndSaved() async throws {
        try await Shop.open(change: { $0.delivery.order = .saveThenFinish }) { shop in
            #expect(try await shop.merge("guest-7", into: "ann").status == 201)
            let proven = ProvenOrder(of: "guest-7", 2)
            let signed = try await shop.pay(token: proven.id)
            let reply = try await shop.send(
                .post, "/v1/transactions",
                ["signedTransaction": .string(signed.signed), "idNonce": .string(proven.nonce.text)],
                as: .user("guest-7"))
            #expect(reply.status == 202 && reply["finish"].bool == true)
            #expect(try await SavedProofs(shop.server.ledger).processAll() == 1)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await orders(of: "guest-7", in: shop) == 0)
        }
    }

    @Test("Only the account may cancel and fail the orders of a guest who signed in")
    func closing() async throws {
        try await Shop.open(.socket) { shop in
            var orders: [OrderID] = []
            for _ in 0..<3 { orders.append(try await shop.openOrder(as: "guest-7")) }
            #expect(try await shop.merge("guest-7", into: "ann").status == 201)
            for way in ["cancel", "fail"] {
                let guest = try await shop.send(.post, "/v1/orders/\(orders[0])/\(way)", as: .user("guest-7"))
                #expect(guest.status == 409 && guest.code == "guest_merged", "\(guest.body)")
                let other = try await shop.send(.post, "/v1/orders/\(orders[0])/\(way)", as: .user("eve"))
                #expect(other.code == "unknown_order")
            }
            #expect(try await shop.status(of: orders[0]) == "prepared")
            #expect(try await shop.send(.post, "/v1/orders/\(orders[0])/cancel", as: .user("ann")).status == 200)
            #expect(try await shop.send(.post, "/v1/orders/\(orders[1])/fail", as: .user("ann")).status == 200)
            #expect(try await shop.send(.post, "/v1/orders/\(orders[2])/cancel", as: .backend).status == 200)
        }
    }
}
