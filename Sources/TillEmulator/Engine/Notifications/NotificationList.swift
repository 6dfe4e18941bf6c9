import TillBilling
import TillSQL

/// A filter for the list of notifications.
enum NotificationFilter: String, Sendable, CaseIterable {
    /// Waiting to be sent, for the first time or again.
    case pending
    /// Failed, with no further attempt.
    case failed
    case all
}

extension NotificationTable {
    /// Newest first, starting below number `before`.
    static func list(
        _ filter: NotificationFilter, before: Int64, limit: Int, _ connection: any Connection
    ) throws -> [StoredNotification] {
        let values: [SQLValue] = [.integer(before), .integer(Int64(limit))]
        let found =
            switch filter {
            case .all:
                try connection.query(
                    """
                    SELECT \(columns), \(outcome) FROM notifications WHERE number < ? ORDER BY number DESC LIMIT ?
                    """, values, read)
            case .pending:
                try connection.query(
                    """
                    SELECT \(columns), \(outcome) FROM notifications
                    WHERE due_at IS NOT NULL AND number < ? ORDER BY number DESC LIMIT ?
                    """, values, read)
            case .failed:
                try connection.query(
                    """
                    SELECT \(columns), \(outcome) FROM notifications
                    WHERE due_at IS NULL AND result <> 'SUCCESS' AND number < ?
                    ORDER BY number DESC LIMIT ?
                    """, values, read)
            }
        return found.compactMap { $0 }
    }
}

extension Store {
    /// Newest first, starting below number `before`.
    func notifications(
        _ filter: NotificationFilter = .all, before: Int64 = .max, limit: Int
    ) async throws -> [StoredNotification] {
        try await ask { try NotificationTable.list(filter, before: before, limit: limit, $0) }
    }

    /// One notification with its attempts, oldest first.
    func notification(
        _ uuid: UniqueID
    ) async throws -> (notification: StoredNotification, attempts: [SendAttempt])? {
        try await ask { connection in
            guard let found = try NotificationTable.find(uuid, connection) else { return nil }
            return (found, try NotificationTable.attempts(of: found.number, connection))
        }
    }

    /// Sends a notification once more, whatever its result was, with the same id and content.
    func resendNotification(_ uuid: UniqueID) async throws -> Result<StoredNotification, StoreRefusal> {
        try await change { change in
            guard let found = try NotificationTable.find(uuid, change.connection) else {
                return .failure(.unknownNotification(uuid.description))
            }
            guard try SettingTable.value(.notificationURL, change.connection) != nil else {
                return .failure(.noNotificationURL)
            }
            guard found.attempts < 100 else { return .failure(.sentTooOften(uuid.description)) }
            try NotificationTable.setDue(found, at: change.now, change.connection)
            return .success(try NotificationTable.find(uuid, change.connection) ?? found)
        }
    }
}

extension StoreRefusal {
    static func unknownNotification(_ id: String) -> StoreRefusal {
        StoreRefusal("unknown_notification", status: 404, "There is no notification \(id).", "没有通知 \(id)。")
    }

    static func sentTooOften(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "sent_too_often", status: 409, "Notification \(id) has already been sent a hundred times.",
            "通知 \(id) 已经发送了一百次。")
    }

    static let noNotificationURL = StoreRefusal(
        "no_notification_url", status: 409,
        "No notification URL is set. Set one with PUT /emulator/notifications.",
        "尚未设置通知地址，请先用 PUT /emulator/notifications 设置。")
}

/// Pages of notifications that were attempted at least once, oldest first (facts/server-api §4.3).
enum NotificationHistory {
    struct Query: Sendable {
        var bundleID: String
        /// Created then or later.
        var start: Instant
        /// Created before.
        var end: Instant
        var type: String?
        var subtype: String?
        /// Only those of this customer.
        var account: String?
        /// Only those whose last attempt failed, whether or not a retry follows.
        var onlyFailures: Bool
    }

    struct Entry: Sendable {
        var notification: StoredNotification
        var attempts: [SendAttempt]
    }

    /// - Parameter place: creation and number of the previous page's last entry; nil for the first page.
    static func page(
        of query: Query, after place: (created: Instant, number: Int64)?, limit: Int, _ connection: any Connection
    ) throws -> [Entry] {
        let ids = try connection.query(
            """
            SELECT uuid FROM notifications AS told
            WHERE bundle_id = ? AND created_at >= ? AND created_at < ? AND (created_at, number) > (?, ?)
                AND attempts > 0 AND (? IS NULL OR type = ?) AND (? IS NULL OR subtype = ?)
                AND (? IS NULL OR EXISTS (
                    SELECT 1 FROM transactions WHERE transactions.number = told.original AND account = ?))
                AND (? = 0 OR 'SUCCESS' <> (
                    SELECT result FROM send_attempts WHERE notification = told.number ORDER BY attempt DESC LIMIT 1))
            ORDER BY created_at, number LIMIT ?
            """,
            [
                .text(query.bundleID), .integer(query.start.milliseconds),
                .integer(query.end.milliseconds), .integer(place?.created.milliseconds ?? .min),
                .integer(place?.number ?? .min), .optional(query.type), .optional(query.type),
                .optional(query.subtype), .optional(query.subtype), .optional(query.account),
                .optional(query.account), .flag(query.onlyFailures), .integer(Int64(limit)),
            ]
        ) { UniqueID($0.text("uuid")) }
        return try ids.compactMap { id in
            guard let id, let found = try NotificationTable.find(id, connection) else { return nil }
            return Entry(
                notification: found, attempts: try NotificationTable.attempts(of: found.number, connection))
        }
    }
}

extension StoreSchema {
    /// The order in which a history is read.
    static let notificationHistory: StaticString = """
        CREATE INDEX notifications_in_history ON notifications (bundle_id, created_at, number);
        """
}
