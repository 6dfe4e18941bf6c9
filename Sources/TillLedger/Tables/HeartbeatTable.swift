import TillBilling
import TillSQL

/// `heartbeat`: one row, written to check whether the database accepts writes.
public struct HeartbeatTable {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public func beat(at: Instant) throws {
        try connection.write(
            """
            INSERT INTO heartbeat (single_row, at) VALUES (1, ?1) ON CONFLICT (single_row) DO UPDATE \
            SET at = excluded.at
            """,
            [.integer(at.milliseconds)])
    }
}
