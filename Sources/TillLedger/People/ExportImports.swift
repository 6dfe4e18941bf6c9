import TillSQL

extension ExportSection {
    /// What came by an import, also what was undone.
    static let importedPurchases = ExportSection(
        name: "importedPurchases", isOfOrders: false,
        rows: """
            SELECT i.transaction_row_id AS position, i.line, i.undone_at, t.id FROM imported_purchases i JOIN \
            transactions t ON t.row_id = i.transaction_row_id WHERE i.customer_id = ?1 AND i.transaction_row_id > ?2 \
            ORDER BY i.transaction_row_id LIMIT ?3
            """,
        members: [
            Member("transactionId", "id", .text, of: "transactions.id"),
            Member("line", "line", .number, of: "imported_purchases.line"),
            Member("undoneAt", "undone_at", .time, of: "imported_purchases.undone_at"),
        ])

    static let importedBalances = ExportSection(
        name: "importedBalances", isOfOrders: false,
        rows: """
            SELECT i.row_id AS position, i.line, i.environment, i.currency, i.amount, i.stated_at, i.undone_at \
            FROM imported_balances i WHERE i.customer_id = ?1 AND i.row_id > ?2 ORDER BY i.row_id LIMIT ?3
            """,
        members: [
            Member("line", "line", .number, of: "imported_balances.line"),
            Member("environment", "environment", .environment, of: "imported_balances.environment"),
            Member("currency", "currency", .text, of: "imported_balances.currency"),
            Member("balance", "amount", .number, of: "imported_balances.amount"),
            Member("statedAt", "stated_at", .time, of: "imported_balances.stated_at"),
            Member("undoneAt", "undone_at", .time, of: "imported_balances.undone_at"),
        ])
}
