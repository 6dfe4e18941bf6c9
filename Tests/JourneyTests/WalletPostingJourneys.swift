import Testing
import TillBilling
import TillJSON

@Suite("Bonuses, corrections and lots") struct WalletPostingJourneys {
    private func buy(_ shop: Shop) async throws -> String {
        let order = try await shop.openOrder(as: "u1")
        let payment = try await shop.pay(token: order)
        _ = try await shop.submit(payment.signed, as: .user("u1"))
        return payment.id
    }

    private func post(
        _ shop: Shop, _ what: String, _ amount: Int64, _ reference: String, currency: String = "points",
        _ more: [String: JSONValue] = [:], as party: Party = .backend, user: String = "u1"
    ) async throws -> Reply {
        let usual: [String: JSONValue] = [
            "currency": .string(currency), "amount": .int(amount), "reference": .string(reference),
        ]
        return try await shop.send(
            .post, "/v1/users/\(user)/wallet/\(what)", .object(usual.merging(more) { _, new in new }), as: party)
    }

    @Test("A bonus is given once under its reference, and only by a backend", arguments: Reach.allCases)
    func bonus(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let first = try await post(shop, "bonuses", 5, "spring", ["reason": "Spring"])
            #expect(first.status == 201 && first["balance"].int == 5 && first["reason"].text == "Spring")
            let again = try await post(shop, "bonuses", 5, "spring", ["reason": "Spring"])
            #expect(again.status == 200 && again["balance"].int == 5 && again["at"] == first["at"])
            for (amount, reason) in [(6, "Spring"), (5, "Summer")] as [(Int64, String)] {
                let other = try await post(shop, "bonuses", amount, "spring", ["reason": .string(reason)])
                #expect(other.status == 409 && other.code == "reference_conflict")
            }
            #expect(try await post(shop, "bonuses", 5, "spring", ["reason": "Spring"], user: "u2").status == 409)
            #expect(try await post(shop, "bonuses", 5, "x", as: .user("u1")).status == 403)
            #expect(try await post(shop, "bonuses", 5, "x", as: .anonymous).status == 401)
            for amount in [0, -5, 1_000_000_000_001] as [Int64] {
                #expect(try await post(shop, "bonuses", amount, "x").code == "invalid_field")
            }
            // A debit may carry the same reference: each kind has its own references.
            #expect(try await post(shop, "debits", 2, "spring").status == 201)
            let postings = try await shop.send(.get, "/v1/users/u1/wallet/postings", as: .user("u1"))
            #expect(postings["data"].list.map { $0.at("kind").text } == ["debit", "bonus"])
            #expect(postings["data"].list.last?.at("contra").text == "given")
            #expect(postings["data"].list.last?.at("reason").text == "Spring")
        }
    }

    @Test("A correction needs a reason and an operator, and goes below zero only if allowed (U5)")
    func correction() async throws {
        try await Shop.open { shop in
            _ = try await buy(shop)
            let why: [String: JSONValue] = ["reason": "Given twice", "operator": "anna"]
            for missing in ["reason", "operator"] {
                var less = why
                less[missing] = nil
                let reply = try await post(shop, "corrections", -10, "t1", less)
                #expect(reply.status == 400 && reply["detail"].text.contains(missing))
                less[missing] = ""
                #expect(try await post(shop, "corrections", -10, "t1", less).status == 400)
            }
            #expect(try await post(shop, "corrections", 0, "t1", why).code == "invalid_field")
            #expect(try await post(shop, "corrections", .min, "t1", why).code == "invalid_field")
            let first = try await post(shop, "corrections", -10, "t1", why)
            #expect(first.status == 201 && first["balance"].int == 50 && first["operator"].text == "anna")
            #expect(try await post(shop, "corrections", -10, "t1", why).status == 200)
            let other = why.merging(["operator": "wang"]) { _, new in new }
            #expect(try await post(shop, "corrections", -10, "t1", other).status == 409)
            let deep = try await post(shop, "corrections", -60, "t2", why)
            #expect(deep.status == 409 && deep.code == "insufficient_funds")
            let allowed = why.merging(["allowDebt": true]) { _, new in new }
            #expect(try await post(shop, "corrections", -60, "t2", allowed)["balance"].int == -10)
            #expect(try await post(shop, "debits", 1, "d").code == "insufficient_funds")
            #expect(try await post(shop, "corrections", 25, "t3", why)["balance"].int == 15)
            #expect(try await post(shop, "corrections", 25, "t4", why, as: .user("u1")).status == 403)
            let newest = try await shop.send(.get, "/v1/users/u1/wallet/postings?limit=1")["data"].list.first
            #expect(newest?.at("operator").text == "anna" && newest?.at("contra").text == "corrected")
        }
    }

    @Test("A kind of points that no product gives is refused with the nearest name, unless a user has a balance of it")
    func currencies() async throws {
        try await Shop.open { shop in
            for what in ["debits", "bonuses"] {
                let slip = try await post(shop, what, 1, "s", currency: "pionts")
                #expect(slip.status == 422 && slip.code == "unknown_currency")
                #expect(slip["detail"].text.contains("Did you mean \"points\"?"))
            }
            let why: [String: JSONValue] = ["reason": "r", "operator": "anna"]
            #expect(try await post(shop, "corrections", 1, "s", currency: "zzz", why).code == "unknown_currency")
            // Points of a product that is no longer sold.
            try await shop.ledger.write { connection in
                try connection.execute("INSERT INTO customers (user_id, first_seen) VALUES ('u1', 1)", [])
                _ = try connection.execute(
                    """
                    INSERT INTO balances (environment, customer_id, currency, amount) VALUES (2, \(customer: 1), \
                    'gems', 0)
                    """,
                    [.text("u1")])
            }
            #expect(try await post(shop, "bonuses", 3, "g", currency: "gems").status == 201)
            #expect(try await post(shop, "debits", 1, "g", currency: "gems").status == 201)
            #expect(try await post(shop, "bonuses", 3, "g2", currency: "gems", user: "u2").status == 422)
        }
    }

    @Test("Lots show the remainder of each purchase, to the user and to the backend, page by page (U5)")
    func lots() async throws {
        try await Shop.open { shop in
            let first = try await buy(shop)
            shop.time.advance(seconds: 1)
            _ = try await post(shop, "bonuses", 5, "b1", ["reason": "Spring"])
            shop.time.advance(seconds: 1)
            let second = try await buy(shop)
            _ = try await post(shop, "debits", 63, "d1")
            let path = "/v1/users/u1/wallet/lots"
            let all = try await shop.send(.get, path + "?currency=points", as: .user("u1"))
            #expect(all.status == 200 && all["balance"].int == 62 && all["debt"].int == 0 && all["hasMore"] == false)
            let reported = all["data"].list.map { lot in
                "\(lot.at("kind").text) \(lot.at("used").int ?? -1)+\(lot.at("remaining").int ?? -1)"
            }
            #expect(reported == ["purchase 0+60", "bonus 3+2", "purchase 60+0"])
            #expect(all["data"].list.map { $0.at("transactionId").text } == [second, "", first])
            let page = try await shop.send(.get, path + "?currency=points&limit=2")
            #expect(page["hasMore"] == true)
            let rest = try await shop.send(
                .get, path + "?currency=points&limit=2&cursor=\(page["nextCursor"].text)")
            #expect(rest["data"].list.map { $0.at("transactionId").text } == [first] && rest["nextCursor"] == .null)
            #expect(try await shop.send(.get, path).code == "invalid_field")
            #expect(try await shop.send(.get, path + "?currency=nothing")["data"] == [])
            #expect(try await shop.send(.get, path + "?currency=points", as: .user("u2")).status == 403)
        }
    }

    @Test("Concurrent debits, refunds and bonuses never overdraw, and balances equal their postings (U5)")
    func crowd() async throws {
        try await Shop.open(change: { $0.debt = .forgive }) { shop in
            var payments: [String] = []
            for _ in 0..<3 { payments.append(try await buy(shop)) }
            shop.time.advance(seconds: 60)
            let refunded = try await shop.ask(.post, "/emulator/transactions/\(payments[0])/refund")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<80 {
                    group.addTask { try await post(shop, "debits", 7, "n\(number)").status }
                    if number % 20 == 0 { group.addTask { try await post(shop, "bonuses", 5, "b\(number)").status } }
                }
                group.addTask {
                    try await shop.submit(refunded["signedTransaction"].text, as: .user("u1")).status
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let spent = statuses.filter { $0 == 201 }.count - 4
            #expect(Set(statuses) == [200, 201, 409] && spent >= (120 / 7) && spent <= (200 / 7))
            let lots = try await shop.send(.get, "/v1/users/u1/wallet/lots?currency=points")
            let balance = try await shop.points(of: "u1")
            #expect((0..<7).contains(balance) && lots["balance"].int == balance && lots["debt"].int == 0)
        }
    }
}
