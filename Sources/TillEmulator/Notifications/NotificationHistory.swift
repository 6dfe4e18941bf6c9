import TillBilling
import TillSQL

/// Notifications that were sent, or tried at least, page by page: oldest first (facts/server-api §4.3).
enum NotificationHistory {
    struct Question: Sendable {
        var bundleID: String
        /// First sent then or later.
        var start: Instant
        /// First sent before.
        var end: Instant
        var type: String?
        var subtype: String?
        /// Only of this customer.
        var account: String?
        /// Only those whose last attempt failed, whether there will be another or not.
        var onlyFailures: Bool
    }

    struct Entry: Sendable {
        var notification: StoredNotification
        var attempts: [SendAttempt]
    }

    /// - Parameter place: creation and number of the last one before; nil at the beginning.
    static func page(
        of question: Question, after place: (created: Instant, number: Int64)?, limit: Int, _ session: any Connection
    ) throws -> [Entry] {
        let ids = try session.query(
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
                .text(question.bundleID), .integer(question.start.milliseconds),
                .integer(question.end.milliseconds), .integer(place?.created.milliseconds ?? .min),
                .integer(place?.number ?? .min), .optional(question.type), .optional(question.type),
                .optional(question.subtype), .optional(question.subtype), .optional(question.account),
                .optional(question.account), .flag(question.onlyFailures), .integer(Int64(limit)),
            ]
        ) { UniqueID($0.text("uuid")) }
        return try ids.compactMap { id in
            guard let id, let found = try NotificationTable.find(id, session) else { return nil }
            return Entry(
                notification: found, attempts: try NotificationTable.attempts(of: found.number, session))
        }
    }
}

extension StoreSchema {
    /// The order in which a history is read.
    static let notificationHistory: StaticString = """
        CREATE INDEX notifications_in_history ON notifications (bundle_id, created_at, number);
        """
}
