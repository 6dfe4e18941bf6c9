import TillBilling
import TillSQL

/// A subscription's transactions.
extension TransactionTable {
    /// The paid periods of a subscription that end after `moment` and that nothing cut short, oldest first: two at
    /// most, since a renewal is charged in the last day.
    static func running(
        original: Int64, at moment: Instant, isShared: Bool = false, _ session: any Connection
    ) throws -> [Int64] {
        try session.query(
            """
            SELECT number FROM transactions
            WHERE original = ? AND group_id IS NOT NULL AND state = 'purchased' AND expires_at > ? AND is_upgraded = 0
                AND (shared_from IS NOT NULL) = ?
            ORDER BY number DESC LIMIT 4
            """, [.integer(original), .integer(moment.milliseconds), .flag(isShared)]
        ) { $0.integer("number") }.reversed()
    }

    /// Whether any period of the subscription cost money.
    static func wasPaid(original: Int64, _ session: any Connection) throws -> Bool {
        try session.first(
            """
            SELECT 1 FROM transactions
            WHERE original = ? AND group_id IS NOT NULL AND state = 'purchased' AND price > 0 LIMIT 1
            """, [.integer(original)]
        ) { _ in true } ?? false
    }

    /// A transaction that waited becomes one of a subscription that has come about meanwhile, at the price of now.
    static func join(_ transaction: StoreTransaction, _ session: any Connection) throws {
        try session.execute(
            "UPDATE transactions SET original = ?, price = ?, offer = ? WHERE number = ?",
            [
                .integer(transaction.original), .integer(transaction.price.amount),
                .optional(try transaction.offer.map { try StoredDocument.text($0) }), .integer(transaction.number),
            ])
    }
}
