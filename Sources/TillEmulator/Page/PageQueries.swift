import TillBilling
import TillSQL

/// Queries for the page only: they read the newest few rows by an index, never all.
enum PageQueries {
    /// Newest first; of one account, or of all.
    static func transactions(
        of account: String?, before number: Int64?, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        let (number, limit) = (SQLValue.integer(number ?? .max), SQLValue.integer(Int64(limit)))
        let found: [Int64]
        if let account {
            found = try connection.query(
                "SELECT number FROM transactions WHERE account = ? AND number < ? ORDER BY number DESC LIMIT ?",
                [.text(account), number, limit]
            ) { $0.integer("number") }
        } else {
            found = try connection.query(
                "SELECT number FROM transactions WHERE number < ? ORDER BY number DESC LIMIT ?", [number, limit]
            ) { $0.integer("number") }
        }
        return try found.compactMap { try TransactionTable.find($0, connection) }
    }

    /// An account's subscriptions in all apps, newest first.
    static func subscriptions(of account: String, limit: Int, _ connection: any Connection) throws
        -> [StoreSubscription]
    {
        let found = try connection.query(
            "SELECT original FROM subscriptions WHERE account = ? ORDER BY original DESC LIMIT ?",
            [.text(account), .integer(Int64(limit))]
        ) { $0.integer("original") }
        return try found.compactMap { try SubscriptionTable.find($0, connection) }
    }

    /// The newest periods of a subscription, oldest first.
    static func periods(of original: Int64, limit: Int, _ connection: any Connection) throws -> [StoreTransaction] {
        let found = try connection.query(
            """
            SELECT number FROM transactions WHERE original = ? AND group_id IS NOT NULL ORDER BY number DESC LIMIT ?
            """, [.integer(original), .integer(Int64(limit))]
        ) { $0.integer("number") }
        return try found.reversed().compactMap { try TransactionTable.find($0, connection) }
    }

    /// An offset is fast enough for App Store Connect's limit of 10,000 products (facts/limits §2).
    static func products(from count: Int64, limit: Int, _ connection: any Connection) throws -> [StoreProduct] {
        let found = try connection.query(
            "SELECT product_id FROM products ORDER BY position LIMIT ? OFFSET ?",
            [.integer(Int64(limit)), .integer(count)]
        ) { $0.text("product_id") }
        return try found.compactMap { try ProductTable.find(ProductID($0), connection) }
    }

    // MARK: Notifications

    struct Notification: Sendable {
        var number: Int64
        var uuid: String
        var type: String
        var subtype: String?
        var original: Int64?
        var created: Instant
        /// The time of the next attempt; nil: there is none.
        var due: Instant?
        /// Newest first, at most ten.
        var attempts: [Attempt]
    }

    struct Attempt: Sendable {
        var at: Instant
        var result: String
    }

    static let notificationColumns: Columns = "number, uuid, type, subtype, original, created_at, due_at"

    /// Newest first.
    static func notifications(
        before number: Int64?, limit: Int, _ connection: any Connection
    ) throws -> [Notification] {
        try connection.query(
            """
            SELECT \(notificationColumns) FROM notifications
            WHERE number < ? ORDER BY number DESC LIMIT ?
            """, [.integer(number ?? .max), .integer(Int64(limit))], notification
        ).map { try withAttempts($0, connection) }
    }

    /// The newest notifications about a subscription, oldest first.
    static func notifications(
        about original: Int64, limit: Int, _ connection: any Connection
    ) throws -> [Notification] {
        try connection.query(
            """
            SELECT \(notificationColumns) FROM notifications
            WHERE original = ? ORDER BY number DESC LIMIT ?
            """, [.integer(original), .integer(Int64(limit))], notification
        ).reversed()
    }

    private static func withAttempts(_ notification: Notification, _ connection: any Connection) throws -> Notification
    {
        var notification = notification
        notification.attempts = try connection.query(
            """
            SELECT \(NotificationTable.attemptColumns) FROM send_attempts
            WHERE notification = ? ORDER BY attempt DESC LIMIT 10
            """, [.integer(notification.number)]
        ) { Attempt(at: Instant(milliseconds: $0.integer("attempted_at")), result: $0.text("result")) }
        return notification
    }

    private static func notification(_ row: any Row) -> Notification {
        Notification(
            number: row.integer("number"), uuid: row.text("uuid"), type: row.text("type"),
            subtype: row.optionalText("subtype"),
            original: row.optionalInteger("original"), created: Instant(milliseconds: row.integer("created_at")),
            due: row.optionalInteger("due_at").map(Instant.init(milliseconds:)), attempts: [])
    }
}

extension StoreSchema {
    /// For the notifications in a subscription's timeline.
    static let pageIndexes: StaticString = """
        CREATE INDEX notifications_about ON notifications (original, number) WHERE original IS NOT NULL;
        """
}
