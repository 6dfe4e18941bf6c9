import TillBilling
import TillSQL

/// `server_activity`: when a server last worked on this ledger. After a long gap, notifications may be missing.
public struct ServerActivityTable {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public func last() throws -> Instant? {
        try connection.first("SELECT at FROM server_activity", []) { $0.instant("at") }
    }

    public func note(at now: Instant) throws {
        try connection.write(
            """
            INSERT INTO server_activity (single_row, at, chains_seen) VALUES (1, ?1, 0) ON CONFLICT (single_row) \
            DO UPDATE SET at = excluded.at
            """, [.instant(now)])
    }
}
