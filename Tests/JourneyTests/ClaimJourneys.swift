import Testing
import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillServer

@Suite("Out of quarantine") struct ClaimJourneys {
    /// Order numbers exist in production only.
    private static func open(
        _ line: AppleProxy? = AppleProxy(), _ journey: (Shop) async throws -> Void
    ) async throws {
        try await Shop.open(environments: [.production], line: line, store: .production, journey)
    }

    private func number(of payment: Payment, in shop: Shop) async throws -> String {
        let number = try await shop.ask(.get, "/emulator/transactions/\(payment.id)")["orderId"].text
        try #require(!number.isEmpty)
        return number
    }

    private func claim(_ number: String, in shop: Shop, as user: String) async throws -> Reply {
        try await shop.send(.post, "/v1/users/\(user)/claims", ["orderNumber": .string(number)], as: .user(user))
    }

    private func points(of user: String, in shop: Shop) async throws -> Int64 {
        try await shop.points(of: user, environment: "production")
    }

    @Test("A customer shows Apple's order number and gets the unclaimed purchase, once (U1)")
    func byNumber() async throws {
        try await Self.open { shop in
            let payment = try await shop.pay(token: nil)
            #expect(try await shop.submit(payment.signed, as: .user("ben"))["outcome"].text == "quarantined")
            let number = try await number(of: payment, in: shop)
            let reply = try await claim(" \(number.lowercased()) ", in: shop, as: "ann")
            #expect(reply.status == 200 && reply["state"].text == "answered")
            let claimed = try #require(reply["data"].list.first)
            #expect(claimed.at("outcome").text == "granted" && claimed.at("transactionId").text == payment.id)
            #expect(try await points(of: "ann", in: shop) == 60)
            let order = try await shop.send(.get, "/v1/orders/\(claimed.at("orderId").text)", as: .user("ann"))
            #expect(order["status"].text == "completed" && order["transactionId"].text == payment.id)

            #expect(try await claim(number, in: shop, as: "ann")["data"].list.first?.at("outcome").text == "owned")
            let other = try await claim(number, in: shop, as: "eve")
            let invented = try await claim("MZZZZZZZZZ", in: shop, as: "eve")
            #expect(other.status == 422 && other.code == "unknown_order_number")
            #expect(Self.sentences(other) == Self.sentences(invented), "an order number tells nothing of another's")
            #expect(try await points(of: "eve", in: shop) == 0)
            let list = try await shop.send(.get, "/v1/users/ann/claims", as: .user("ann"))
            #expect(list["data"].list.map { $0.at("state").text } == ["answered", "answered"])
        }
    }

    @Test("A purchase that no other source delivered is found by its number; a token still decides its owner (U1)")
    func neverSeen() async throws {
        try await Self.open { shop in
            let lost = try await shop.pay(token: nil)
            let reply = try await claim(try await number(of: lost, in: shop), in: shop, as: "ann")
            #expect(reply["data"].list.map { $0.at("outcome").text } == ["granted"])
            let hers = try await shop.openOrder(as: "ann")
            let paid = try await shop.pay(token: hers)
            // Eve read the order number in Ann's mail.
            let stolen = try await claim(try await number(of: paid, in: shop), in: shop, as: "eve")
            #expect(stolen.status == 422 && stolen.code == "unknown_order_number")
            _ = try await shop.ask(.post, "/emulator/transactions/\(paid.id)/refund")
            let refunded = try await claim(try await number(of: paid, in: shop), in: shop, as: "eve")
            #expect(refunded.status == 422 && refunded.code == "unknown_order_number")
            let listed = try await shop.send(.get, "/v1/users/eve/claims", as: .user("eve"))["data"].list
            #expect(listed.map { $0.at("state").text } == ["unknown", "unknown"])
            #expect(listed.allSatisfy { $0.at("data").list.isEmpty })
            #expect(try await points(of: "ann", in: shop) == 60)
            #expect(try await points(of: "eve", in: shop) == 0)
        }
    }

    /// All members of an answer except its own id.
    private static func sentences(_ reply: Reply) -> [JSONValue] {
        ["type", "title", "status", "code", "detail", "retryable"].map { reply[$0] }
    }

