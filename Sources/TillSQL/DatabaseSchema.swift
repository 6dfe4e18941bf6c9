/// One step of a schema (docs/decisions/0070). Steps of the phases `expand` and `contract` are scripts, each run in one
/// transaction before the ledger is served, so they must be quick at any number of rows. A backfill runs in batches
/// while the ledger is served.
public struct Migration: Sendable, ExpressibleByArrayLiteral {
    /// The steps that change the schema of a ledger while it serves requests: first add the new columns and tables,
    /// then fill rows with a job that can be resumed, and in a later release remove what the program no longer reads.
    public enum Phase: String, Sendable {
        case expand
        case backfill
        case contract
    }

    /// SQLite's statements, separated by `;`; empty for a backfill.
    public let scripts: [StaticString]
    /// PostgreSQL's statements for the same change; empty for a backfill, and in a schema that only SQLite holds.
    public let postgres: [StaticString]
    public let phase: Phase
    /// Set exactly for the phase `backfill`.
    public let backfill: Backfill?
    /// The digest of SQLite's text, compared with the digest recorded in the file. Empty: no comparison.
    public let sha256: [UInt8]
    /// The same for PostgreSQL's text.
    public let postgresSHA256: [UInt8]

    public init(
        _ scripts: [StaticString], postgres: [StaticString] = [], phase: Phase = .expand, sha256: [UInt8] = [],
        postgresSHA256: [UInt8] = []
    ) {
        precondition(phase != .backfill, "a backfill names its table, so that it can run in batches")
        self.scripts = scripts
        self.postgres = postgres
        self.phase = phase
        backfill = nil
        self.sha256 = sha256
        self.postgresSHA256 = postgresSHA256
    }

    public init(_ backfill: Backfill, sha256: [UInt8] = []) {
        scripts = []
        postgres = []
        phase = .backfill
        self.backfill = backfill
        self.sha256 = sha256
        postgresSHA256 = sha256
    }

    public init(arrayLiteral scripts: StaticString...) { self.init(scripts) }
}

/// A change to all rows of a table that existed before the program that knows the new columns. That program writes the
/// new columns of later rows itself.
public struct Backfill: Sendable {
    /// The table whose rows are counted off; its primary key is `row_id`.
    public let table: StaticString
    /// Fills the rows with `row_id > ?1 AND row_id <= ?2`. A repetition must change nothing.
    public let statement: SQL

    public init(table: StaticString, statement: SQL) {
        self.table = table
        self.statement = statement
    }
}

/// The tables of one program: one migration for each version, and the number that marks a file as this program's. The
/// program that opens a database passes it in.
public struct DatabaseSchema: Sendable {
    /// The migrations, oldest version first. Opening a file for writing brings it up to date, apart from backfills.
    public var migrations: [Migration]
    public var applicationID: Int32
    /// The number of the first version. A file with a lower version is from before the first release and is refused.
    public var firstVersion: Int
    /// Tables whose rows are never changed and never deleted. On PostgreSQL the server's role may only read and add
    /// them; triggers forbid the rest to every role.
    public var appendOnlyTables: [StaticString]
    /// Tables for which the driver can say whether a row is this process's own.
    public var watchedTables: [StaticString]

    public init(
        migrations: [Migration], applicationID: Int32, firstVersion: Int = 1, appendOnlyTables: [StaticString] = [],
        watchedTables: [StaticString] = []
    ) {
        self.migrations = migrations
        self.applicationID = applicationID
        self.firstVersion = firstVersion
        self.appendOnlyTables = appendOnlyTables
        self.watchedTables = watchedTables
    }

    /// - Parameter migrations: one script for each version.
    public init(migrations: [StaticString], applicationID: Int32) {
        self.init(migrations: migrations.map { Migration([$0]) }, applicationID: applicationID)
    }

    /// The number of the newest version; `firstVersion - 1` if there are no migrations.
    public var version: Int { firstVersion + migrations.count - 1 }

    /// The migrations with their numbers.
    public var numbered: [(number: Int, migration: Migration)] {
        migrations.enumerated().map { (firstVersion + $0.offset, $0.element) }
    }

    public var hasBackfills: Bool { migrations.contains { $0.phase == .backfill } }

    /// The schema up to a version.
    public func upTo(_ version: Int) -> DatabaseSchema {
        DatabaseSchema(
            migrations: Array(migrations.prefix(max(0, version - firstVersion + 1))), applicationID: applicationID,
            firstVersion: firstVersion, appendOnlyTables: appendOnlyTables, watchedTables: watchedTables)
    }
}
