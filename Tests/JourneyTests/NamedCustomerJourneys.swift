import Testing
import TillBilling
import TillJSON
import TillLedger
import TillServer

/// A customer whom a backend or an operator named can't be merged as a guest by an app, however the backend named them.
@Suite("Customers whom a backend named") struct NamedCustomerJourneys {
    /// The ways to name a customer with a secret key, besides opening an order.
    enum Way: CaseIterable, Sendable {
        case proof, restore, accountToken, operatorClaim, orderNumberClaim, bonus, correction, support, merge
    }

    private static let lasting = "com.example.learn.pro"
    private static let account = UniqueID(high: 0x5A1D_2B3A_0F4E_4A6B, low: 0x8C9D_0E1F_2A3B_4C5D)

    private func name(_ user: String, _ way: Way, in shop: Shop) async throws {
        func expect(_ reply: Reply, _ statuses: ClosedRange<Int> = 200...201) {
            #expect(statuses.contains(reply.status), "\(way): \(reply.body)")
        }
        switch way {
        case .proof:
            let paid = try await shop.pay(token: nil)
            let reply = try await shop.submit(paid.signed, as: .backend, userID: user)
            #expect(reply["outcome"].text == "granted", "\(reply.body)")
        case .restore:
            let paid = try await shop.pay(Self.lasting, token: nil)
            expect(try await shop.restore([paid.signed], as: .backend, userID: user))
        case .accountToken:
            expect(try await shop.send(.put, "/v1/users/\(user)/account-tokens/\(Self.account)"))
        case .operatorClaim:
            let paid = try await shop.pay(token: nil)
            _ = try await shop.submit(paid.signed, as: .user("eve"))
            expect(
                try await shop.send(
                    .post, "/v1/quarantine/\(paid.id)/claims",
                    ["userId": .string(user), "reason": "wrote to us", "operator": "li"]))
        case .orderNumberClaim:
            // Apple is not asked here: only the backend's claim counts.
            _ = try await shop.send(.post, "/v1/users/\(user)/claims", ["orderNumber": "MABC123"])
        case .bonus:
            expect(
                try await shop.send(
                    .post, "/v1/users/\(user)/wallet/bonuses",
                    ["currency": "points", "amount": 5, "reference": "b1"]))
        case .correction:
            expect(
                try await shop.send(
                    .post, "/v1/users/\(user)/wallet/corrections",
                    ["currency": "points", "amount": 5, "reference": "c1", "reason": "late", "operator": "li"]))
        case .support:
            let paid = try await shop.purchase(Self.lasting, as: "ann")
            expect(
                try await shop.send(
                    .post, "/v1/transfers",
                    [
                        "from": "ann", "to": .string(user), "originalTransactionId": .string(paid.id),
                        "environment": "sandbox",
                        "reason": "gift", "operator": "li",
                    ]))
        case .merge:
            _ = try await shop.purchase(as: "guest-9")
            expect(try await shop.merge("guest-9", into: user, as: .backend))
        }
    }

    /// The thief signs in to the shop with a token that calls the user of `guestId` a guest.
    private func merge(
        _ shop: Shop, _ user: String, extra: String = #","guest":true"#
    ) async throws -> Reply {
        let token = UserToken.hs256(subject: user, expires: shop.time.now.seconds + 600, extra: extra)
        return try await shop.send(
            .post, "/v1/users/thief/guests", ["guestId": .string(user), "guestToken": .string(token)],
            as: .user("thief"))
    }

