import TillBilling
import TillSQL

/// Lists the customers whose records probably differ from Apple's, which a reconciliation reads first. It has no table
/// of its own.
public struct SuspectList {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let sequence: Int64
        public let originalID: TransactionID
    }

    /// The row id of the newest subscription; 0 if there is none.
    public func newestSubscription() throws -> Int64 {
        try session.first("SELECT coalesce(max(sequence), 0) AS newest FROM subscriptions", []) { $0.integer("newest") }
            ?? 0
    }

    /// Subscriptions that were expected to renew and whose next period is unknown: those with a row id in the range
    /// whose last period ended in the span.
    public func lapsedSubscriptions(
        in environment: Environment, sequences: ClosedRange<Int64>, endedFrom start: Instant, to end: Instant
    ) throws -> [Entry] {
        try session.query(
            """
            SELECT s.sequence, s.original_id FROM subscriptions s WHERE s.sequence BETWEEN ?1 AND ?2 \
            AND +s.environment = ?3 AND coalesce(s.auto_renews, 1) = 1 AND (SELECT max(t.expires_at) \
            FROM subscription_periods p CROSS JOIN transactions t ON t.sequence = p.transaction_sequence \
            WHERE p.subscription_sequence = s.sequence) BETWEEN ?4 AND ?5 ORDER BY s.sequence
            """,
            [
                .integer(sequences.lowerBound), .integer(sequences.upperBound), environment.column, .instant(start),
                .instant(end),
            ]
        ) { Entry(sequence: $0.integer("sequence"), originalID: TransactionID($0.text("original_id"))) }
    }

    /// Purchases in quarantine, newest first, from before a row id.
    public func quarantined(in environment: Environment, before sequence: Int64, limit: Int) throws -> [QuarantinedID] {
        try session.query(
            """
            SELECT sequence, id, original_id FROM transactions WHERE state = 2 AND state <> 1 AND sequence < ?1 \
            AND +environment = ?2 ORDER BY sequence DESC LIMIT ?3
            """, [.integer(sequence), environment.column, .integer(Int64(limit))]
        ) { row in
            QuarantinedID(
                sequence: row.integer("sequence"), id: TransactionID(row.text("id")),
                originalID: TransactionID(row.text("original_id")))
        }
    }

    public struct QuarantinedID: Sendable, Hashable {
        public let sequence: Int64
        public let id: TransactionID
        public let originalID: TransactionID
    }

    /// The row ids of orders with a status, newest first, from before a row id.
    public func orders(_ status: OrderStatus, before sequence: Int64, limit: Int) throws -> [Int64] {
        try session.query(
            """
            SELECT sequence FROM orders WHERE status = ?1 AND status <> 1 AND sequence < ?2 ORDER BY sequence DESC \
            LIMIT ?3
            """,
            [.integer(Int64(status.rawValue)), .integer(sequence), .integer(Int64(limit))]
        ) { $0.integer("sequence") }
    }

    /// The chains of transactions paid under a user's orders, newest orders first.
    public func chains(of user: UserID, in environment: Environment, limit: Int) throws -> [TransactionID] {
        try session.query(
            """
            SELECT DISTINCT t.original_id FROM (SELECT sequence FROM orders WHERE customer_id = \(customer: 1) ORDER \
            BY sequence DESC LIMIT 500) o CROSS JOIN transactions t ON t.order_sequence = o.sequence WHERE \
            +t.environment = ?2 LIMIT ?3
            """, [.text(user.text), environment.column, .integer(Int64(limit))]
        ) { TransactionID($0.text("original_id")) }
    }
}
