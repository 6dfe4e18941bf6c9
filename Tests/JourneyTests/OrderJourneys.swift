import Testing
import TillBilling
import TillClient
import TillJSON
import TillLedger
import TillServer

@Suite("Orders") struct OrderJourneys {
    @Test(
        "The server has an unfinished order before payment; the device's repetition opens no second one (O1)",
        arguments: Reach.allCases)
    func repeated(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let proven = ProvenOrder(of: "u1")
            let body = proven.opening([
                "productId": .string(Shop.points60), "quantity": 2, "metadata": ["level": 3, "tags": ["a", "b"]],
            ])
            let first = try await shop.send(.post, "/v1/orders", body, as: .user("u1"))
            #expect(first.status == 201)
            #expect(first["id"].text == proven.id.description)
            #expect(first["status"].text == "prepared")
            #expect(first["statusCode"].int == 0)
            #expect(first["userId"].text == "u1")
            #expect(first["quantity"].int == 2)
            #expect(first["price"] == ["amount": 1_200, "currency": "CNY"])
            #expect(first["metadata"] == ["level": 3, "tags": ["a", "b"]])
            #expect(first["transactionId"] == .null)
            #expect(first["history"].list.map { $0.at("status").text } == ["prepared"])

            let again = try await shop.send(.post, "/v1/orders", body, as: .user("u1"))
            #expect(again.status == 200)
            #expect(again.body == first.body)

            let other = proven.opening(["productId": .string(Shop.points300)])
            let conflict = try await shop.send(.post, "/v1/orders", other, as: .user("u1"))
            #expect(conflict.status == 409)
            #expect(conflict.code == "order_conflict")
            let foreign = try await shop.send(.post, "/v1/orders", body, as: .user("u2"))
            #expect(foreign.status == 422 && foreign.code == "order_id_unproven")
            #expect(try await shop.send(.get, "/v1/users/u1/orders")["data"].list.count == 1)
        }
    }

    @Test("The buyer lists orders, newest first, in pages, and by status (L6)", arguments: Reach.allCases)
    func list(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            var ids: [String] = []
            for _ in 0..<5 { ids.insert(try await shop.openOrder(as: "u1").description, at: 0) }
            _ = try await shop.openOrder(as: "u2")
            _ = try await shop.send(.post, "/v1/orders/\(ids[1])/cancel", ["reason": "2"], as: .user("u1"))

            let first = try await shop.send(.get, "/v1/users/u1/orders?limit=3", as: .user("u1"))
            #expect(first["data"].list.map { $0.at("id").text } == Array(ids[..<3]))
            #expect(first["hasMore"] == true)
            let cursor = first["nextCursor"].text
            let rest = try await shop.send(.get, "/v1/users/u1/orders?limit=3&cursor=\(cursor)", as: .user("u1"))
            #expect(rest["data"].list.map { $0.at("id").text } == Array(ids[3...]))
            #expect(rest["hasMore"] == false)
            #expect(rest["nextCursor"] == .null)
            let cancelled = try await shop.send(.get, "/v1/users/u1/orders?status=cancelled", as: .user("u1"))
            #expect(cancelled["data"].list.map { $0.at("id").text } == [ids[1]])
            #expect(try await shop.send(.get, "/v1/users/u1/orders?status=paid").code == "invalid_field")
        }
    }

    @Test("Legal moves only: a cancelled order may be paid after all, a completed one never fails (L6, L10, T3)")
    func moves() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            let failed = try await shop.send(
                .post, "/v1/orders/\(order)/fail", ["reason": "SKError 0"], as: .user("u1"))
            #expect(failed["status"].text == "failed")
            #expect(try await shop.send(.post, "/v1/orders/\(order)/fail", nil, as: .user("u1")).status == 200)
            #expect(
                try await shop.send(.post, "/v1/orders/\(order)/cancel", nil, as: .user("u1")).code == "illegal_move")

            let payment = try await shop.pay(token: order)
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
            let paid = try await shop.send(.get, "/v1/orders/\(order)", as: .user("u1"))
            #expect(
                paid["history"].list.map { $0.at("status").text } == ["prepared", "failed", "ongoing", "completed"])
            let late = try await shop.send(.post, "/v1/orders/\(order)/fail", nil, as: .user("u1"))
            #expect(late.status == 409)
            #expect(late.code == "illegal_move")
            #expect(try await shop.status(of: order) == "completed")
        }
    }

    /// The status | after cancel | fail | defer | a payment | the refund of a payment. A number is the status of a
    /// refusal.
    private static let moves = """
        0 prepared  | cancelled | failed | deferred | completed | refunded
        1 completed | 409       | 409    | 409      | completed | refunded
        2 ongoing   | 409       | 409    | 409      | completed | refunded
        3 cancelled | cancelled | 409    | 409      | completed | refunded
        4 failed    | 409       | failed | 409      | completed | refunded
        5 deferred  | cancelled | failed | deferred | completed | refunded
        6 refunded  | 409       | 409    | 409      | refunded  | refunded
        """

    @Test("From each status, each action leads to a legal status or is refused with illegal_move (L6, L10)")
    func everyMove() async throws {
        try await Shop.open(change: { $0.orders.perHour = 200 }) { shop in
            for row in Self.moves.split(separator: "\n") {
                let cells = row.split(separator: "|").map { $0.trimmingPrefix { $0 == " " }.split(separator: " ") }
                let (code, status) = (try #require(Int64(cells[0][0])), String(cells[0][1]))
                for (action, cell) in zip(["cancel", "fail", "defer", "pay", "refund"], cells.dropFirst()) {
                    let (order, paid) = try await order(status, in: shop)
                    let before = try await shop.send(.get, "/v1/orders/\(order)", as: .user("u1"))
                    #expect(before["status"].text == status && before["statusCode"].int == code)
                    let expected = String(try #require(cell.first))
                    let refusal = try await act(action, on: order, paid, in: shop)
                    #expect(refusal == (expected == "409" ? "409 illegal_move" : ""), "\(status) \(action)")
                    let after = expected == "409" ? status : expected
                    #expect(try await shop.status(of: order) == after, "\(status) \(action)")
                }
            }
        }
    }

    /// An order with that status, and the payment that it has.
    private func order(_ status: String, in shop: Shop) async throws -> (OrderID, Payment?) {
        let order = try await shop.openOrder(as: "u1")
        var paid: Payment?
        switch status {
        case "prepared": break
        case "cancelled", "failed", "deferred":
            let action = ["cancelled": "cancel", "failed": "fail", "deferred": "defer"][status] ?? ""
            _ = try await shop.send(.post, "/v1/orders/\(order)/\(action)", nil, as: .user("u1"))
        case "ongoing":
            // No request leaves an order in this status: a payment passes it within one commit.
            try await shop.ledger.write { connection in
                let orders = OrderTable(connection)
                let stored = try #require(try orders.find(order))
                _ = try orders.move(stored, along: [.ongoing], at: shop.time.now, reason: "paid")
            }
        default:
            let payment = try await shop.pay(token: order)
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
            if status == "refunded" { try await refund(payment, in: shop) }
            paid = payment
        }
        return (order, paid)
    }

    private func refund(_ payment: Payment, in shop: Shop) async throws {
        shop.time.advance(seconds: 1)
        let refunded = try await shop.ask(.post, "/emulator/transactions/\(payment.id)/refund")
        _ = try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))
    }

    /// Status and code of a refusal; empty if the action is accepted.
    private func act(_ action: String, on order: OrderID, _ paid: Payment?, in shop: Shop) async throws -> String {
        switch action {
        case "pay":
            let payment = try await shop.pay(token: order)
            #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
        case "refund":
            let payment: Payment
            if let paid { payment = paid } else { payment = try await shop.pay(token: order) }
            try await refund(payment, in: shop)
        default:
            let reply = try await shop.send(.post, "/v1/orders/\(order)/\(action)", nil, as: .user("u1"))
            return reply.status == 200 ? "" : "\(reply.status) \(reply.code)"
        }
        return ""
    }

    @Test("Another user's order can be neither seen nor cancelled")
    func foreign() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "u1")
            #expect(try await shop.send(.get, "/v1/orders/\(order)", as: .user("u2")).code == "unknown_order")
            #expect(try await shop.send(.post, "/v1/orders/\(order)/cancel", nil, as: .user("u2")).status == 404)
            #expect(try await shop.send(.get, "/v1/users/u1/orders", as: .user("u2")).status == 403)
            #expect(try await shop.send(.get, "/v1/orders/\(order)", as: .anonymous).status == 401)
            #expect(try await shop.send(.get, "/v1/orders/\(order)", as: .backend).status == 200)
            #expect(try await shop.status(of: order) == "prepared")
        }
    }

    @Test("An order for an unknown product, or with an invalid quantity, is refused and not created")
    func refused() async throws {
        try await Shop.open { shop in
            func open(_ body: JSONValue) async throws -> Reply {
                try await shop.send(.post, "/v1/orders", body, as: .user("u1"))
            }
            #expect(try await open(["productId": "com.example.learn.nothing"]).code == "unknown_product")
            for quantity: Int64 in [0, -1, 11, .max] {
                let body: JSONValue = ["productId": .string(Shop.points60), "quantity": .int(quantity)]
                #expect(try await open(body).code == "quantity_not_allowed")
            }
            #expect(
                try await open(["productId": "com.example.learn.pro", "quantity": 2]).code == "quantity_not_allowed")
            #expect(try await open(["productId": 7]).code == "invalid_field")
            #expect(try await open(["id": "x", "productId": .string(Shop.points60)]).code == "invalid_field")
            #expect(try await open([:]).code == "invalid_field")
            let named: JSONValue = ["productId": .string(Shop.points60), "userId": "u2"]
            #expect(try await open(named).status == 403)
            let nameless = try await shop.send(.post, "/v1/orders", ["productId": .string(Shop.points60)], as: .backend)
            #expect(nameless.code == "invalid_field")
            #expect(try await shop.send(.get, "/v1/users/u1/orders")["data"].list.isEmpty)
        }
    }

    private static let news = "com.example.learn.news"

    /// A catalogue with the discontinued type that an old app may still list.
    private static func addHistory(_ configuration: inout ServerConfiguration) {
        let free = CatalogProduct(
            id: ProductID(news), type: .freeSubscription, names: LocalizedText(en: "News", zh: "新闻"),
            price: Money(amount: 0, currency: Currency("CNY")))
        configuration.catalog = Catalog(products: configuration.catalog.products + [free])
    }

    @Test("A free subscription is history: no order opens for it, through either address (L1)")
    func freeSubscription() async throws {
        try await Shop.open(change: Self.addHistory) { shop in
            for party in [Party.user("u1"), .backend] {
                var body: [String: JSONValue] = ["productId": .string(Self.news)]
                if case .backend = party { body["userId"] = "u1" }
                let reply = try await shop.send(.post, "/v1/orders", .object(body), as: party)
                #expect(reply.status == 422 && reply.code == "unknown_product", "\(reply.body)")
            }
            let payment = try await shop.pay(token: nil)
            let posted: JSONValue = [
                "token": .string(UserToken.hs256(subject: "u1", expires: shop.time.now.seconds + 600)),
                "receipt-data": .string(payment.receipt), "product_id": "news",
                "transaction_id": .string(payment.id), "order_id": "17",
            ]
            let reply = try await shop.send(.post, "/postPay/ios", posted, as: .anonymous)
            #expect(reply.status == 422 && reply.code == "product_mismatch", "\(reply.body)")
            #expect(try await shop.send(.get, "/v1/users/u1/orders")["data"].list.isEmpty)
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("The client kit neither shows nor sells a free subscription (L1)", arguments: StoreKitGeneration.both)
    func freeSubscriptionOnThePhone(_ generation: StoreKitGeneration) async throws {
        try await Phones.open(generation, change: Self.addHistory) { phones in
            let ann = try await phones.phone("ann")
            let shown = try await ann.use { try await $0.products() }
            #expect(!shown.isEmpty && !shown.contains { $0.id == Self.news })
            let outcome = await ann.buy(Self.news)
            guard case .failed(_, let error) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(["product_unavailable", "unknown_product"].contains(error.code), "\(error)")
            #expect(try await phones.shop.send(.get, "/v1/users/ann/orders")["data"].list.isEmpty)
            #expect(try await ann.paid().isEmpty)
        }
    }
}
