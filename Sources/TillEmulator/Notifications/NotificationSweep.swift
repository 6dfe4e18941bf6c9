import TillBilling
import TillSQL

/// What no history shows any more is forgotten, so that a store that runs for years stays small.
extension NotificationTable {
    private static let day: Int64 = 86_400
    /// Notification history reaches back so far (facts/server-api §4.3).
    static let lifetime = 180 * day
    /// A test notification's status is told for six months: the longest six there are.
    static let testLifetime = 184 * day

    /// Whether there is anything to sweep.
    static func hasOutlived(at now: Instant, _ session: any Connection) throws -> Bool {
        try !outlived(at: now, limit: 1, session).isEmpty
    }

    /// Deletes the oldest of what is older than a history may be, so many at most.
    /// - Returns: how many.
    static func sweep(at now: Instant, limit: Int, _ session: any Connection) throws -> Int {
        let old = try outlived(at: now, limit: limit, session)
        for entry in old {
            try session.execute("DELETE FROM send_attempts WHERE notification = ?", [.integer(entry.number)])
            try session.execute("DELETE FROM notifications WHERE number = ?", [.integer(entry.number)])
        }
        let pending = old.count { $0.isPending }
        if pending > 0 { try Counter.pendingNotifications.add(-Int64(pending), session) }
        return old.count
    }

    private static func outlived(
        at now: Instant, limit: Int, _ session: any Connection
    ) throws -> [(number: Int64, isPending: Bool)] {
        try session.query(
            """
            SELECT number, due_at IS NOT NULL AS is_pending FROM notifications WHERE created_at < ? \
            AND (type <> 'TEST' OR created_at < ?) ORDER BY created_at LIMIT ?
            """,
            [
                .integer(now.adding(seconds: -lifetime).milliseconds),
                .integer(now.adding(seconds: -testLifetime).milliseconds), .integer(Int64(limit)),
            ]
        ) { ($0.integer("number"), $0.flag("is_pending")) }
    }
}