    @Test("A customer named with a secret key is no guest, whatever a later token says", arguments: Way.allCases)
    func named(_ way: Way) async throws {
        let isProduction = way == .orderNumberClaim
        try await Shop.open(
            .socket, environments: [isProduction ? .production : .sandbox], line: isProduction ? AppleProxy() : nil,
            store: isProduction ? .production : .sandbox
        ) { shop in
            try await name("victim", way, in: shop)
            let guest = UserToken.hs256(
                subject: "victim", expires: shop.time.now.seconds + 600, extra: #","guest":true"#)
            #expect(try await shop.send(.get, "/v1/users/victim/wallet", as: .bearer(guest)).status == 200)
            let reply = try await merge(shop, "victim")
            #expect(reply.status == 403 && reply.code == "not_a_guest", "\(way): \(reply.body)")
            #expect(try await shop.points(of: "thief") == 0)
        }
    }

    @Test("The rows of a customer without a recorded kind show that a backend named the customer")
    func recordedByNothing() async throws {
        try await Shop.open(.socket) { shop in
            for (user, way) in [("victim", Way.proof), ("another", .bonus), ("third", .accountToken)] {
                try await name(user, way, in: shop)
                try await shop.ledger.write { connection in
                    _ = try connection.execute("UPDATE customers SET kind = NULL WHERE user_id = ?1", [.text(user)])
                }
                #expect(try await merge(shop, user).code == "not_a_guest")
                let guest = UserToken.hs256(
                    subject: user, expires: shop.time.now.seconds + 600, extra: #","guest":true"#)
                #expect(try await shop.send(.get, "/v1/users/\(user)/wallet", as: .bearer(guest)).status == 200)
                let order = try await shop.send(
                    .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .bearer(guest))
                #expect(order.status == 201)
                #expect(try await merge(shop, user).code == "not_a_guest")
            }
        }
    }

    @Test("A guest whom a backend names by the form of guests stays one, and so does one whose token came first")
    func guests() async throws {
        try await Shop.open(change: { $0.guests.prefix = "visitor-" }) { shop in
            for way in [Way.proof, .accountToken] {
                let visitor = "visitor-\(way)"
                try await name(visitor, way, in: shop)
                #expect(try await merge(shop, visitor).status == 201)
            }
            #expect(try await shop.send(.get, "/v1/users/guest-3/wallet", as: .user("guest-3")).status == 200)
            try await name("guest-3", .bonus, in: shop)
            #expect(try await merge(shop, "guest-3").status == 201)
        }
    }

    // MARK: Tokens of accounts

    @Test("A token of an account that a merge refuses makes its user an account permanently")
    func refusedMerge() async throws {
        try await Shop.open(.socket) { shop in
            #expect(try await merge(shop, "zoe", extra: "").code == "not_a_guest")
            #expect(try await merge(shop, "zoe").code == "not_a_guest")
            // The same holds for a token of another user than the one to be merged.
            let token = UserToken.hs256(subject: "yan", expires: shop.time.now.seconds + 600)
            let other = try await shop.send(
                .post, "/v1/users/thief/guests", ["guestId": "guest-1", "guestToken": .string(token)],
                as: .user("thief"))
            #expect(other.status == 403 && other.code == "forbidden")
            #expect(try await merge(shop, "yan").code == "not_a_guest")
        }
    }

    @Test("A token of an account counts even if its order is refused")
    func refusedOrders() async throws {
        try await Shop.open(.socket, change: { $0.orders.perHour = 1 }) { shop in
            let unproven: JSONValue = ["productId": .string(Shop.points60), "id": .string(Self.account.description)]
            #expect(try await shop.send(.post, "/v1/orders", unproven, as: .user("zoe")).status == 422)
            #expect(try await merge(shop, "zoe").code == "not_a_guest")
            // 429: the backend's order uses up the hour.
            let plain: JSONValue = ["productId": .string(Shop.points60)]
            let named: JSONValue = ["productId": .string(Shop.points60), "userId": "bea"]
            let opened = try await shop.send(.post, "/v1/orders", named)
            #expect(try await shop.send(.post, "/v1/orders", plain, as: .user("bea")).status == 429)
            #expect(
                try await shop.send(.post, "/v1/orders", ["productId": "x"], as: .user("cy")).code == "unknown_product")
            // A repetition of a backend's order, with its user's own token.
            let again: JSONValue = ["productId": .string(Shop.points60), "userId": "dan"]
            let order = try await shop.send(.post, "/v1/orders", again)
            let repeated: JSONValue = ["productId": .string(Shop.points60), "id": order["id"]]
            #expect(try await shop.send(.post, "/v1/orders", repeated, as: .user("dan")).status == 200)
            #expect(opened.status == 201 && order.status == 201)
            for user in ["bea", "cy", "dan"] {
                let reply = try await shop.send(.post, "/v1/users/thief/guests", ["guestId": .string(user)])
                #expect(reply.status == 403 && reply.code == "not_a_guest", "\(user): \(reply.body)")
            }
        }
    }
}
