import TillSQL

/// Whether a pooler stands before the database, and gives each session a server of its own.
enum PoolerCheck {
    /// How often two sessions are compared: with other clients a pooler may give them different servers by chance.
    private static let comparisons = 3

    /// The process that serves the session now.
    private static func process(of handle: PostgresHandle) throws(DatabaseError) -> Int64 {
        try handle.query("SELECT pg_backend_pid()::bigint AS process") { $0.integer("process") }.first ?? 0
    }

    /// A pooler tells a process id of its own when a session begins.
    static func isPooled(_ handle: PostgresHandle) throws(DatabaseError) -> Bool {
        try process(of: handle) != Int64(handle.sessionID)
    }

    /// Refuses a pooler that gives a session's server to others between two transactions: prepared statements and the
    /// session's limits would then be another session's.
    static func refuseSharedSessions(
        beside first: PostgresHandle, _ settings: ConnectionSettings
    ) throws(DatabaseError) {
        let refusal = DatabaseError(
            .other,
            "the pooler before the database (\(settings.shownAddress)) gives the connections of one session to others; "
                + "set `pool_mode = session` in PgBouncer, or give the address of the database itself")
        do throws(DatabaseError) {
            guard try isPooled(first) else { return }
            for _ in 0..<comparisons {
                let second = try PostgresHandle(settings)
                defer { second.close() }
                let own = try process(of: first)
                guard try process(of: second) != own else { throw refusal }
            }
        } catch {
            // A prepared statement that has gone is another session's server.
            throw error.detail.contains("prepared statement") ? refusal : error
        }
    }
}
