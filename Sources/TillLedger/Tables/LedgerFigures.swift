import TillBilling
import TillSQL

/// Figures for monitoring. Each reads an index or a few rows, because they are read every few seconds.
public struct LedgerFigures {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// The number of transactions in all environments. Rows are numbered and never deleted.
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

    /// The number of events ever written.
    public func outboxEvents() throws -> Int64 { try number("SELECT coalesce(max(row_id), 0) AS number FROM outbox") }

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
        let count = try purchases()
        let recent = min(count, 1_000)
        let since = try connection.first(
            "SELECT received_at FROM transactions WHERE row_id >= ?1 ORDER BY row_id LIMIT 1",
            [.integer(count - recent + 1)]
        ) { $0.instant("received_at") }
        guard recent >= 10, let since else { return nil }
        let milliseconds = now.milliseconds - since.milliseconds
        guard milliseconds >= 3_600_000 else { return nil }
        return (count, Double(recent) * 86_400_000 / Double(milliseconds))
    }

    private func number(_ sql: SQL) throws -> Int64 { try connection.first(sql, []) { $0.integer("number") } ?? 0 }
}
