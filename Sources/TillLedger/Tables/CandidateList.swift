import TillBilling
import TillSQL

/// Lists the customers whose records probably differ from Apple's, which a reconciliation reads first. It has no table
/// of its own.
public struct CandidateList {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        public let rowID: Int64
        public let originalID: TransactionID
    }

    /// The row id of the newest subscription; 0 if there is none.
    public func newestSubscription() throws -> Int64 {
        try connection.first("SELECT coalesce(max(row_id), 0) AS newest FROM subscriptions", []) {
            $0.integer("newest")
        }
            ?? 0
    }

    /// Subscriptions that were expected to renew and whose next period is unknown: those with a row id in the range
    /// whose last period ended in the span.
    public func lapsedSubscriptions(
        in environment: StoreEnvironment, rowIDs: ClosedRange<Int64>, endedFrom start: Instant, to end: Instant
    ) throws -> [Entry] {
        try connection.query(
            """
            SELECT s.row_id, s.original_id FROM subscriptions s WHERE s.row_id BETWEEN ?1 AND ?2 \
            AND +s.environment = ?3 AND coalesce(s.auto_renews, 1) = 1 AND (SELECT max(t.expires_at) \
            FROM subscription_periods p CROSS JOIN transactions t ON t.row_id = p.transaction_row_id \
            WHERE p.subscription_row_id = s.row_id) BETWEEN ?4 AND ?5 ORDER BY s.row_id
            """,
            [
                .integer(rowIDs.lowerBound), .integer(rowIDs.upperBound), environment.column, .instant(start),
                .instant(end),
            ]
        ) { Entry(rowID: $0.integer("row_id"), originalID: TransactionID($0.text("original_id"))) }
    }

    /// Purchases in quarantine, newest first, from before a row id.
    public func quarantined(in environment: StoreEnvironment, before rowID: Int64, limit: Int) throws -> [QuarantinedID]
    {
        try connection.query(
            """
            SELECT row_id, id, original_id FROM transactions WHERE state = 2 AND state <> 1 AND row_id < ?1 \
            AND +environment = ?2 ORDER BY row_id DESC LIMIT ?3
            """, [.integer(rowID), environment.column, .integer(Int64(limit))]
        ) { row in
            QuarantinedID(
                rowID: row.integer("row_id"), id: TransactionID(row.text("id")),
                originalID: TransactionID(row.text("original_id")))
        }
    }

    public struct QuarantinedID: Sendable, Hashable {
        public let rowID: Int64
        public let id: TransactionID
        public let originalID: TransactionID
    }

    /// The row ids of orders with a status, newest first, from before a row id.
    public func orders(_ status: OrderStatus, before rowID: Int64, limit: Int) throws -> [Int64] {
        try connection.query(
            """
            SELECT row_id FROM orders WHERE status = ?1 AND status <> 1 AND row_id < ?2 ORDER BY row_id DESC \
            LIMIT ?3
            """,
            [.integer(Int64(status.rawValue)), .integer(rowID), .integer(Int64(limit))]
        ) { $0.integer("row_id") }
    }

    /// The chains of transactions paid under a user's orders, newest orders first.
    public func chains(of user: UserID, in environment: StoreEnvironment, limit: Int) throws -> [TransactionID] {
        try connection.query(
            """
            SELECT t.original_id FROM (SELECT row_id FROM orders WHERE customer_id = \(customer: 1) ORDER BY row_id \
            DESC LIMIT 500) o CROSS JOIN transactions t ON t.order_row_id = o.row_id WHERE +t.environment = ?2 \
            GROUP BY t.original_id ORDER BY max(o.row_id) DESC, t.original_id LIMIT ?3
            """, [.text(user.text), environment.column, .integer(Int64(limit))]
        ) { TransactionID($0.text("original_id")) }
    }
}
