import TillBilling
import TillSQL

extension StoreSchema {
    /// Few are ever waiting, among very many that were paid.
    static let waitingPurchases: StaticString = """
        CREATE INDEX transactions_unpaid ON transactions (account, state, number) WHERE state <> 'purchased';
        """
}

/// Purchases by how far their payment has come.
enum WaitingTable {
    /// The account's request for this product that waits for a parent.
    static func deferred(
        account: String, bundleID: String, productID: ProductID, _ session: any Connection
    ) throws -> StoreTransaction? {
        let number = try session.first(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = 'deferred' AND state <> 'purchased' AND bundle_id = ? AND product_id = ?
            ORDER BY number LIMIT 1
            """, [.text(account), .text(bundleID), .text(productID.text)]
        ) { $0.integer("number") }
        guard let number else { return nil }
        return try TransactionTable.find(number, session)
    }

    /// The account's transactions in one state that is not paid, oldest first, beginning after number `after`.
    static func all(
        _ state: StoreTransaction.State, account: String, bundleID: String?, after: Int64, limit: Int,
        _ session: any Connection
    ) throws -> [StoreTransaction] {
        try session.query(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = ? AND state <> 'purchased' AND number > ?
                AND (? IS NULL OR bundle_id = ?)
            ORDER BY number LIMIT ?
            """,
            [
                .text(account), .text(state.rawValue), .integer(after), .optional(bundleID), .optional(bundleID),
                .integer(Int64(limit)),
            ]
        ) { $0.integer("number") }.compactMap { try TransactionTable.find($0, session) }
    }

    /// The account's paid transactions, the same way.
    static func paid(
        account: String, bundleID: String?, after: Int64, limit: Int, _ session: any Connection
    ) throws -> [StoreTransaction] {
        try session.query(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = 'purchased' AND number > ? AND (? IS NULL OR bundle_id = ?)
            ORDER BY number LIMIT ?
            """,
            [.text(account), .integer(after), .optional(bundleID), .optional(bundleID), .integer(Int64(limit))]
        ) { $0.integer("number") }.compactMap { try TransactionTable.find($0, session) }
    }
}
