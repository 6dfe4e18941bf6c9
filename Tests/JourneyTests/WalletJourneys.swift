import Testing
import TillAppStore
import TillBilling

@Suite("Wallets") struct WalletJourneys {
    private func funded(_ shop: Shop) async throws {
        let order = try await shop.openOrder(as: "u1")
        _ = try await shop.submit(shop.pay(token: order).signed, as: .user("u1"))
    }

    private func debit(
        _ shop: Shop, _ amount: Int64, _ reference: String, as party: Party = .backend
    ) async throws -> Reply {
        try await shop.send(
            .post, "/v1/users/u1/wallet/debits",
            ["currency": "points", "amount": .int(amount), "reference": .string(reference)], as: party)
    }

    @Test("A backend spends points; a repeated reference is the same debit", arguments: Reach.allCases)
    func debits(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            try await funded(shop)
            let first = try await debit(shop, 40, "lesson-1")
            #expect(first.status == 201)
            #expect(first["balance"].int == 20)
            let again = try await debit(shop, 40, "lesson-1")
            #expect(again.status == 200)
            #expect(again["balance"].int == 20)
            #expect(try await debit(shop, 41, "lesson-1").code == "reference_conflict")
            let poor = try await debit(shop, 21, "lesson-2")
            #expect(poor.status == 409)
            #expect(poor.code == "insufficient_funds")
            #expect(try await debit(shop, 20, "lesson-2").status == 201)
            #expect(try await shop.points(of: "u1") == 0)
        }
    }

    @Test("Only a backend spends; an app's user can't spend even its own points")
    func onlyBackends() async throws {
        try await Shop.open { shop in
            try await funded(shop)
            #expect(try await debit(shop, 1, "x", as: .user("u1")).status == 403)
            #expect(try await debit(shop, 1, "x", as: .anonymous).status == 401)
            #expect(try await shop.points(of: "u1") == 60)
        }
    }

    @Test("Sixty spenders at once never overdraw", arguments: Reach.allCases)
    func concurrent(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            try await funded(shop)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<60 { group.addTask { try await debit(shop, 7, "n\(number)").status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 201 }.count == 8)
            #expect(statuses.filter { $0 == 409 }.count == 52)
            #expect(try await shop.points(of: "u1") == 4)
        }
    }

    @Test("Invalid debits are refused", arguments: [Int64(0), -5, 1_000_000_000_001, .max])
    func unusable(_ amount: Int64) async throws {
        try await Shop.open { shop in
            try await funded(shop)
            #expect(try await debit(shop, amount, "x").code == "invalid_field")
            #expect(try await debit(shop, 1, "").code == "invalid_field")
            #expect(try await debit(shop, 1, String(repeating: "r", count: 129)).code == "invalid_field")
            #expect(try await debit(shop, 1, "a\u{0}b").code == "invalid_field")
        }
    }
}
