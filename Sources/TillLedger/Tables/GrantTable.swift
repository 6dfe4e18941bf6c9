import TillBilling
import TillSQL

/// `grants`: one for each transaction, which the database itself holds to: a transaction has one row, whose sequence is
/// the grant's key. Never edited.
public struct GrantTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public func insert(_ grant: Grant, transaction sequence: Int64, orderSequence: Int64) throws {
        try session.execute(
            """
            INSERT INTO grants (transaction_sequence, id, order_sequence, user, entitlement, at) \
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(sequence), .id(grant.id), .integer(orderSequence), .text(grant.userID.text),
                .optional(grant.entitlement), .instant(grant.at),
            ])
    }

    /// The grant for a transaction, with the points it posted.
    public func find(transaction sequence: Int64) throws -> Grant? {
        let points = try session.query(
            """
            SELECT currency, amount FROM postings WHERE grant_sequence = ? AND kind = 'purchase' ORDER BY currency
            """, [.integer(sequence)]
        ) { row in GrantedPoints(currency: row.text(0), amount: row.integer(1)) }
        return try session.first(
            """
            SELECT g.id, t.environment, t.id, o.id, g.user, t.product, t.quantity, g.entitlement, g.at FROM grants g \
            JOIN transactions t ON t.sequence = g.transaction_sequence JOIN orders o ON o.sequence = g.order_sequence \
            WHERE g.transaction_sequence = ?
            """, [.integer(sequence)]
        ) { row in
            Grant(
                id: try row.uniqueID(0), environment: try row.environment(1), transactionID: TransactionID(row.text(2)),
                orderID: try row.uniqueID(3), userID: UserID(row.text(4)), productID: ProductID(row.text(5)),
                quantity: Int(row.integer(6)), points: points, entitlement: row.optionalText(7), at: row.instant(8))
        }
    }
}
