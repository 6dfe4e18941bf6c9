import TillBilling

/// A purchase in quarantine that Apple signed for a user's order of something else.
public struct ClaimablePurchase: Sendable, Hashable {
    public let rowID: Int64
    public let id: TransactionID
    public let productID: ProductID
    public let quantity: Int
    public let environment: StoreEnvironment
    public let purchasedAt: Instant
    /// The order whose id is the token of the purchase.
    public let order: OrderTable.Stored
}

extension TransactionTable {
    /// Purchases that wait for the acceptance of a user, or of an account that guests were merged into; newest first,
    /// from before a row id.
    public func claimable(
        by user: UserID, in environment: StoreEnvironment, before rowID: Int64, limit: Int
    ) throws -> [ClaimablePurchase] {
        let found = try connection.query(
            """
            WITH RECURSIVE mine (id) AS (SELECT \(customer: 1) AS id UNION SELECT g.customer_id FROM mine CROSS JOIN \
            customers g ON g.merged_into = mine.id) SELECT t.row_id, t.id, t.product, t.quantity, t.environment, \
            t.purchased_at, o.row_id AS order_row_id FROM mine CROSS JOIN orders o ON o.customer_id = mine.id \
            CROSS JOIN transactions t ON t.token = o.id WHERE t.order_row_id IS NULL AND t.token IS NOT NULL AND \
            t.state = 2 AND t.quarantine = 'contradicts_order' AND t.environment = ?2 AND t.row_id < ?3 ORDER BY \
            t.row_id DESC LIMIT ?4
            """,
            [.text(user.text), environment.column, .integer(rowID), .integer(Int64(limit))]
        ) { row in
            (
                rowID: row.integer("row_id"), id: TransactionID(row.text("id")),
                product: ProductID(row.text("product")),
                quantity: Int(row.integer("quantity")), environment: try row.environment("environment"),
                at: row.instant("purchased_at"),
                order: row.integer("order_row_id")
            )
        }
        let orders = OrderTable(connection)
        return try found.compactMap { purchase in
            try orders.find(rowID: purchase.order).map { order in
                ClaimablePurchase(
                    rowID: purchase.rowID, id: purchase.id, productID: purchase.product,
                    quantity: purchase.quantity, environment: purchase.environment, purchasedAt: purchase.at,
                    order: order)
            }
        }
    }
}
