import TillBilling
import TillSQL

/// The ledger's data about the purchase in a request from Apple. It has no table of its own.
public struct RequestedPurchase: Sendable, Hashable {
    public let rowID: Int64
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
        _ id: TransactionID, in environment: StoreEnvironment, _ connection: any Connection
    ) throws -> RequestedPurchase? {
        try connection.first(
            """
            SELECT t.row_id, t.state, t.product, t.purchased_at, t.type, g.id AS grant_id, \
            \(user: "coalesce(h.customer_id, g.customer_id, o.customer_id)") AS user_id FROM transactions t LEFT JOIN \
            grants g ON g.transaction_row_id = t.row_id AND t.state <> 2 LEFT JOIN grant_owners h ON h.grant_row_id = \
            t.row_id LEFT JOIN orders o ON o.row_id = t.order_row_id WHERE t.environment = ?1 AND t.id = ?2
            """, [environment.column, .text(id.text)]
        ) { row in
            guard let state = RecordedTransaction.State(rawValue: Int(row.integer("state"))) else {
                throw row.unreadable("a transaction's state")
            }
            return RequestedPurchase(
                rowID: row.integer("row_id"), state: state, productID: ProductID(row.text("product")),
                purchasedAt: row.instant("purchased_at"),
                type: row.isNull("type") ? nil : ProductType(column: row.integer("type")),
                grantID: row.isNull("grant_id") ? nil : try row.uniqueID("grant_id"),
                userID: row.optionalText("user_id").map { UserID($0) })
        }
    }
}
