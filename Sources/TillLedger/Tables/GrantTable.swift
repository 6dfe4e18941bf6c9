import TillBilling
import TillSQL

/// `grants`: one for each transaction, enforced by the database: a transaction has one row, whose row id is the grant's
/// key. Never edited.
public struct GrantTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    /// - Parameter catalogVersion: the catalogue that defines what it grants.
    public func insert(
        _ grant: Grant, transaction sequence: Int64, orderSequence: Int64, catalogVersion: Int64? = nil
    ) throws {
        try session.execute(
            """
            INSERT INTO grants (transaction_sequence, id, order_sequence, customer_id, entitlement, at, \
            catalog_version) \
            VALUES (?1, ?2, ?3, \(customer: 4), ?5, ?6, ?7)
            """,
            [
                .integer(sequence), .id(grant.id), .integer(orderSequence), .text(grant.userID.text),
                .optional(grant.entitlement), .instant(grant.at), .optional(catalogVersion),
            ])
    }

    /// The grant for a transaction, with the points it posted.
    public func find(transaction sequence: Int64) throws -> Grant? {
        let points = try session.query(
            """
            SELECT currency, amount FROM postings WHERE grant_sequence = ?1 AND kind = 'purchase' ORDER BY currency
            """, [.integer(sequence)]
        ) { row in GrantedPoints(currency: row.text("currency"), amount: row.integer("amount")) }
        return try session.first(
            """
            SELECT g.id AS grant_id, t.environment, t.id, o.id AS order_id, \(user: "g.customer_id") AS user_id, \
            t.product, t.quantity, g.entitlement, g.at FROM grants g JOIN transactions t ON t.sequence = \
            g.transaction_sequence JOIN orders o ON o.sequence = g.order_sequence WHERE g.transaction_sequence = ?1
            """, [.integer(sequence)]
        ) { row in
            Grant(
                id: try row.uniqueID("grant_id"), environment: try row.environment("environment"),
                transactionID: TransactionID(row.text("id")),
                orderID: try row.uniqueID("order_id"), userID: UserID(row.text("user_id")),
                productID: ProductID(row.text("product")),
                quantity: Int(row.integer("quantity")), points: points, entitlement: row.optionalText("entitlement"),
                at: row.instant("at"))
        }
    }
}
