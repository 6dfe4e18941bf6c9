import Testing
import TillBilling
import TillJSON

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
}
