import TillBilling
import TillLedger
import TillPostgres
import TillSQL
import TillSQLite
import TillServer

/// The only place that knows both drivers. Everything else uses `any Database`.
extension LedgerLocation {
    /// Opens the ledger. This waits for the disk or the network, so do not call it while handling a request.
    ///
    /// - Parameter watch: is told about every commit.
    func open(
        as role: DatabaseRole, _ schema: DatabaseSchema, watch: CommitWatch? = nil
    ) throws(DatabaseError) -> OpenLedger {
        switch self {
        case .sqlite(let path):
            var options = SQLiteDatabase.Options(schema)
            options.commitWatch = watch
            let ledger = try SQLiteDatabase.open(path: path, role: role, options: options)
            return OpenLedger(database: ledger, waitingWrites: { ledger.waitingWrites }, figures: { nil })
        case .postgres(let location):
            let options = location.options(schema, watch)
            let ledger = try PostgresDatabase.open(address: location.address.text, role: role, options: options)
            let pools = (options.connections, options.readers)
            return OpenLedger(
                database: ledger, waitingWrites: { ledger.waitingWrites },
                figures: { await DatabaseFigures(ledger, writers: pools.0, readers: pools.1) })
        }
    }

    /// Checks whether a server of this program could open the ledger, beside a server that has it open. Changes
    /// nothing.
    func check(_ schema: DatabaseSchema) throws(DatabaseError) {
        switch self {
        case .sqlite(let path): try SQLiteDatabase.check(path: path, options: .init(schema))
        case .postgres(let location):
            try PostgresDatabase.check(address: location.address.text, options: location.options(schema))
        }
    }

    /// The version of the ledger's schema; 0 for an empty one. Changes nothing.
    func version(_ schema: DatabaseSchema) throws(DatabaseError) -> Int {
        switch self {
        case .sqlite(let path): try SQLiteDatabase.version(of: path, options: .init(schema))
        case .postgres(let location):
            try PostgresDatabase.version(of: location.address.text, options: location.options(schema))
        }
    }

    /// Brings the schema up to date, apart from backfills.
    ///
    /// - Parameters:
    ///   - owner: the role that owns the tables, in an address of its own; nil: this location's role.
    ///   - role: is granted the rights of a server; nil grants nothing.
    func migrate(_ schema: DatabaseSchema, as owner: PostgresLocation?, grantingTo role: String?) async throws {
        switch self {
        case .sqlite: await (try open(as: .server, schema)).database.close()
        case .postgres(let location):
            let owner = owner ?? location
            try PostgresDatabase.migrate(
                address: owner.address.text, options: owner.options(schema), grantingTo: role)
        }
    }
}

/// What a database says about its schema, whether or not this program can use it.
struct SchemaState: Sendable {
    /// Whether it belongs to this program.
    let isLedger: Bool
    let version: Int
}

extension LedgerLocation {
    /// - Throws: an error if there is no database, or it is not one.
    func schemaState(_ schema: DatabaseSchema) throws(DatabaseError) -> SchemaState {
        switch self {
        case .sqlite(let path):
            let state = try SQLiteDatabase.fileState(path: path)
            return SchemaState(
                isLedger: state.applicationID == schema.applicationID && state.schemaVersion >= schema.firstVersion,
                version: state.schemaVersion)
        case .postgres:
            let version = try version(schema)
            return SchemaState(isLedger: version > 0, version: version)
        }
    }

    /// Whether a table exists.
    func hasTable(_ table: StaticString, _ connection: any Connection) throws -> Bool {
        let name: [SQLValue] = [.text("\(table)")]
        let count =
            switch self {
            case .sqlite:
                try connection.first(
                    "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name = ?1", name
                ) { $0.integer("count") }
            case .postgres:
                try connection.first(
                    """
                    SELECT count(*) AS count FROM pg_catalog.pg_tables WHERE schemaname = current_schema() \
                    AND tablename = ?1
                    """, name
                ) { $0.integer("count") }
            }
        return count == 1
    }
}

// MARK: Copies

extension LedgerLocation {
    /// Has a database that counts rows itself go on after the last ones. SQLite looks at the table.
    func continueNumbers(
        after last: [(table: CopiedTable, lastNumber: Int64)], _ connection: any Connection
    ) throws {
        guard file == nil else { return }
        for (table, number) in last {
            guard let column = table.number else { continue }
            _ = try connection.query(
                "SELECT setval(pg_get_serial_sequence(?1, ?2), CAST(?3 AS bigint)) AS last_number",
                [.text(table.text), .text("\(column.name)"), .integer(max(1, number))]
            ) { $0.isNull("last_number") }
        }
    }

