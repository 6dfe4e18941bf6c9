import TillBilling
import TillSQL

/// `presence`: when a server last worked on this ledger. After a long gap, notifications may be missing.
public struct PresenceTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public func last() throws -> Instant? { try session.first("SELECT at FROM presence", []) { $0.instant("at") } }

    public func note(at now: Instant) throws {
        try session.execute(
            """
            INSERT INTO presence (single_row, at, chains_seen) VALUES (1, ?1, 0) ON CONFLICT (single_row) DO UPDATE \
            SET at = excluded.at
            """, [.instant(now)])
    }
}
