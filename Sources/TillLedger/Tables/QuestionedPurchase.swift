import TillBilling
import TillSQL

/// The ledger's data about the purchase in a request from Apple. It has no table of its own.
public struct QuestionedPurchase: Sendable, Hashable {
    public let sequence: Int64
    public let state: RecordedTransaction.State
    public let productID: ProductID
    public let purchasedAt: Instant
    public let type: ProductType?
    /// Nil if nothing was granted for it.
    public let grantID: UniqueID?
    /// The owner of the grant, or else the user of the order that it pays. The token is not considered here: owner
    /// matching decides about it.
    public var userID: UserID?

    /// Nil if the ledger does not know the transaction.
    public static func find(
        _ id: TransactionID, in environment: Environment, _ session: any Connection
    ) throws -> QuestionedPurchase? {
        try session.first(
            """
            SELECT t.sequence, t.state, t.product, t.purchased_at, t.type, g.id AS grant_id, \
            \(user: "coalesce(h.customer_id, g.customer_id, o.customer_id)") AS user_id FROM transactions t LEFT JOIN \
            grants g ON g.transaction_sequence = t.sequence AND t.state <> 2 LEFT JOIN holders h ON h.grant_sequence = \
            t.sequence LEFT JOIN orders o ON o.sequence = t.order_sequence WHERE t.environment = ?1 AND t.id = ?2
            """, [environment.column, .text(id.text)]
        ) { row in
            guard let state = RecordedTransaction.State(rawValue: Int(row.integer("state"))) else {
                throw row.unreadable("a transaction's state")
            }
            return QuestionedPurchase(
                sequence: row.integer("sequence"), state: state, productID: ProductID(row.text("product")),
                purchasedAt: row.instant("purchased_at"),
                type: row.isNull("type") ? nil : ProductType(column: row.integer("type")),
                grantID: row.isNull("grant_id") ? nil : try row.uniqueID("grant_id"),
                userID: row.optionalText("user_id").map { UserID($0) })
        }
    }
}