    /// Connections of servers to a shared database; 0 for a file, whose lock says it.
    func countServers(_ connection: any Connection) throws -> Int64 {
        guard file == nil else { return 0 }
        return try connection.first(
            """
            SELECT count(*) AS servers FROM pg_stat_activity WHERE datname = current_database() \
            AND application_name IN ('till', 'till serve')
            """, []
        ) { $0.integer("servers") } ?? 0
    }
}

extension LedgerLocation {
    /// - Throws: `CommandError` while servers use a shared database.
    func requireNoServer(_ ledger: any Database) async throws {
        let servers = try await ledger.read { try countServers($0) }
        guard servers == 0 else {
            throw CommandError(
                LocalizedText(
                    en: "servers are working on the ledger \(name) (\(servers) connections); stop them first",
                    zh: "有服务器正在使用账本 \(name)（\(servers) 个连接）；请先停止它们"))
        }
    }
}

/// A ledger that is open, and what its driver says about itself.
struct OpenLedger: Sendable {
    let database: any Database
    /// How many writes wait for the driver.
    let waitingWrites: @Sendable () -> Int
    /// Nil for a file.
    let figures: @Sendable () async -> DatabaseFigures?
}

extension DatabaseFigures {
    /// The figures of the database's server are unknown while it can't be reached, and what the role may not see.
    fileprivate init(_ ledger: PostgresDatabase, writers: Int, readers: Int) async {
        let own = ledger.figures
        self.init(
            writers: Pool(busy: own.busyWriters, size: writers), readers: Pool(busy: own.busyReaders, size: readers))
        (exchanges, reruns, inDoubt) = (own.exchanges, own.reruns, own.inDoubt)
        (connects, failedConnects) = (own.connects, own.failedConnects)
        guard let found = await Self.replication(ledger) else { return }
        (lagMilliseconds, synchronousStandbys, waitingLocks) = (found.lag, found.synchronous, found.locks)
    }

    private typealias Replication = (lag: Int64?, synchronous: Int64?, locks: Int64)

    private static func replication(_ ledger: PostgresDatabase) async -> Replication? {
        do {
            return try await ledger.read { connection -> Replication? in
                try connection.first(
                    """
                    SELECT count(*) AS standbys, count(sync_state) AS visible, \
                    count(CASE WHEN sync_state IN ('sync', 'quorum') THEN 1 END) AS synchronous, \
                    CAST(coalesce(max(extract(epoch FROM replay_lag)), 0) * 1000 AS bigint) AS lag, \
                    (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                    AND datname = current_database()) AS locks FROM pg_stat_replication
                    """, []
                ) { row in
                    let visible = row.integer("visible")
                    return (
                        lag: visible > 0 ? row.integer("lag") : nil,
                        synchronous: visible == row.integer("standbys") ? row.integer("synchronous") : nil,
                        locks: row.integer("locks")
                    )
                }
            }
        } catch {
            // The other metrics of the scrape say that the ledger can't be read.
            return nil
        }
    }
}

extension PostgresLocation {
    func options(_ schema: DatabaseSchema, _ watch: CommitWatch? = nil) -> PostgresDatabase.Options {
        var options = PostgresDatabase.Options(schema)
        options.passwordFile = passwordFile
        options.commitWatch = watch
        if let connections { options.connections = connections }
        if let readers { options.readers = readers }
        if let statementMilliseconds { options.statementMilliseconds = statementMilliseconds }
        if let lockMilliseconds { options.lockMilliseconds = lockMilliseconds }
        return options
    }

    /// What the database's server says about itself and about this role.
    func state(_ schema: DatabaseSchema) throws(DatabaseError) -> TillPostgres.ServerState {
        try PostgresDatabase.state(address: address.text, options: options(schema))
    }
}

// MARK: What SQLite's file says

/// Checks of a ledger's file, beside the server that uses it.
extension LedgerLocation {
    /// Damaged pages and rows without their parents; empty for a database whose server checks its own pages.
    ///
    /// - Parameter isComplete: whether indices and references are compared too.
    static func damages(of ledger: any Database, isComplete: Bool) async throws -> [String] {
        guard let ledger = ledger as? SQLiteDatabase else { return [] }
        let damages = try await ledger.damages(isComplete: isComplete)
        return isComplete ? damages + (try await ledger.brokenReferences(limit: 20)) : damages
    }
}
