import Testing
import TillAppStore
import TillBilling
import TillLedger
import TillServer

@Suite("An order id that Apple did not sign, in a subscription") struct TokenRepairJourneys {
    private static let basic = SubscriptionShop.prefix + "basic"
    private static let premium = SubscriptionShop.prefix + "premium"

    /// Ben subscribes, the store loses his order id, and the phone with the purchase submits it.
    private static func open(
        _ journey: (SubscriptionShop, AppleProxy, _ order: OrderID, _ paid: Payment) async throws -> Void
    ) async throws {
        let line = AppleProxy()
        try await SubscriptionShop.open(line: line) { subscriptions in
            let shop = subscriptions.shop
            let order = try await shop.openOrder(basic, as: "ben")
            let paid = try await shop.pay(basic, token: nil, account: "home", storefront: "USA")
            let reply = try await shop.submit(paid.signed, as: .user("ben"), orderID: order)
            #expect(reply["outcome"].text == "granted")
            shop.time.advance(seconds: 1)
            try await journey(subscriptions, line, order, paid)
        }
    }

    private static func token(of id: String, in shop: Shop) async throws -> String {
        try await shop.ask(.get, "/emulator/transactions/\(id)")["appAccountToken"].text
    }

    private static func decisions(about id: String, in shop: Shop) async throws -> [String] {
        try await shop.ledger.read { connection in
            let stored = try #require(try TransactionTable(connection).find(TransactionID(id), in: .sandbox))
            return try EvidenceTable(connection).list(transaction: stored.rowID).map(\.decision)
        }
    }

    @Test("It is set on the newest period, and every renewal carries it (U1)")
    func renewed() async throws {
        try await Self.open { subscriptions, line, order, paid in
            let shop = subscriptions.shop
            // A renewal comes in between: Apple sets it on that one.
            shop.time.advance(seconds: 32 * 86_400)
            try await subscriptions.doWhatIsDue()
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() >= 1)
            let newest = try await shop.ask(.get, "/emulator/subscriptions/\(paid.id)")["currentTransactionId"].text
            #expect(newest != paid.id)
            #expect(try await Self.token(of: newest, in: shop) == order.description)
            #expect(try await Self.decisions(about: paid.id, in: shop).contains("token_set"))
        }
    }

    @Test("A later purchase by another customer in it keeps its order id, and so do its renewals (U1, P8, regression)")
    func upgradedByAnother() async throws {
        try await Self.open { subscriptions, line, order, paid in
            let shop = subscriptions.shop
            // The same Apple Account, another user of the app, and the server does not know of it yet.
            let another = try await shop.openOrder(Self.premium, as: "ann")
            let upgrade = try await shop.pay(Self.premium, token: another, account: "home", storefront: "USA")
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() == 1)
            #expect(!line.asked.contains { $0.hasSuffix("/appAccountToken") })
            #expect(try await Self.token(of: upgrade.id, in: shop) == another.description)
            #expect(try await Self.decisions(about: paid.id, in: shop) == ["granted", "token_left"])

            shop.time.advance(seconds: 32 * 86_400)
            try await subscriptions.doWhatIsDue()
            #expect(try await subscriptions.rights(of: "ann") == "premium:subscribed")
            #expect(try await subscriptions.subscriptions(of: "ann").hasPrefix("active premium"))
            let rights = try await subscriptions.rights(of: "ben")
            #expect(!rights.contains("subscribed"), "\(rights)")
        }
    }

    @Test("An answer not from Apple decides nothing: the request is repeated later (U1, P9)")
    func unbelievable() async throws {
        try await Self.open { subscriptions, line, order, paid in
            let shop = subscriptions.shop
            let forged = """
                {"bundleId": "\(Shop.bundleID)", "environment": "Sandbox", "data": [{"subscriptionGroupIdentifier": "1",
                "lastTransactions": [{"originalTransactionId": "\(paid.id)", "status": 1,
                "signedTransactionInfo": "e30.e30.e30"}]}]}
                """
            line.answer = AppleResponse(
                status: 200, headers: [.init("Content-Type", "application/json")], body: Array(forged.utf8))
            let done = try await AppleTaskRuns(shop.server.ledger).runAll()
            #expect(done == 0)
            #expect(!line.asked.contains { $0.hasSuffix("/appAccountToken") })
            line.answer = nil
            shop.time.advance(seconds: 86_400)
            #expect(try await AppleTaskRuns(shop.server.ledger).runAll() >= 1)
            #expect(try await Self.token(of: paid.id, in: shop) == order.description)
        }
    }
}
