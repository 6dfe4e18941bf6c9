import TillBilling
import TillSQL

extension Schema {
    /// One row for each restore from a backup. `taken_at` is the newest moment that the backup knew. Events from
    /// `first_position` on belong to the epoch.
    static let restores: StaticString = """
        CREATE TABLE restores (
            epoch INTEGER PRIMARY KEY CHECK (epoch > 1),
            taken_at INTEGER NOT NULL,
            restored_at INTEGER NOT NULL,
            first_position INTEGER NOT NULL
        ) STRICT;
        """
}

extension PostgresTables {
    static let restores: StaticString = """
        CREATE TABLE restores (
            epoch BIGINT PRIMARY KEY CHECK (epoch > 1),
            taken_at BIGINT NOT NULL,
            restored_at BIGINT NOT NULL,
            first_position BIGINT NOT NULL
        );
        """
}

/// `restores`: when the ledger was restored from a backup, and which events were written since.
public struct RestoreTable {
    private static let columns: Columns = "epoch, taken_at, restored_at, first_position"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Restore: Sendable, Hashable {
        /// The ledger's epoch since then.
        public let epoch: Int64
        /// What happened later is not in the backup.
        public let takenAt: Instant
        public let restoredAt: Instant
        /// The position of the first event that was written since.
        let firstPosition: Int64
    }

    func insert(_ restore: Restore) throws {
        try connection.write(
            "INSERT INTO restores (\(Self.columns)) VALUES (?1, ?2, ?3, ?4)",
            [
                .integer(restore.epoch), .instant(restore.takenAt), .instant(restore.restoredAt),
                .integer(restore.firstPosition),
            ])
    }

    /// Oldest first.
    public func list() throws -> [Restore] {
        try connection.query("SELECT \(Self.columns) FROM restores ORDER BY epoch", []) { row in
            Restore(
                epoch: row.integer("epoch"), takenAt: row.instant("taken_at"),
                restoredAt: row.instant("restored_at"), firstPosition: row.integer("first_position"))
        }
    }

    public func last() throws -> Restore? { try list().last }
}

extension [RestoreTable.Restore] {
    /// The epoch in which the event at a position was written.
    public func epoch(at position: Int64) -> Int64 { last { $0.firstPosition <= position }?.epoch ?? 1 }
}
