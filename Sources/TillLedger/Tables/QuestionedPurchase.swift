import TillBilling
import TillSQL

/// What a question of Apple's is about, as the ledger has it. No table of its own.
public struct QuestionedPurchase: Sendable, Hashable {
    public let sequence: Int64
    public let state: RecordedTransaction.State
    public let productID: ProductID
    public let purchasedAt: Instant
    public let type: ProductType?
    /// Nil if nothing was granted for it.
    public let grantID: UniqueID?
    /// Whose it is: who holds the grant, else by the order that it pays for. Whom its token names is for the rules of
    /// settling to say.
    public var userID: UserID?

    /// Nil if the ledger doesn't know the transaction.
    public static func find(
        _ id: TransactionID, in environment: Environment, _ session: any Connection
    ) throws -> QuestionedPurchase? {
        try session.first(
            """
            SELECT t.sequence, t.state, t.product, t.purchased_at, t.type, g.id, \
            coalesce(h.user, g.user, o.user) \
            FROM transactions t LEFT JOIN grants g ON g.transaction_sequence = t.sequence AND t.state <> 2 \
            LEFT JOIN holders h ON h.grant_sequence = t.sequence \
            LEFT JOIN orders o ON o.sequence = t.order_sequence \
            WHERE t.environment = ? AND t.id = ?
            """, [environment.column, .text(id.text)]
        ) { row in
            guard let state = RecordedTransaction.State(rawValue: Int(row.integer(1))) else {
                throw row.unreadable("a transaction's state")
            }
            return QuestionedPurchase(
                sequence: row.integer(0), state: state, productID: ProductID(row.text(2)), purchasedAt: row.instant(3),
                type: row.isNull(4) ? nil : ProductType(column: row.integer(4)),
                grantID: row.isNull(5) ? nil : try row.uniqueID(5), userID: row.optionalText(6).map { UserID($0) })
        }
    }
}
