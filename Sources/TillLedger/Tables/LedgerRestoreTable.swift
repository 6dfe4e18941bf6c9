import TillBilling
import TillSQL

extension Schema {
    /// One row for each restore from a backup. `taken_at` is the newest moment that the backup knew. Events from
    /// `first_position` on belong to the epoch. Reconciliations up to `last_run` began before the backup was taken.
    static let ledgerRestores: StaticString = """
        CREATE TABLE ledger_restores (
            epoch INTEGER PRIMARY KEY CHECK (epoch > 1),
            taken_at INTEGER NOT NULL,
            restored_at INTEGER NOT NULL,
            first_position INTEGER NOT NULL,
            last_run INTEGER NOT NULL
        ) STRICT;
        """
}

extension PostgresTables {
    static let ledgerRestores: StaticString = """
        CREATE TABLE ledger_restores (
            epoch BIGINT PRIMARY KEY CHECK (epoch > 1),
            taken_at BIGINT NOT NULL,
            restored_at BIGINT NOT NULL,
            first_position BIGINT NOT NULL,
            last_run BIGINT NOT NULL
        );
        """
}

/// `ledger_restores`: when the ledger was restored from a backup, and which events were written since.
public struct LedgerRestoreTable {
    private static let columns: Columns = "epoch, taken_at, restored_at, first_position, last_run"

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
        /// The row id of the newest reconciliation in the backup; 0 without one.
        public let lastRun: Int64
    }

    func insert(_ restore: Restore) throws {
        try connection.write(
            "INSERT INTO ledger_restores (\(Self.columns)) VALUES (?1, ?2, ?3, ?4, ?5)",
            [
                .integer(restore.epoch), .instant(restore.takenAt), .instant(restore.restoredAt),
                .integer(restore.firstPosition), .integer(restore.lastRun),
            ])
    }

    /// Oldest first.
    public func list() throws -> [Restore] {
        try connection.query("SELECT \(Self.columns) FROM ledger_restores ORDER BY epoch", []) { row in
            Restore(
                epoch: row.integer("epoch"), takenAt: row.instant("taken_at"),
                restoredAt: row.instant("restored_at"), firstPosition: row.integer("first_position"),
                lastRun: row.integer("last_run"))
        }
    }

    public func last() throws -> Restore? { try list().last }
}

extension [LedgerRestoreTable.Restore] {
    /// The epoch in which the event at a position was written.
    public func epoch(at position: Int64) -> Int64 { last { $0.firstPosition <= position }?.epoch ?? 1 }
}
