import TillBilling

/// A purchase in quarantine that Apple signed for a user's order of something else.
public struct ClaimablePurchase: Sendable, Hashable {
    public let sequence: Int64
    public let id: TransactionID
    public let productID: ProductID
    public let quantity: Int
    public let environment: Environment
    public let purchasedAt: Instant
    /// The order whose id is the token of the purchase.
    public let order: OrderTable.Stored
}

extension TransactionTable {
    /// Purchases that wait for the acceptance of a user, or of an account that guests were merged into; newest first,
    /// from before a row id.
    public func claimable(
        by user: UserID, in environment: Environment, before sequence: Int64, limit: Int
    ) throws -> [ClaimablePurchase] {
        let found = try session.query(
            """
            WITH RECURSIVE mine (id) AS (SELECT \(customer: 1) AS id UNION SELECT g.customer_id FROM mine CROSS JOIN \
            customers g ON g.merged_into = mine.id) SELECT t.sequence, t.id, t.product, t.quantity, t.environment, \
            t.purchased_at, o.sequence AS order_sequence FROM mine CROSS JOIN orders o ON o.customer_id = mine.id \
            CROSS JOIN transactions t ON t.token = o.id WHERE t.order_sequence IS NULL AND t.token IS NOT NULL AND \
            t.state = 2 AND t.quarantine = 'contradicts_order' AND t.environment = ?2 AND t.sequence < ?3 ORDER BY \
            t.sequence DESC LIMIT ?4
            """,
            [.text(user.text), environment.column, .integer(sequence), .integer(Int64(limit))]
        ) { row in
            (
                sequence: row.integer("sequence"), id: TransactionID(row.text("id")),
                product: ProductID(row.text("product")),
                quantity: Int(row.integer("quantity")), environment: try row.environment("environment"),
                at: row.instant("purchased_at"),
                order: row.integer("order_sequence")
            )
        }
        let orders = OrderTable(session)
        return try found.compactMap { purchase in
            try orders.find(sequence: purchase.order).map { order in
                ClaimablePurchase(
                    sequence: purchase.sequence, id: purchase.id, productID: purchase.product,
                    quantity: purchase.quantity, environment: purchase.environment, purchasedAt: purchase.at,
                    order: order)
            }
        }
    }
}
