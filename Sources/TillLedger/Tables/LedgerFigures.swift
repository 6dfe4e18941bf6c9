import TillBilling
import TillSQL

/// Figures for monitoring. Each reads an index or a few rows, because they are read every few seconds.
public struct LedgerFigures {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// The number of transactions in all environments: rows are numbered and never deleted. A database with several
    /// writers skips numbers when a proof is submitted again and when a commit fails, so there it is higher.
    public func purchases() throws -> Int64 {
        try number(
            "SELECT coalesce(max(row_id), 0) AS number FROM transactions")
    }

    /// The number of paid purchases without an owner.
    public func quarantined() throws -> Int64 {
        try number("SELECT count(*) AS number FROM transactions WHERE state = 2 AND state <> 1")
    }

    public func quarantined(in environment: StoreEnvironment, paidBefore moment: Instant) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS number FROM transactions WHERE state = 2 AND state <> 1 AND +environment = ?1 \
            AND purchased_at < ?2
            """, [environment.column, .instant(moment)]
        ) { $0.integer("number") } ?? 0
    }

    /// When the oldest purchase in quarantine was paid.
    public func oldestQuarantined() throws -> Instant? {
        try connection.first(
            "SELECT purchased_at FROM transactions WHERE state = 2 AND state <> 1 ORDER BY row_id LIMIT 1", []
        ) { $0.instant("purchased_at") }
    }

    /// When the oldest order with this status was opened.
    public func oldestOrder(_ status: OrderStatus) throws -> Instant? {
        try connection.first(
            "SELECT created_at FROM orders WHERE status = ?1 AND status <> 1 ORDER BY row_id LIMIT 1",
            [.integer(Int64(status.rawValue))]
        ) { $0.instant("created_at") }
    }

    public func pendingNotifications() throws -> Int64 {
        try number("SELECT count(*) AS number FROM notifications WHERE state = 0")
    }

    public func oldestPendingNotification() throws -> Instant? {
        try connection.first(
            "SELECT received_at FROM notifications WHERE state = 0 ORDER BY row_id LIMIT 1", []
        ) { $0.instant("received_at") }
    }

    /// A number of waiting entries, and the moment since which the oldest of them waits.
    public typealias Waiting = (count: Int64, oldest: Instant?)

    /// The claims that wait for Apple's answer, since they were made.
    public func waitingClaims() throws -> Waiting {
        try waiting("SELECT count(*) AS count, min(at) AS oldest FROM claims WHERE state = 0", [])
    }

    /// Apple's questions about refund requests without an answer, since Apple asked.
    public func waitingConsumptionAnswers() throws -> Waiting {
        try waiting(
            "SELECT count(*) AS count, min(requested_at) AS oldest FROM consumption_requests WHERE state = 0", [])
    }

    /// When the purchase of the oldest open task for Apple was received. A retry moves the time at which a task is due,
    /// so that time says nothing about its age.
    public func oldestAppleTask() throws -> Instant? {
        try connection.first(
            """
            SELECT t.received_at FROM apple_tasks a CROSS JOIN transactions t ON t.row_id = a.transaction_row_id \
            WHERE a.state = 0 ORDER BY a.row_id LIMIT 1
            """, []
        ) { $0.instant("received_at") }
    }

    /// The tasks that Apple refused permanently.
    public func refusedAppleTasks() throws -> Int64 {
        try number("SELECT count(*) AS number FROM apple_tasks WHERE state = 1")
    }

    /// The reminders that are due, since they were.
    public func dueReminders(at now: Instant) throws -> Waiting {
        try waiting(
            """
            SELECT count(*) AS count, min(due_at) AS oldest FROM reminders WHERE sent_at IS NULL AND due_at <= ?1
            """, [.instant(now)])
    }

    /// The position of the oldest event that waits in a queue of an endpoint.
    public func oldestDelivery(to endpoint: Int64) throws -> Int64? {
        try connection.first(
            """
            SELECT min(event_position) AS position FROM webhook_deliveries WHERE endpoint_row_id = ?1 \
            AND queue IN (0, 1) AND state = 0
            """, [.integer(endpoint)]
        ) { $0.optionalInteger("position") } ?? nil
    }

    private func waiting(_ sql: SQL, _ values: [SQLValue]) throws -> Waiting {
        try connection.first(sql, values) { ($0.integer("count"), $0.optionalInstant("oldest")) } ?? (0, nil)
    }

    /// The number of events ever written. Positions have no gaps.
    public func outboxEvents() throws -> Int64 {
        try number(
            """
            SELECT (SELECT coalesce(max(position), 0) FROM event_positions) + (SELECT count(*) FROM unplaced_events) \
            AS number
            """)
    }

    /// How often a debt was written off, for all customers.
    public func forgivenDebts(in environment: StoreEnvironment) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS number FROM postings WHERE environment = ?1 AND kind = 'write_off'
            """, [environment.column]
        ) { $0.integer("number") } ?? 0
    }

    /// How many purchases the ledger holds and how many came on an average day of late: the newest thousand, or all.
    /// Nil before there are ten, and within the first hour.
    public func purchaseRate(at now: Instant) throws -> (purchases: Int64, perDay: Double)? {
        let newest = try connection.first(
            """
            SELECT count(*) AS count, min(received_at) AS since FROM (SELECT received_at FROM transactions \
            ORDER BY row_id DESC LIMIT 1000) AS newest
            """, []
        ) { (count: $0.integer("count"), since: $0.optionalInstant("since")) }
        guard let newest, newest.count >= 10, let since = newest.since else { return nil }
        let milliseconds = now.milliseconds - since.milliseconds
        guard milliseconds >= 3_600_000 else { return nil }
        return (try purchases(), Double(newest.count) * 86_400_000 / Double(milliseconds))
    }

    private func number(_ sql: SQL) throws -> Int64 { try connection.first(sql, []) { $0.integer("number") } ?? 0 }
}
