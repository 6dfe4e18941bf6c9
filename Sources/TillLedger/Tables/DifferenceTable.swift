import TillBilling
import TillSQL

/// `differences`: what each reconciliation found, in the order in which it was settled. Never edited.
public struct DifferenceTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let difference: Difference
        public let foundAt: Instant
    }

    /// Records one, and counts it.
    public func insert(_ difference: Difference, run: Int64, at now: Instant) throws {
        try session.insert(
            """
            INSERT INTO differences (run, kind, environment, transaction_id, order_id, notification_uuid, was, now, \
            purchased_at, found_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(run), .text(difference.kind.rawValue), difference.environment.column,
                .optional(difference.transactionID?.text), .optional(difference.orderID),
                .optional(difference.notificationID), .text(difference.was), .text(difference.now),
                .optional(difference.purchasedAt?.milliseconds), .instant(now),
            ])
        try ReconciliationTable(session).add(1, to: difference.kind.rawValue, of: run, in: difference.environment)
    }

    /// Of one run, in their order, after a sequence.
    public func list(run: Int64, after sequence: Int64, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, kind, environment, transaction_id, order_id, notification_uuid, was, now, purchased_at, \
            found_at FROM differences WHERE run = ? AND sequence > ? ORDER BY sequence LIMIT ?
            """, [.integer(run), .integer(sequence), .integer(Int64(limit))]
        ) { row in
            guard let kind = Difference.Kind(rawValue: row.text(1)) else { throw row.unreadable("a difference") }
            var difference = Difference(
                kind, in: try row.environment(2), transaction: row.optionalText(3).map { TransactionID($0) },
                order: row.isNull(4) ? nil : try row.uniqueID(4), was: row.text(6), now: row.text(7))
            difference.notificationID = row.optionalText(5)
            difference.purchasedAt = row.optionalInstant(8)
            return Stored(sequence: row.integer(0), difference: difference, foundAt: row.instant(9))
        }
    }

    /// Whether such a difference of an order is on record already: what stays as it is isn't told each day.
    public func has(_ kind: Difference.Kind, of order: OrderID) throws -> Bool {
        try session.first(
            "SELECT 1 FROM differences WHERE order_id = ? AND kind = ?", [.id(order), .text(kind.rawValue)]
        ) { _ in true } ?? false
    }

    public func has(_ kind: Difference.Kind, of transaction: TransactionID, in environment: Environment) throws -> Bool
    {
        try session.first(
            "SELECT 1 FROM differences WHERE transaction_id = ? AND kind = ? AND environment = ?",
            [.text(transaction.text), .text(kind.rawValue), environment.column]
        ) { _ in true } ?? false
    }
}
