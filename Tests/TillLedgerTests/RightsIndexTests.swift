import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

/// Migrations 111, 113 and 117.
@Suite("The list of what may give a right") struct RightsIndexTests {
    @Test("A customer's rights are read by the list, and none of their other orders are gone through")
    func plan() async throws {
        try await withLedger(on: .sqlite) { ledger in
            let plan = try await ledger.read { connection in
                try connection.query(
                    """
                    EXPLAIN QUERY PLAN SELECT t.row_id FROM purchases_with_rights r CROSS JOIN transactions t ON \
                    t.row_id = r.transaction_row_id CROSS JOIN orders o ON o.row_id = t.order_row_id WHERE \
                    r.customer_id = 1 AND +o.customer_id = r.customer_id AND +t.environment = 1 AND +t.state <> 2 AND \
                    (coalesce(t.type, 0) <> 1 OR t.state = 3) UNION ALL SELECT t.row_id FROM grants g CROSS JOIN \
                    transactions t ON t.row_id = g.transaction_row_id WHERE g.customer_id = 1 AND g.entitlement IS NOT \
                    NULL
                    """, []
                ) { $0.text("detail") }
            }
            #expect(plan.contains { $0.hasPrefix("SEARCH r USING PRIMARY KEY") }, "\(plan)")
            #expect(plan.contains { $0.contains("grants_with_entitlement") }, "\(plan)")
            #expect(!plan.contains { $0.contains("orders_by_user") || $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }

    @Test("The query asks for no more than what the triggers list")
    func condition() throws {
        let listed = "(coalesce(NEW.type, 0) <> 1 OR NEW.state = 3)"
        for text in ["\(Schema.purchasesWithRights)", "\(PostgresTables.purchasesWithRights)"] {
            #expect(text.split(separator: "CREATE TRIGGER").dropFirst().allSatisfy { $0.contains(listed) })
        }
        let asked = "(coalesce(t.type, 0) <> 1 OR t.state = 3)"
        #expect(PurchaseHistory.listing.description.contains(asked))
        #expect(!PurchaseHistory.listingAll.description.contains(asked))
    }

    @Test(
        "A transaction is listed when it is recorded, linked to an order, revoked, or of another type; points are not",
        arguments: LedgerDatabase.each)
    func listed(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                for customer in Int64(1)...2 {
                    try connection.execute(
                        "INSERT INTO customers (customer_id, user_id, first_seen) VALUES (?1, ?2, 0)",
                        [.integer(customer), .text("customer \(customer)")])
                    try connection.execute(
                        """
                        INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, \
                        created_at, updated_at, moves, id_source) VALUES (?1, ?2, ?1, 'p', 1, 0, 1, 'CNY', 7, 7, 0, 1)
                        """, [.integer(customer), .blob([UInt8](repeating: UInt8(customer), count: 16))])
                }
                func insert(
                    _ number: Int, _ type: ProductType?, order: Int64?, _ state: RecordedTransaction.State = .granted
                ) throws -> Int64 {
                    try TransactionTable(connection).insert(
                        PaidTransaction(
                            id: TransactionID("t\(number)"), originalID: TransactionID("t\(number)"),
                            productID: ProductID("p"), quantity: 1, environment: .sandbox, token: nil,
                            purchasedAt: Instant(milliseconds: 7), signedAt: Instant(milliseconds: 7), revokedAt: nil,
                            isRenewal: false, isFromReceipt: false, price: nil, terms: TransactionTerms(type: type)),
                        state: state, quarantine: state == .quarantined ? .unknownToken : nil, orderRowID: order,
                        at: Instant(milliseconds: 7))
                }
                func change(_ row: Int64, _ statement: SQL) throws {
                    try connection.execute(statement, [.integer(row)])
                }
                // Names the transactions too: the driver of PostgreSQL remembers what it has read of other tables.
                func listed() throws -> [Int64] {
                    try connection.query(
                        """
                        SELECT r.transaction_row_id FROM purchases_with_rights r JOIN transactions t ON t.row_id = \
                        r.transaction_row_id WHERE r.customer_id = 1 ORDER BY r.transaction_row_id
                        """, []
                    ) { $0.integer("transaction_row_id") }
                }
                let points = try insert(1, .consumable, order: 1)
                #expect(try listed() == [])
                let (plan, unknown) = (try insert(2, .autoRenewable, order: 1), try insert(3, nil, order: 1))
                let linked = try insert(4, .nonConsumable, order: nil, .quarantined)
                #expect(try listed() == [plan, unknown])
                try change(linked, "UPDATE transactions SET order_row_id = 1 WHERE row_id = ?1")
                #expect(try listed() == [plan, unknown, linked])
                try change(points, "UPDATE transactions SET state = 3 WHERE row_id = ?1")
                #expect(try listed() == [points, plan, unknown, linked])
                let other = try insert(5, .consumable, order: 2)
                try change(other, "UPDATE transactions SET order_row_id = 1 WHERE row_id = ?1")
                #expect(try listed() == [points, plan, unknown, linked])
                try change(other, "UPDATE transactions SET type = 2 WHERE row_id = ?1")
                #expect(try listed() == [points, plan, unknown, linked, other])
                try change(points, "UPDATE transactions SET state = 1 WHERE row_id = ?1")
                #expect(try listed() == [points, plan, unknown, linked, other])
                let revoked = try insert(6, .consumable, order: 1, .revoked)
                #expect(try listed() == [points, plan, unknown, linked, other, revoked])
            }
        }
    }
}
