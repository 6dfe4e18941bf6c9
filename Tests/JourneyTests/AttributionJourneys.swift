import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillLedger

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

    /// `decision ground` of the newest decision, and the detail beside it.
    private func newest(
        _ id: String, in shop: Shop, _ environment: TillBilling.StoreEnvironment = .sandbox
    ) async throws -> (decision: String, detail: String) {
        let last = try await shop.ledger.read { connection -> EvidenceTable.Entry? in
            let stored = try TransactionTable(connection).find(TransactionID(id), in: environment)
            return try stored.flatMap { try EvidenceTable(connection).list(transaction: $0.rowID).last }
        }
        let entry = try #require(last)
        return ("\(entry.decision) \(entry.ground)", entry.detail ?? "")
    }

    @Test("Each ground of a match stands in the evidence, with the finding about the token before it (U1)")
    func evidenceOfEachGround() async throws {
        try await Shop.open { shop in
            func expect(_ payment: Payment, _ ground: String, _ details: String...) async throws {
                let (decision, detail) = try await newest(payment.id, in: shop)
                #expect(decision == "granted \(ground)" && details.allSatisfy { detail.contains($0) }, "\(detail)")
            }
            func order(_ device: String, as user: String) async throws -> OrderID {
                let body: JSONValue = ["productId": .string(Shop.points60), "deviceId": .string(device)]
                let opened = try await shop.send(.post, "/v1/orders", body, as: .user(user))
                return try #require(UniqueID(opened["id"].text))
            }
            func submit(_ payment: Payment, from device: String) async throws {
                let body: JSONValue = ["signedTransaction": .string(payment.signed), "deviceId": .string(device)]
                _ = try await shop.send(.post, "/v1/transactions", body, as: .user("ann"))
            }
            let first = try await shop.pay(token: try await order("iPad-7", as: "ann"))
            try await submit(first, from: "iPad-7")
            try await expect(first, "token")
            let account = UniqueID(high: 0x0123_4567_89AB_4CDE, low: 0x8000_0000_0000_0001)
            _ = try await shop.send(.put, "/v1/users/ann/account-tokens/\(account)")
            let second = try await shop.pay(token: account)
            _ = try await shop.submit(second.signed, as: .user("ben"))
            try await expect(second, "account_token")

            let open = try await shop.openOrder(as: "ann")
            let third = try await shop.pay(token: nil)
            _ = try await shop.submit(third.signed, as: .user("ann"), orderID: open)
            try await expect(third, "order_id", "token absent", "order_id matched")
            _ = try await order("iPad-7", as: "ann")
            let fourth = try await shop.pay(token: nil)
            try await submit(fourth, from: "iPad-7")
            try await expect(fourth, "device", "token absent", "order_id not_sent", "device matched", "device_id sent")
            let pro = try await shop.pay("com.example.learn.pro", token: nil)
            _ = try await shop.restore([pro.signed], as: .user("ann"))
            try await expect(pro, "claim", "token absent", "claim matched")
            let fifth = try await shop.pay(token: nil)
            _ = try await shop.submit(fifth.signed, as: .backend, userID: "ann")
            try await expect(fifth, "backend", "token absent", "backend matched")

            let unknown = try await shop.pay(token: UniqueID(high: 7, low: 7))
            _ = try await shop.submit(unknown.signed, as: .user("ann"), orderID: open)
            let waiting = try await newest(unknown.id, in: shop)
            #expect(waiting.decision == "quarantined unknown_token" && waiting.detail.contains("token names_no_order"))
            let decided = try await shop.send(
                .post, "/v1/quarantine/\(unknown.id)/claims",
                ["userId": "ann", "reason": "she showed the mail", "operator": "li"])
            #expect(decided.status == 200)
            try await expect(unknown, "operator", "token names_no_order", "operator matched", "she showed the mail")
            let larger = try await shop.pay(Shop.points300, token: try await shop.openOrder(as: "ann"))
            _ = try await shop.submit(larger.signed, as: .user("ann"))
            _ = try await shop.send(
                .post, "/v1/users/ann/claims", ["transactionId": .string(larger.id)], as: .user("ann"))
            try await expect(larger, "acceptance", "token contradicts_order", "acceptance matched")
        }
    }

    @Test("So do the grounds of a renewal and of Apple's order number (U1)")
    func evidenceOfRenewalAndNumber() async throws {
        try await HouseholdShop.open { house in
            let token = try await house.shop.openOrder(HouseholdShop.premium, as: "ann")
            try await house.submit(try house.period("7001", HouseholdShop.premium, 0..<30, token: token), as: "ann")
            house.go(to: 30)
            try await house.submit(try house.period("7002", HouseholdShop.premium, 30..<60, renews: true), as: "ben")
            let (decision, detail) = try await newest("7002", in: house.shop)
            #expect(decision == "granted original_transaction")
            #expect(detail.contains("token absent") && detail.contains("original_transaction matched"), "\(detail)")
        }
        try await Shop.open(environments: [.production], line: AppleProxy(), store: .production) { shop in
            let payment = try await shop.pay(token: UniqueID(high: 7, low: 7))
            let number = try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["orderId"].text
            let reply = try await shop.send(
                .post, "/v1/users/ann/claims", ["orderNumber": .string(number)], as: .user("ann"))
            #expect(reply["data"].list.map { $0.at("outcome").text } == ["granted"], "\(reply.body)")
            let (decision, detail) = try await newest(payment.id, in: shop, .production)
            #expect(decision == "granted order_number")
            #expect(detail.contains("token names_no_order") && detail.contains("order_number matched"), "\(detail)")
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
