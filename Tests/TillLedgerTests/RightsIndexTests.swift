import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

/// Migration 111.
@Suite("Indices of what may give a right") struct RightsIndexTests {
    @Test("A customer's rights are read by them, and not by the index of all transactions of an order")
    func plan() async throws {
        try await withLedger(on: .sqlite) { ledger in
            let plan = try await ledger.read { connection in
                try connection.query(
                    """
                    EXPLAIN QUERY PLAN SELECT t.row_id FROM orders o CROSS JOIN transactions t ON t.order_row_id = \
                    o.row_id WHERE o.customer_id = 1 AND +t.environment = 1 AND +t.state <> 2 AND \
                    (coalesce(t.type, 0) <> 1 OR t.state = 3) UNION ALL SELECT t.row_id FROM grants g CROSS JOIN \
                    transactions t ON t.row_id = g.transaction_row_id WHERE g.customer_id = 1 AND g.entitlement IS NOT \
                    NULL
                    """, []
                ) { $0.text("detail") }
            }
            #expect(plan.contains { $0.contains("transactions_with_rights") }, "\(plan)")
            #expect(plan.contains { $0.contains("grants_with_entitlement") }, "\(plan)")
            #expect(!plan.contains { $0.contains("transactions_by_order") }, "\(plan)")
        }
    }

    @Test("The query has the condition of the index, without which SQLite would not use it")
    func condition() throws {
        let condition = "(coalesce(type, 0) <> 1 OR state = 3)"
        #expect("\(Schema.rightsIndices)".contains(condition) && "\(PostgresTables.rightsIndices)".contains(condition))
        let asked = "(coalesce(t.type, 0) <> 1 OR t.state = 3)"
        #expect(PurchaseHistory.listing.description.contains(asked))
        #expect(!PurchaseHistory.listingAll.description.contains(asked))
    }
}