    @Test("A token of an order that never existed: a claim gets the purchase, under an id of the server's own (U1)")
    func unknownToken() async throws {
        try await Self.open { shop in
            let token = UniqueID(high: 0x0123_4567_89AB_4CDE, low: 0x8000_0000_0000_0001)
            let payment = try await shop.pay(token: token)
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["reason"].text == "unknown_token")
            let reply = try await claim(try await number(of: payment, in: shop), in: shop, as: "ann")
            #expect(reply["data"].list.map { $0.at("outcome").text } == ["granted"])
            #expect(reply["data"].list.first?.at("orderId").text != token.description)
        }
    }

    @Test("Apple can't be asked: the claim is recorded, and the server continues it by itself (U1, U7)")
    func outage() async throws {
        let line = AppleProxy()
        try await Self.open(line) { shop in
            let payment = try await shop.pay(token: nil)
            let number = try await number(of: payment, in: shop)
            line.outage = AppleConnectionError(.timedOut)
            let waiting = try await claim(number, in: shop, as: "ann")
            #expect(waiting.status == 202 && waiting["state"].text == "waiting")
            // Repeated requests make no second claim, and ask Apple nothing.
            let asked = line.asked.count
            for _ in 0..<20 {
                let again = try await claim(number, in: shop, as: "ann")
                #expect(again.status == 202 && again["id"] == waiting["id"])
            }
            #expect(line.asked.count == asked)
            shop.time.advance(seconds: 3_600)
            #expect(try await WaitingClaims(shop.server).askAll() == 0)
            line.outage = nil
            shop.time.advance(seconds: 3_600)
            #expect(try await WaitingClaims(shop.server).askAll() == 1)
            #expect(try await points(of: "ann", in: shop) == 60)
            let list = try await shop.send(.get, "/v1/users/ann/claims", as: .user("ann"))
            #expect(list["data"].list.map { $0.at("state").text } == ["answered"])
        }
    }

    @Test("Nine order numbers of one customer delay another customer's by one request (U1)")
    func turns() async throws {
        let line = AppleProxy()
        try await Self.open(line) { shop in
            line.outage = AppleConnectionError(.timedOut)
            for number in 0..<9 {
                let reply = try await claim("MGUESS\(number)XYZ", in: shop, as: "eve")
                #expect(reply.status == 202, "\(reply.body)")
            }
            shop.time.advance(seconds: 1)
            let payment = try await shop.pay(token: nil)
            let number = try await number(of: payment, in: shop)
            #expect(try await claim(number, in: shop, as: "ann").status == 202)
            shop.time.advance(seconds: 3_600)
            let now = shop.time.now
            let next = try await shop.ledger.read { try ClaimTable($0).due(at: now, limit: 2) }
            #expect(next.map(\.user.text) == ["eve", "ann"])
            line.outage = nil
            #expect(try await WaitingClaims(shop.server).askAll() == 10)
            #expect(try await points(of: "ann", in: shop) == 60)
        }
    }

    @Test("Guessing is limited: ten numbers a day, each recorded; an unknown number is reported as unknown (U1, P9)")
    func guessing() async throws {
        try await Self.open { shop in
            for guess in 0..<10 {
                let reply = try await claim("MAAAAAAAAA\(guess)", in: shop, as: "eve")
                #expect(reply.status == 422 && reply.code == "unknown_order_number")
            }
            let tooMany = try await claim("MAAAAAAAAB1", in: shop, as: "eve")
            #expect(tooMany.status == 429 && tooMany.code == "too_many_requests")
            #expect(tooMany.headers["Retry-After"] != nil)
            #expect(try await claim("MAAAAAAAAB1", in: shop, as: "ann").status == 422, "others are not held up")
            let list = try await shop.send(.get, "/v1/users/eve/claims?limit=100", as: .user("eve"))
            #expect(list["data"].list.count == 10)
            shop.time.advance(seconds: 86_401)
            #expect(try await claim("MAAAAAAAAB1", in: shop, as: "eve").status == 422)
            for bad in ["", "../history", String(repeating: "M", count: 65), "MÄ"] {
                #expect(try await claim(bad, in: shop, as: "ann").status == 400, "\(bad)")
            }
            let foreign = try await shop.send(
                .post, "/v1/users/ann/claims", ["orderNumber": "MAAAAAAAAA1"], as: .user("eve"))
            #expect(foreign.status == 403)
        }
    }

    @Test("A server that can't look up order numbers says so, and records nothing (U1)")
    func noLookup() async throws {
        let settings: [(environment: TillBilling.StoreEnvironment, line: AppleProxy?)] = [
            (.production, nil), (.sandbox, AppleProxy()),
        ]
        for (environment, line) in settings {
            try await Shop.open(environments: [environment], line: line) { shop in
                let reply = try await claim("MAAAAAAAAA1", in: shop, as: "ann")
                #expect(reply.status == 501 && reply.code == "no_order_lookup")
                #expect(try await shop.send(.get, "/v1/users/ann/claims")["data"].list.isEmpty)
            }
        }
    }

    @Test("An operator decides with a reason; the same decision again is the same grant (U1)")
    func byOperator() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let payment = try await shop.pay(token: nil)
            _ = try await shop.submit(payment.signed, as: .user("ben"))
            let list = try await shop.send(.get, "/v1/quarantine")
            let entry = try #require(list["data"].list.first)
            #expect(entry.at("transactionId").text == payment.id && entry.at("reason").text == "no_owner")
            #expect(entry.at("evidence").array?.first?["ground"]?.string == "no_owner")
            let body: JSONValue = ["userId": "ann", "reason": "showed Apple's bill, ticket 7", "operator": "li"]
            let target = "/v1/quarantine/\(payment.id)/claims"
            #expect(try await shop.send(.post, target, body, as: .user("ann")).status == 403)
            let reply = try await shop.send(.post, target, body)
            #expect(reply.status == 200 && reply["outcome"].text == "granted" && reply["userId"].text == "ann")
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.send(.post, target, body)["outcome"].text == "alreadyGranted")
            let other: JSONValue = ["userId": "eve", "reason": "r", "operator": "li"]
            let late = try await shop.send(.post, target, other)
            #expect(late.status == 409 && late.code == "not_in_quarantine")
            #expect(try await shop.send(.get, "/v1/quarantine")["data"].list.isEmpty)
            let missing = try await shop.send(.post, "/v1/quarantine/1/claims", body)
            #expect(missing.status == 404 && missing.code == "unknown_transaction")
            let evidence = try await shop.ledger.read { connection in
                let stored = try TransactionTable(connection).find(TransactionID(payment.id), in: .sandbox)
                return try EvidenceTable(connection).list(transaction: stored?.rowID ?? 0)
            }
            #expect(evidence.last?.ground == "operator" && evidence.last?.caller == "key:backend")
            #expect(evidence.last?.detail?.hasSuffix("reason showed Apple's bill, ticket 7 (li)") == true)
            // Apple gets the order id, and the queue on the phone is cleared.
            shop.time.advance(seconds: 600)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 2)
            let now = try await shop.ask(.get, "/emulator/transactions/\(payment.id)")
            #expect(now["appAccountToken"].text == reply["orderId"].text && now["finished"] == true)
        }
    }

    @Test("An operator decides the owner of an upgrade in another's subscription; its renewals follow (U1, regression)")
    func upgradeOfAnother() async throws {
        try await SubscriptionShop.open(line: AppleProxy()) { subscriptions in
            let (shop, prefix) = (subscriptions.shop, SubscriptionShop.prefix)
            let order = try await shop.openOrder(prefix + "basic", as: "ben")
            _ = try await shop.pay(prefix + "basic", token: order, account: "home", storefront: "USA")
            shop.time.advance(seconds: 60)
            // The same Apple Account, another user of the app, and the store loses the order's id.
            let upgrade = try await shop.pay(prefix + "premium", token: nil, account: "home", storefront: "USA")
            try await subscriptions.doWhatIsDue()
            #expect(try await subscriptions.rights(of: "ann").isEmpty)
            let reply = try await shop.send(
                .post, "/v1/quarantine/\(upgrade.id)/claims",
                ["userId": "ann", "reason": "showed Apple's bill", "operator": "li"])
            #expect(reply.status == 200 && reply["userId"].text == "ann", "\(reply.body)")
            shop.time.advance(seconds: 32 * 86_400)
            try await subscriptions.doWhatIsDue()
            #expect(try await subscriptions.rights(of: "ann") == "premium:subscribed")
            let left = try await subscriptions.rights(of: "ben")
            #expect(!left.contains("subscribed"), "\(left)")
        }
    }

    @Test("An operator can't give away a purchase signed for another customer, or of an unsold product (U1, P8)")
    func notClaimable() async throws {
        try await Shop.open { shop in
            let order = try await shop.openOrder(as: "ann", quantity: 2)
            let contradicting = try await shop.pay(token: order)
            _ = try await shop.submit(contradicting.signed, as: .user("ann"))
            let unlisted = try await shop.pay("com.example.learn.unlisted", token: nil)
            _ = try await shop.submit(unlisted.signed, as: .user("ann"))
            for (payment, reason) in [(contradicting, "contradicts_order"), (unlisted, "unknown_product")] {
                let reply = try await shop.send(
                    .post, "/v1/quarantine/\(payment.id)/claims",
                    ["userId": "eve", "reason": "r", "operator": "li"])
                #expect(reply.status == 409 && reply.code == "not_claimable", "\(reply.body)")
                #expect(reply["detail"].text == reason)
            }
            let hers = try await shop.send(
                .post, "/v1/quarantine/\(contradicting.id)/claims",
                ["userId": "ann", "reason": "paid for one", "operator": "li"])
            #expect(hers["outcome"].text == "granted")
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.points(of: "eve") == 0)
        }
    }
}
