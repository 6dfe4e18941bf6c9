import Testing
import TillBilling
import TillJSON

@Suite("Idempotency-Key") struct RepetitionJourneys {
    private let body: JSONValue = ["productId": .string(Shop.points60)]

    private func post(
        _ shop: Shop, key: String, _ body: JSONValue, as party: Party = .user("u1")
    ) async throws -> Reply {
        try await shop.send(.post, "/v1/orders", body, as: party, headers: [("Idempotency-Key", key)])
    }

    @Test("The same key with the same body gets the same answer, and opens one order", arguments: Reach.allCases)
    func same(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let first = try await post(shop, key: "k1", body)
            let again = try await post(shop, key: "k1", body)
            #expect(first.status == 201)
            #expect(again.status == 201)
            #expect(again.body == first.body)
            #expect(again.headers["Idempotency-Replayed"] == "true")
            #expect(try await shop.send(.get, "/v1/users/u1/orders")["data"].list.count == 1)
        }
    }

    @Test("The same key with another body is refused (422); from another user it is another key")
    func other() async throws {
        try await Shop.open { shop in
            let first = try await post(shop, key: "k1", body)
            let clash = try await post(shop, key: "k1", ["productId": .string(Shop.points300)])
            #expect(clash.status == 422)
            #expect(clash.code == "idempotency_key_reused")
            let foreign = try await post(shop, key: "k1", body, as: .user("u2"))
            #expect(foreign.status == 201)
            #expect(foreign["id"] != first["id"])
            #expect(try await post(shop, key: String(repeating: "k", count: 256), body).code == "invalid_field")
        }
    }

    @Test("Fifty at once with one key open one order; concurrent ones get try again (409)")
    func inFlight() async throws {
        try await Shop.open { shop in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await post(shop, key: "k", body).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(statuses).isSubset(of: [201, 409]))
            #expect(statuses.contains(201))
            #expect(try await shop.send(.get, "/v1/users/u1/orders")["data"].list.count == 1)
        }
    }

    @Test("Answers that were not final are not stored: a quarantined proof is granted under the same key later")
    func notFinal() async throws {
        try await Shop.open { shop in
            let proven = ProvenOrder(of: "u1")
            let payment = try await shop.pay(token: proven.id)
            let proof: JSONValue = ["signedTransaction": .string(payment.signed)]
            func submit() async throws -> Reply {
                try await shop.send(
                    .post, "/v1/transactions", proof, as: .user("u1"), headers: [("Idempotency-Key", "p")])
            }
            #expect(try await submit().status == 202)
            let order = proven.opening(["productId": .string(Shop.points60)])
            #expect(try await shop.send(.post, "/v1/orders", order, as: .user("u1")).status == 201)
            #expect(try await submit()["outcome"].text == "alreadyGranted")
        }
    }
}
