import CTillSQLite
import TillSQL

/// Opens the connections to one database.
final class ConnectionFactory: @unchecked Sendable {
    let lock: ServerLock?
    let options: SQLiteDatabase.Options
    private let path: String

    /// How long a connection waits for another program that locks the file, such as a backup or `sqlite3`.
    static let busyMilliseconds: Int32 = 5_000
    /// How long a restart of the log makes the writer wait for queries that still read the log: long enough for most
    /// queries, and short compared with the time the log takes to grow by the quarter after which the restart is tried
    /// again.
    private static let restartMilliseconds: Int32 = 10

    /// For a server: locks, creates, checks and migrates the file. For an operator: only checks it.
    init(path: String, role: DatabaseRole, options: SQLiteDatabase.Options) throws(DatabaseError) {
        self.options = options
        if options.vfs == nil {
            let file = try DatabaseFile(path)
            self.path = file.path
            switch role {
            case .server:
                lock = try ServerLock(for: file.path)
                try file.createIfMissing()
            case .operator:
                lock = nil
                guard file.exists else { throw DatabaseError(.other, "there is no database at \(file.path)") }
            }
        } else {
            self.path = path
            lock = nil
        }
        switch role {
        case .server: try prepareServer()
        case .operator: try checkOperator()
        }
    }

    private func prepareServer() throws(DatabaseError) {
        try switchToLog()
        let connection = try writer()
        defer { connection.close() }
        try connection.migrate(options)
    }

    private func switchToLog() throws(DatabaseError) {
        let connection = try connect(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        defer { connection.close() }
        try DatabaseIdentity(of: connection).check(path, options)
        try connection.checkHistory(options)
        try connection.checkBackfills(options)
        let mode = try connection.text("PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw DatabaseError(.other, "\(path) is on a file system without shared memory; use a local disk")
        }
    }

    private func checkOperator() throws(DatabaseError) {
        let connection = try reader()
        defer { connection.close() }
        let identity = try DatabaseIdentity(of: connection)
        try identity.check(path, options)
        try connection.checkHistory(options)
        guard identity.version == options.schema.version else {
            throw DatabaseError(
                .other,
                "\(path) has schema version \(identity.version), this program needs "
                    + "\(options.schema.version); start the server once, or run `till migrate` while no server runs")
        }
    }

    /// The version of the file at `path`, which this program knows; 0 if there is no file or an empty one.
    static func version(
        of path: String, _ options: SQLiteDatabase.Options, forServer: Bool
    ) throws(DatabaseError) -> Int {
        let file = try DatabaseFile(path)
        guard file.exists else { return 0 }
        let connection = try SQLiteHandle(
            path: file.path, flags: SQLITE_OPEN_READONLY, vfs: options.vfs, busyMilliseconds: busyMilliseconds)
        defer { connection.close() }
        let identity = try DatabaseIdentity(of: connection)
        try identity.check(file.path, options)
        try connection.checkHistory(options)
        if forServer { try connection.checkBackfills(options) }
        return identity.version
    }

    func writer() throws(DatabaseError) -> SQLiteHandle {
        let connection = try connect(SQLITE_OPEN_READWRITE)
        do throws(DatabaseError) {
            try configure(connection)
            try checkMode(connection)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    /// SQLite answers `wal` even if a failing disk kept it from writing that mode into the file; another connection
    /// then finds the file in another mode. In that mode a commit may be answered before the deletion of its journal is
    /// on disk, and a power cut would roll it back.
    private func checkMode(_ connection: SQLiteHandle) throws(DatabaseError) {
        guard try connection.text("PRAGMA journal_mode") == "wal" else {
            throw DatabaseError(
                .inputOutput,
                "\(path) could not get a write-ahead log; check the disk's health in the system log, then start the "
                    + "server again")
        }
    }

    func checkpointer() throws(DatabaseError) -> SQLiteHandle {
        let connection = try connect(SQLITE_OPEN_READWRITE)
        try configure(connection)
        sqlite3_busy_timeout(connection.handle, options.threads == .own ? Self.restartMilliseconds : 0)
        return connection
    }

    func reader() throws(DatabaseError) -> SQLiteHandle {
        let connection = try connect(SQLITE_OPEN_READONLY)
        try connection.run(script: "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY")
        return connection
    }

    private func connect(_ flags: Int32) throws(DatabaseError) -> SQLiteHandle {
        // Inline, no other thread runs that could release the file during a wait.
        let busy = options.threads == .own ? Self.busyMilliseconds : 0
        return try SQLiteHandle(path: path, flags: flags, vfs: options.vfs, busyMilliseconds: busy)
    }

    private func configure(_ connection: SQLiteHandle) throws(DatabaseError) {
        // temp_store: otherwise a savepoint's page copies go to a temporary file from 64 KiB on.
        // secure_delete: what an erasure deletes is overwritten. Debian's library does so anyway.
        // journal_size_limit: truncates a log that grew during a long query when the log restarts.
        try connection.run(
            script: """
                PRAGMA synchronous = \(options.synchronous);
                PRAGMA foreign_keys = ON;
                PRAGMA secure_delete = ON;
                PRAGMA temp_store = MEMORY;
                PRAGMA journal_size_limit = \(options.logLimitBytes);
                """)
    }
}
