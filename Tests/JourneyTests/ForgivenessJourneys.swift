import Testing
import TillAppStore
import TillBilling
import TillServer

/// `wallet.debt: forgive`, for a customer with many refunds.
@Suite("Debts are forgiven a limited number of times a year") struct ForgivenessJourneys {
    private func buy(_ shop: Shop, spending reference: String) async throws -> String {
        let order = try await shop.openOrder(as: "u1")
        let payment = try await shop.pay(token: order, account: "u1")
        #expect(try await shop.submit(payment.signed, as: .user("u1"))["outcome"].text == "granted")
        _ = try await shop.send(
            .post, "/v1/users/u1/wallet/debits",
            ["currency": "points", "amount": 60, "reference": .string(reference)])
        return payment.id
    }

    private func refund(_ id: String, _ shop: Shop) async throws {
        shop.time.advance(seconds: 60)
        let refunded = try await shop.ask(.post, "/emulator/transactions/\(id)/refund")
        #expect(try await shop.submit(refunded["signedTransaction"].text, as: .user("u1"))["outcome"] == "revoked")
    }

    private func forgiven(_ shop: Shop) async throws -> [Int64] {
        try await shop.send(.get, "/v1/events?user=u1&limit=100")["data"].list
            .filter { $0.at("type").text == "wallet.forgiven" }
            .map { event in
                #expect(event.at("userId") == "u1" && !event.at("data").at("orderId").text.isEmpty)
                let postings = event.at("data").at("postings").list
                #expect(postings.map { $0.at("kind").text } == ["write_off"])
                return postings.first?.at("amount").int ?? 0
            }
    }

    @Test(
        "Of twenty refunds of spent points one is forgiven, with an event and a metric, and nineteen are owed",
        arguments: Reach.allCases)
    func twenty(_ reach: Reach) async throws {
        try await Shop.open(reach, change: { $0.debt = .forgive }) { shop in
            var bought: [String] = []
            for number in 0..<20 { bought.append(try await buy(shop, spending: "n\(number)")) }
            for id in bought { try await refund(id, shop) }
            #expect(try await shop.points(of: "u1") == -60 * 19)
            #expect(try await forgiven(shop) == [60])
            let metrics = try await shop.ledger.read { connection in
                try connection.query(
                    "SELECT count(*) AS count FROM postings WHERE kind = 'write_off'", []
                ) { $0.integer("count") }
            }
            #expect(metrics == [1])
        }
    }

    @Test("The shop sets the number, and it starts anew after 365 days")
    func limit() async throws {
        try await Shop.open(change: {
            $0.debt = .forgive
            $0.forgivenPerYear = 2
        }) { shop in
            func balance(after reference: String) async throws -> Int64 {
                try await refund(try await buy(shop, spending: reference), shop)
                return try await shop.points(of: "u1")
            }
            #expect(try await balance(after: "a") == 0)
            #expect(try await balance(after: "b") == 0)
            #expect(try await balance(after: "c") == -60)
            shop.time.advance(seconds: 366 * 86_400)
            // An earlier debt remains, and this purchase pays it: its own refund is then missing.
            _ = try await balance(after: "d")
            #expect(try await forgiven(shop).count == 3)
        }
    }

    @Test("A guest's forgiven debts count for their account, and for others with the same Apple Account (P12)")
    func guests() async throws {
        for isMerged in [true, false] {
            try await Shop.open(change: { $0.debt = .forgive }) { shop in
                for (buyer, reference) in [("guest-7", "g"), ("ann", "a")] {
                    let account = isMerged ? buyer : "one phone"
                    let payment = try await shop.purchase(as: buyer, account: account)
                    _ = try await shop.send(
                        .post, "/v1/users/\(buyer)/wallet/debits",
                        ["currency": "points", "amount": 60, "reference": .string(reference)])
                    #expect(try await shop.refund(payment.id, by: buyer)["outcome"].text == "revoked")
                    guard buyer == "guest-7" else { continue }
                    #expect(try await shop.points(of: buyer) == 0)
                    if isMerged { #expect(try await shop.merge(buyer, into: "ann").status == 201) }
                }
                #expect(try await shop.points(of: "ann") == -60, "merged: \(isMerged)")
            }
        }
    }
}
