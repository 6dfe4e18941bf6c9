import Testing
import TillAppStore
import TillBilling

@Suite("To the right customer") struct AttributionJourneys {
    @Test("A pays, signs out, B's phone delivers the transaction: A gets it, B nothing (P8)", arguments: Reach.allCases)
    func accountSwitch(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "A")
            let payment = try await shop.pay(token: order)
            let delivered = try await shop.submit(payment.signed, as: .user("B"))
            #expect(delivered.status == 200)
            #expect(
                delivered.body == [
                    "outcome": "granted", "transactionId": .string(payment.id), "finish": true,
                ])
            #expect(try await shop.points(of: "A") == 60)
            #expect(try await shop.points(of: "B") == 0)
            #expect(try await shop.status(of: order) == "completed")
            let again = try await shop.submit(payment.signed, as: .user("B"))
            #expect(
                again.body == [
                    "outcome": "alreadyGranted", "transactionId": .string(payment.id), "finish": true,
                ])
        }
    }

    @Test("A borrowed proof: B submits A's proof with B's own order, and A gets it (P8, P9)")
    func borrowedProof() async throws {
        try await Shop.open { shop in
            let hers = try await shop.openOrder(as: "A")
            let his = try await shop.openOrder(as: "B")
            let payment = try await shop.pay(token: hers)
            let reply = try await shop.submit(payment.signed, as: .user("B"), orderID: his)
            #expect(reply["outcome"].text == "granted")
            #expect(reply["grant"] == .null)
            #expect(try await shop.points(of: "A") == 60)
            #expect(try await shop.points(of: "B") == 0)
            #expect(try await shop.status(of: his) == "prepared")
        }
    }

    @Test("A stolen order id: B's purchase beside A's order has no owner until B is known (U1)")
    func stolenOrderID() async throws {
        try await Shop.open { shop in
            let hers = try await shop.openOrder(as: "A")
            let payment = try await shop.pay(token: nil)
            let reply = try await shop.submit(payment.signed, as: .user("B"), orderID: hers)
            #expect(reply.status == 202)
            #expect(reply["reason"].text == "claimed_order_of_another")
            #expect(try await shop.status(of: hers) == "prepared")
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("A payer named by a user has no effect; one named by a backend does (CONTRACT §2)")
    func namedUser() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let claimed = try await shop.submit(payment.signed, as: .user("B"), userID: "B")
            #expect(claimed["outcome"].text == "quarantined")
            let order = try await shop.openOrder(as: "A")
            let hers = try await shop.pay(token: order)
            let named = try await shop.submit(hers.signed, as: .backend, userID: "B")
            #expect(named["userId"].text == "A")
            #expect(try await shop.points(of: "B") == 0)
        }
    }

    @Test("An order opened more than five minutes after the purchase can't claim it (U1 match 2)")
    func openedLater() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            shop.time.advance(seconds: 302)
            let order = try await shop.openOrder(as: "B")
            let reply = try await shop.submit(payment.signed, as: .user("B"), orderID: order)
            #expect(reply["reason"].text == "claimed_order_opened_later")
        }
    }

    @Test("An order that holds a transaction can't claim another (U1 match 2)")
    func taken() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "A")
            let (first, second) = (try await shop.pay(token: nil), try await shop.pay(token: nil))
            #expect(try await shop.submit(first.signed, as: .user("A"), orderID: order)["outcome"].text == "granted")
            let reply = try await shop.submit(second.signed, as: .user("A"), orderID: order)
            #expect(reply["reason"].text == "claimed_order_taken")
        }
    }

    @Test(
        "Another user's token, a forged, an expired, an unsigned or another algorithm's one: refused (401)",
        arguments: [
            "expired", "other secret", "none", "HS512", "no signature", "not before", "no expiry", "garbage", "empty",
        ])
    func badTokens(_ kind: String) async throws {
        try await Shop.open { shop in
            let now = shop.time.now.seconds
            let good = UserToken.hs256(subject: "A", expires: now + 60)
            let token =
                switch kind {
                case "expired": UserToken.hs256(subject: "A", expires: now)
                case "other secret":
                    UserToken.hs256(subject: "A", expires: now + 60, secret: Array(repeating: 7, count: 32))
                case "none": UserToken.hs256(subject: "A", expires: now + 60, algorithm: "none")
                case "HS512": UserToken.hs256(subject: "A", expires: now + 60, algorithm: "HS512")
                case "no signature": good.split(separator: ".").prefix(2).joined(separator: ".") + "."
                case "not before": UserToken.hs256(subject: "A", expires: now + 60, extra: ",\"nbf\":\(now + 30)")
                case "no expiry": UserToken.withoutExpiry(subject: "A")
                case "garbage": "a.b.c"
                default: ""
                }
            #expect(try await shop.send(.get, "/v1/users/A/wallet", as: .bearer(good)).status == 200)
            let reply = try await shop.send(.get, "/v1/users/A/wallet", as: .bearer(token))
            #expect(reply.status == 401)
            #expect(reply.code == "unauthorized")
            #expect(reply.headers["WWW-Authenticate"] == "Bearer")
        }
    }
}
