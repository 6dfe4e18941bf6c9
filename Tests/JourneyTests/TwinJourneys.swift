import Foundation
import Testing
import TillBilling
import TillJSON

@Suite("Ids that only look the same are different users") struct TwinJourneys {
    /// A user id, and an equivalent one under Unicode: the KELVIN SIGN, the other normalization form.
    struct Pair: Sendable, CustomTestStringConvertible {
        let name: String
        let user: String
        let twin: String
        var testDescription: String { name }
    }

    static let equivalent = [
        Pair(name: "KELVIN SIGN", user: "Karl", twin: "\u{212A}arl"),
        Pair(name: "NFC and NFD", user: "Jos\u{E9}", twin: "Jose\u{301}"),
        Pair(name: "ANGSTROM SIGN", user: "\u{C5}sa", twin: "\u{212B}sa"),
    ]
    static let cased = Pair(name: "case", user: "Karl", twin: "karl")

    private static func path(_ user: String) -> String {
        user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private func bought(_ shop: Shop, by user: String) async throws -> (open: OrderID, paid: OrderID) {
        let paid = try await shop.openOrder(as: user)
        _ = try await shop.submit(try await shop.pay(token: paid, account: "a").signed, as: .user(user))
        return (try await shop.openOrder(as: user), paid)
    }

    @Test("A twin reads, cancels, consents and debits nothing of the user's", arguments: equivalent + [cased])
    func reads(_ pair: Pair) async throws {
        try await Shop.open(.socket) { shop in
            let orders = try await bought(shop, by: pair.user)
            let (twin, path) = (Party.user(pair.twin), Self.path(pair.user))
            for order in [orders.open, orders.paid] {
                #expect(try await shop.send(.get, "/v1/orders/\(order)", as: twin).status == 404)
            }
            for reason in ["cancel", "fail"] {
                let reply = try await shop.send(.post, "/v1/orders/\(orders.open)/\(reason)", as: twin)
                #expect(reply.status == 404 && reply.code == "unknown_order")
            }
            for read in ["orders", "wallet", "wallet/postings", "entitlements", "subscriptions", "claims"] {
                let reply = try await shop.send(.get, "/v1/users/\(path)/\(read)", as: twin)
                #expect(reply.status == 403, "\(read): \(reply.body)")
            }
            let consent = "/v1/users/\(path)/consents/consumption"
            #expect(try await shop.send(.put, consent, ["given": true], as: twin).status == 403)
            #expect(try await shop.send(.get, consent)["given"].bool == false)
            #expect(try await shop.points(of: path) == 60)
            // Its own reads answer as for any unknown user.
            let own = try await shop.send(.get, "/v1/users/\(Self.path(pair.twin))/wallet", as: twin)
            #expect(own.status == 200 && own["balances"] == [:])
            // A backend that debits the twin does not debit the user.
            let debit: JSONValue = ["currency": "points", "amount": 60, "reference": "r1"]
            #expect(
                try await shop.send(.post, "/v1/users/\(Self.path(pair.twin))/wallet/debits", debit).status != 201)
            #expect(try await shop.points(of: path) == 60)
            #expect(try await shop.status(of: orders.open) == "prepared")
        }
    }

