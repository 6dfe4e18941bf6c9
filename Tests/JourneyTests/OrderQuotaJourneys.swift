import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer

@Suite("Limits on one caller's orders") struct OrderQuotaJourneys {
    private static func open(
        _ shop: Shop, as party: Party, id: UniqueID? = nil, userID: String? = nil, query: String = "",
        key: String? = nil
    ) async throws -> Reply {
        var body: [String: JSONValue] = ["productId": .string(Shop.points60)]
        if let userID { body["userId"] = .string(userID) }
        if let id { body["id"] = .string(id.description) }
        return try await shop.send(
            .post, "/v1/orders\(query)", .object(body), as: party, headers: key.map { [("Idempotency-Key", $0)] } ?? [])
    }

    @Test("A user token opens a limited number of orders an hour; other users and backends are not delayed")
    func perHour() async throws {
        try await Shop.open(.socket, change: { $0.orders.perHour = 3 }) { shop in
            for _ in 0..<3 { #expect(try await Self.open(shop, as: .user("eve")).status == 201) }
            shop.time.advance(seconds: 600)
            let refused = try await Self.open(shop, as: .user("eve"))
            #expect(refused.status == 429 && refused.code == "too_many_orders")
            #expect(refused.headers["Retry-After"] == "3000")
            #expect(try await Self.open(shop, as: .user("ann")).status == 201)
            for _ in 0..<5 { #expect(try await Self.open(shop, as: .backend, userID: "eve").status == 201) }
            shop.time.advance(seconds: 3_001)
            #expect(try await Self.open(shop, as: .user("ann")).status == 201)
        }
    }

    @Test(
        "A user token has a limited number of open orders; paid, cancelled and repeated ones don't count")
    func openAtOnce() async throws {
        try await Shop.open(.socket, change: { $0.orders.maximumOpen = 2 }) { shop in
            let first = try await shop.openOrder(as: "ann")
            let nonce = try #require(OrderIDNonce(bytes: [UInt8](repeating: 7, count: 16)))
            let chosen = OrderIDCommitment(user: UserID("ann"), nonce: nonce).id
            let body: JSONValue = [
                "productId": .string(Shop.points60), "id": .string(chosen.description),
                "idNonce": .string(nonce.text),
            ]
            #expect(try await shop.send(.post, "/v1/orders", body, as: .user("ann")).status == 201)
            let refused = try await Self.open(shop, as: .user("ann"))
            #expect(refused.status == 429 && refused.code == "too_many_orders")
            #expect(try await shop.send(.post, "/v1/orders", body, as: .user("ann")).status == 200)
            _ = try await shop.submit(try await shop.pay(token: first).signed, as: .user("ann"))
            #expect(try await Self.open(shop, as: .user("ann")).status == 201)
            #expect(try await Self.open(shop, as: .user("ann")).status == 429)
            #expect(try await shop.send(.post, "/v1/orders/\(chosen)/cancel", as: .user("ann")).status == 200)
            #expect(try await Self.open(shop, as: .user("ann")).status == 201)
        }
    }

    @Test(
        "An id derived from an idempotency key can't be computed from the key, and differs in each ledger"
    )
    func derivedIDs() async throws {
        var ids: [String] = []
        for _ in 0..<2 {
            try await Shop.open(.socket) { shop in
                let reply = try await Self.open(shop, as: .user("ann"), key: "order-1")
                #expect(reply.status == 201)
                #expect(try await Self.open(shop, as: .user("ann"), key: "order-1")["id"] == reply["id"])
                ids.append(reply["id"].text)
            }
        }
        #expect(ids[0] != ids[1])
        let guesses = ["user:ann\nPOST /v1/orders\norder-1", "user:ann\nPOST /v1/orders Sandbox\norder-1"].map {
            UniqueID(random: Array(Digest.sha256.hash($0.utf8).prefix(16))).description
        }
        #expect(!guesses.contains(ids[0]))
    }

    @Test(
        "The same key with another query is another request, in any order of its items; another body is refused")
    func queryScope() async throws {
        try await Shop.open(.socket) { shop in
            let plain = try await Self.open(shop, as: .user("ann"), key: "k")
            let sandbox = try await Self.open(shop, as: .user("ann"), query: "?environment=sandbox&a=1", key: "k")
            #expect(plain.status == 201 && sandbox.status == 201 && plain["id"] != sandbox["id"])
            let again = try await Self.open(shop, as: .user("ann"), query: "?a=1&environment=sandbox", key: "k")
            #expect(again["id"] == sandbox["id"])
            let other = try await shop.send(
                .post, "/v1/orders", ["productId": .string(Shop.points300)], as: .user("ann"),
                headers: [("Idempotency-Key", "k")])
            #expect(other.status == 422 && other.code == "idempotency_key_reused")
        }
    }

    @Test("Sandbox purchases carry a mark beside every status")
    func sandbox() async throws {
        try await Shop.open(.socket) { shop in
            let order = try await shop.openOrder(as: "ann")
            #expect(try await shop.send(.get, "/v1/orders/\(order)")["sandbox"].isNull)
            let granted = try await shop.submit(try await shop.pay(token: order).signed, as: .user("ann"))
            #expect(granted["outcome"].text == "granted" && granted["sandbox"] == true)
            #expect(try await shop.send(.get, "/v1/orders/\(order)")["sandbox"] == true)
            let list = try await shop.send(.get, "/v1/users/ann/orders?environment=sandbox")
            #expect(list["data"].list.map { $0.at("sandbox") } == [true])
            for path in ["wallet", "entitlements", "subscriptions"] {
                let reply = try await shop.send(.get, "/v1/users/ann/\(path)?environment=sandbox")
                #expect(reply.status == 200 && reply["sandbox"] == true, "\(path)")
            }
            let events = try await shop.send(.get, "/v1/events")["data"].list
            #expect(!events.isEmpty && events.allSatisfy { $0.at("sandbox") == true })
        }
    }

    @Test("Production purchases carry no such mark")
    func production() async throws {
        try await Shop.open(environments: [.production], line: AppleProxy(), store: .production) { shop in
            let order = try await shop.openOrder(as: "ann")
            let granted = try await shop.submit(try await shop.pay(token: order).signed, as: .user("ann"))
            #expect(granted["outcome"].text == "granted" && granted["sandbox"].isNull)
            #expect(try await shop.send(.get, "/v1/orders/\(order)")["sandbox"].isNull)
            #expect(try await shop.send(.get, "/v1/users/ann/wallet")["sandbox"].isNull)
        }
    }
}
