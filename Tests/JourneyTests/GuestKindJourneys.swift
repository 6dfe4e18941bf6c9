import Testing
import TillBilling
import TillJSON
import TillServer

@Suite("Only guests are merged into an account") struct GuestKindJourneys {
    private func merge(
        _ shop: Shop, _ user: String, extra: String = "", lives: Int64 = 600, secret: [UInt8] = Shop.tokenSecret,
        into account: String = "thief"
    ) async throws -> Reply {
        let token = UserToken.hs256(
            subject: user, expires: shop.time.now.seconds + lives, secret: secret, extra: extra)
        return try await shop.send(
            .post, "/v1/users/\(account)/guests", ["guestId": .string(user), "guestToken": .string(token)],
            as: .user(account))
    }

    @Test("An account's token, even a short-lived one, rules out merging it as a guest", arguments: Reach.allCases)
    func account(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            _ = try await shop.purchase(as: "ann")
            let open = try await shop.openOrder(as: "ann")
            for extra in ["", #","guest":false"#, #","guest":null"#] {
                let reply = try await merge(shop, "ann", extra: extra, lives: 2)
                #expect(reply.status == 403 && reply.code == "not_a_guest", "\(reply.body)")
            }
            let text = try await merge(shop, "ann", extra: #","guest":"true""#)
            #expect(text.status == 403)
            // The claim counts only under the backend's signature.
            let forged = try await merge(shop, "ann", extra: #","guest":true"#, secret: Array(repeating: 7, count: 32))
            #expect(forged.status == 403 && forged.code == "forbidden")
            // A claim that a backend signs by mistake does not count either: ann is recorded as an account.
            let mistaken = try await merge(shop, "ann", extra: #","guest":true"#)
            #expect(mistaken.status == 403 && mistaken.code == "not_a_guest", "\(mistaken.body)")
            // Her later payments are hers.
            let paid = try await shop.pay(token: open, account: "ann")
            #expect(try await shop.submit(paid.signed, as: .user("ann"))["userId"].text == "ann")
            #expect(try await shop.points(of: "ann") == 120)
            #expect(try await shop.points(of: "thief") == 0)
            #expect(try await shop.transfers(of: "ann").isEmpty)
        }
    }

    @Test("An account that only ever read is an account, and a buyer named by a backend is one for apps")
    func seen() async throws {
        try await Shop.open(.socket) { shop in
            #expect(try await shop.send(.get, "/v1/users/ann/wallet", as: .user("ann")).status == 200)
            #expect(try await merge(shop, "ann", extra: #","guest":true"#).code == "not_a_guest")
            _ = try await shop.send(
                .post, "/v1/orders", ["productId": .string(Shop.points60), "userId": "ben"])
            #expect(try await merge(shop, "ben", extra: #","guest":true"#).code == "not_a_guest")
            // The backend that named ben may state that ben is a guest, but not that ann is one.
            let asked = try await shop.send(.post, "/v1/users/cleo/guests", ["guestId": "ben"])
            #expect(asked.status == 201, "\(asked.body)")
            let ann = try await shop.send(.post, "/v1/users/cleo/guests", ["guestId": "ann"])
            #expect(ann.status == 403 && ann.code == "not_a_guest")
        }
    }

    @Test("A guest who became an account under the same id is an account, whatever older tokens say")
    func upgraded() async throws {
        try await Shop.open { shop in
            _ = try await shop.purchase(as: "guest-1")
            let token = UserToken.hs256(subject: "guest-1", expires: shop.time.now.seconds + 60)
            #expect(try await shop.send(.get, "/v1/users/guest-1/wallet", as: .bearer(token)).status == 200)
            #expect(try await merge(shop, "guest-1", extra: #","guest":true"#).code == "not_a_guest")
            #expect(try await shop.points(of: "guest-1") == 60)
        }
    }

    @Test("An id of the configured form is a guest's without a claim, unless its token says otherwise")
    func form() async throws {
        try await Shop.open(change: { $0.guests.prefix = "visitor-" }) { (shop) async throws in
            #expect(try await merge(shop, "visitor-1").status == 201)
            #expect(try await merge(shop, "visitor-2", extra: #","guest":false"#).code == "not_a_guest")
            #expect(try await merge(shop, "visito").code == "not_a_guest")
            #expect(try await merge(shop, "guest-1").code == "not_a_guest")
        }
    }

    @Test("A user of an older ledger is a guest only by a token that says so")
    func older() async throws {
        try await Shop.open { shop in
            try await shop.ledger.write { connection in
                _ = try connection.execute("INSERT INTO customers (user_id, kind, first_seen) VALUES ('old', 0, 1)", [])
                _ = try connection.execute(
                    "INSERT INTO customers (user_id, kind, first_seen) VALUES ('older', 0, 1)", [])
            }
            #expect(try await merge(shop, "old").code == "not_a_guest")
            #expect(try await merge(shop, "older", extra: #","guest":true"#).status == 201)
        }
    }

    @Test("The id of a guest who signed in opens nothing new, and payments in progress still go to the account")
    func merged() async throws {
        try await Shop.open(.socket) { shop in
            let guest = "guest-7"
            let id = try await shop.openOrder(as: guest)
            let body: JSONValue = [
                "id": .string(id.description), "productId": .string(Shop.points60), "quantity": 1,
            ]
            #expect(try await shop.merge(guest, into: "ann").status == 201)
            func expectMerged(_ reply: Reply) {
                #expect(reply.status == 409 && reply.code == "guest_merged", "\(reply.body)")
                #expect(!reply.body.encoded().contains("ann"))
            }
            let new: JSONValue = ["productId": .string(Shop.points60)]
            expectMerged(try await shop.send(.post, "/v1/orders", new, as: .user(guest)))
            expectMerged(try await shop.restore(["x"], as: .user(guest)))
            expectMerged(
                try await shop.send(
                    .put, "/v1/users/\(guest)/consents/consumption", ["given": true], as: .user(guest)))
            let points: JSONValue = ["currency": "points", "amount": 5, "reference": "r1"]
            expectMerged(try await shop.send(.post, "/v1/users/\(guest)/wallet/bonuses", points))
            expectMerged(try await shop.send(.post, "/v1/users/\(guest)/wallet/debits", points))
            // The open order is answered as it is, and its payment goes to the account.
            #expect(try await shop.send(.get, "/v1/orders/\(id)", as: .user(guest)).status == 200)
            let again = try await shop.send(.post, "/v1/orders", body, as: .user(guest))
            #expect([200, 422].contains(again.status), "\(again.body)")
            let paid = try await shop.pay(token: id, account: guest)
            #expect(try await shop.submit(paid.signed, as: .user(guest))["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("A merge can be reversed within the configured number of days, and not later")
    func undo() async throws {
        try await Shop.open(change: { $0.guests.undoDays = 2 }) { shop in
            _ = try await shop.purchase(as: "guest-1")
            let first = try await shop.merge("guest-1", into: "ann")
            let second = try await shop.merge("guest-2", into: "ann")
            shop.time.advance(seconds: 2 * 86_400)
            #expect(try await shop.reverse(first["id"].text).status == 201)
            #expect(try await shop.points(of: "guest-1") == 60)
            shop.time.advance(seconds: 1)
            let late = try await shop.reverse(second["id"].text)
            #expect(late.status == 409 && late.code == "undo_expired", "\(late.body)")
        }
    }

    @Test("A token of a key with a maximum lifetime needs iat and must not exceed it; iat must not be in the future")
    func lifetime() async throws {
        try await Shop.open(
            .socket,
            change: { configuration in
                configuration.userTokens = [
                    UserTokenKey(id: "app", algorithm: .hs256(secret: Shop.tokenSecret), maximumLifetime: 3_600)
                ]
            }
        ) { (shop) async throws in
            let now = shop.time.now.seconds
            func status(_ lives: Int64, _ extra: String) async throws -> Int {
                let token = UserToken.hs256(subject: "ann", expires: now + lives, extra: extra)
                return try await shop.send(.get, "/v1/users/ann/wallet", as: .bearer(token)).status
            }
            #expect(try await status(60, "") == 401)
            #expect(try await status(3_600, ",\"iat\":\(now)") == 200)
            #expect(try await status(3_601, ",\"iat\":\(now)") == 401)
            #expect(try await status(3_601, ",\"iat\":\(now + 61)") == 401)
            #expect(try await status(3_630, ",\"iat\":\(now + 30)") == 200)
            #expect(try await status(60, ",\"iat\":\"\(now)\"") == 401)
        }
        try await Shop.open { (shop) async throws in
            let now = shop.time.now.seconds
            for (issued, status) in [(now, 200), (now + 60, 200), (now + 61, 401)] {
                let token = UserToken.hs256(subject: "ann", expires: now + 99_999_999, extra: ",\"iat\":\(issued)")
                #expect(try await shop.send(.get, "/v1/users/ann/wallet", as: .bearer(token)).status == status)
            }
        }
    }
}