    @Test("A twin takes no purchase by merging, restoring, its own order or a claim", arguments: equivalent)
    func takes(_ pair: Pair) async throws {
        try await Shop.open(.socket, change: { $0.restore = RestoreTerms(policy: .move) }) { shop in
            _ = try await bought(shop, by: pair.user)
            let (twin, path) = (Party.user(pair.twin), Self.path(pair.user))
            let token = UserToken.hs256(
                subject: pair.twin, expires: shop.time.now.seconds + 60, extra: #","guest":true"#)
            let merged = try await shop.send(
                .post, "/v1/users/thief/guests", ["guestId": .string(pair.user), "guestToken": .string(token)],
                as: .user("thief"))
            #expect(merged.status == 403, "\(merged.body)")
            // Requests that would create rows for an unknown id that is not in NFC.
            let order = try await shop.send(
                .post, "/v1/orders", ["productId": .string(Shop.points60)], as: twin)
            #expect(order.status == 400 && order.code == "invalid_field", "\(order.body)")
            #expect(order["detail"].text.contains("NFC"))
            let twinPath = Self.path(pair.twin)
            let claim = try await shop.send(
                .post, "/v1/users/\(twinPath)/claims", ["orderNumber": "ABC123"], as: twin)
            #expect(claim.status == 400, "\(claim.body)")
            let consent = try await shop.send(
                .put, "/v1/users/\(twinPath)/consents/consumption", ["given": true], as: twin)
            #expect(consent.status == 400)
            let bonus = try await shop.send(
                .post, "/v1/users/\(twinPath)/wallet/bonuses", ["currency": "points", "amount": 5, "reference": "b"])
            #expect(bonus.status == 400)
            let restored = try await shop.send(.post, "/v1/restores", ["signedTransactions": ["x"]], as: twin)
            #expect(restored.status == 400)
            let guests = try await shop.send(.post, "/v1/users/\(twinPath)/guests", ["guestId": "guest-1"])
            #expect(guests.status == 400)
            #expect(try await shop.points(of: path) == 60)
            #expect(try await shop.points(of: "thief") == 0)
        }
    }

    @Test("A customer with an id that is not in NFC keeps it, and its normalized twin is another user")
    func known() async throws {
        try await Shop.open(.socket) { shop in
            let pair = Self.equivalent[1]
            // Written before the rule existed.
            _ = try await shop.ledger.write { connection in
                try connection.execute("INSERT INTO customers (user_id, first_seen) VALUES (?1, 1)", [.text(pair.twin)])
                return try connection.execute(
                    """
                    INSERT INTO consents (customer_id, given, caller_kind, caller_key, at) \
                    VALUES (\(customer: 1), 1, 'key', 'backend', 1)
                    """,
                    [.text(pair.twin)])
            }
            _ = try await bought(shop, by: pair.twin)
            #expect(try await shop.points(of: Self.path(pair.twin)) == 60)
            #expect(try await shop.points(of: Self.path(pair.user)) == 0)
            _ = try await bought(shop, by: pair.user)
            #expect(try await shop.points(of: Self.path(pair.user)) == 60)
        }
    }

    @Test(
        "Control characters, direction marks, line separators and noncharacters name no user",
        arguments: [
            "a\\u0000", "a\\u0007", "a\\u007f", "a\\u0085", "\\u202eann", "ann\\u200f", "ann\\u2066", "ann\\u061c",
            "ann\\u2028", "ann\\ufdd0", "ann\\uffff",
        ])
    func forbidden(_ name: String) async throws {
        try await Shop.open(.socket) { shop in
            let token = UserToken.hs256(subject: name, expires: shop.time.now.seconds + 60)
            let reply = try await shop.send(
                .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .bearer(token))
            #expect(reply.status == 401 && reply.code == "unauthorized", "\(reply.body)")
            #expect(reply["detail"].text.hasPrefix("sub: holds U+"), "\(reply.body)")
            let text = try JSONValue(decoding: Array("\"\(name)\"".utf8)).string ?? ""
            let named = try await shop.send(
                .post, "/v1/orders", ["productId": .string(Shop.points60), "userId": .string(text)])
            #expect(named.status == 400 && named.code == "invalid_field", "\(named.body)")
            let device = try await shop.send(
                .post, "/v1/orders",
                ["productId": .string(Shop.points60), "userId": "ann", "deviceId": .string(text)])
            #expect(device.status == 400 && device.code == "invalid_field")
            #expect(try await shop.send(.get, "/v1/users/\(Self.path(text))/wallet").status == 400)
        }
    }

    @Test("Twins of a device, of an order's metadata, of a kind of points and of a key's id are different")
    func others() async throws {
        try await Shop.open(.socket) { (shop) async throws in
            let id = UniqueID(high: 7, low: 9).description
            func open(_ device: String, _ note: String) async throws -> Reply {
                try await shop.send(
                    .post, "/v1/orders",
                    [
                        "id": .string(id), "userId": "ann", "productId": .string(Shop.points60),
                        "deviceId": .string(device), "metadata": ["note": .string(note)],
                    ])
            }
            #expect(try await open("Kitchen", "\u{E9}").status == 201)
            #expect(try await open("Kitchen", "\u{E9}").status == 200)
            #expect(try await open("\u{212A}itchen", "\u{E9}").status == 409)
            #expect(try await open("Kitchen", "e\u{301}").status == 409)
            let give: JSONValue = ["currency": "points", "amount": 5, "reference": "\u{E9}"]
            #expect(try await shop.send(.post, "/v1/users/ann/wallet/bonuses", give).status == 201)
            let other: JSONValue = ["currency": "points", "amount": 5, "reference": "e\u{301}"]
            #expect(try await shop.send(.post, "/v1/users/ann/wallet/bonuses", other).status == 201)
            #expect(try await shop.points(of: "ann") == 10)
        }
    }
}
