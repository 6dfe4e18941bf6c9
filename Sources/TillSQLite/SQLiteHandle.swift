import CTillSQLite
import TillSQL

/// One SQLite connection with its prepared statements. One thread uses it at a time.
final class SQLiteHandle {
    let handle: OpaquePointer
    private var statements = StatementTable()

    /// How many pages the write-ahead log held after this connection's last commit.
    private(set) var logPages = 0

    /// Refused, without harm, where the process has used SQLite before.
    private static let isLibraryConfigured: Bool = till_sqlite_without_memory_statistics() == SQLITE_OK

    init(path: String, flags: Int32, vfs: String?, busyMilliseconds: Int32) throws(DatabaseError) {
        _ = Self.isLibraryConfigured
        var handle: OpaquePointer?
        // NOMUTEX: one thread at a time uses a connection. EXRESCODE: `DatabaseError.Kind` needs the extended codes.
        let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
        guard code == SQLITE_OK, let handle else {
            let error = DatabaseError(code: code, connection: handle, doing: "opening \(path)")
            sqlite3_close(handle)
            throw error
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, busyMilliseconds)
        // "x" is a column and 'x' a text; by default SQLite would read a misspelt "x" as a text.
        _ = till_sqlite_configure(handle, SQLITE_DBCONFIG_DQS_DML, 0)
        _ = till_sqlite_configure(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
        _ = till_sqlite_configure(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        // The hook also replaces SQLite's automatic checkpoints after 1000 pages: see Checkpointer.
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<SQLiteHandle>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages)
                return SQLITE_OK
            },
            // The connection closes its handle, and removes the hook, before it is deallocated.
            Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { close() }

    private var isClosed = false

    func close() {
        guard !isClosed else { return }
        isClosed = true
        statements.forEach { sqlite3_finalize($0.pointer) }
        statements = StatementTable()
        sqlite3_wal_hook(handle, nil, nil)
        sqlite3_close_v2(handle)
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Whether a foreign key that is checked only at the commit is unsatisfied at this point of the transaction.
    var hasOpenForeignKeys: Bool {
        var current: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }

    /// The extended code of the last error.
    private(set) var lastCode = SQLITE_OK

    func fault(_ code: Int32, _ doing: String) -> DatabaseError {
        lastCode = code
        return DatabaseError(code: code, connection: handle, doing: doing)
    }

    // MARK: Statements

    /// Returns the prepared form of `sql`, ready to run. Give it back with `finish`.
    func statement(_ sql: SQL) throws(DatabaseError) -> PreparedStatement {
        let known = statements.find(sql)
        if let known, !known.isRunning {
            known.isRunning = true
            return known
        }
        let prepared = try prepare(sql.description)
        prepared.isRunning = true
        if known == nil {
            statements.insert(prepared, of: sql)
            prepared.isKept = true
        }
        return prepared
    }

    func finish(_ statement: PreparedStatement) {
        sqlite3_reset(statement.pointer)
        statement.isRunning = false
        if !statement.isKept { sqlite3_finalize(statement.pointer) }
    }

    private func prepare(_ text: String) throws(DatabaseError) -> PreparedStatement {
        var pointer: OpaquePointer?
        var rest = ""
        let code = text.withCString { start in
            var tail: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v3(handle, start, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, &tail)
            if let tail { rest = String(cString: tail) }
            return code
        }
        guard code == SQLITE_OK, let pointer else {
            throw fault(code == SQLITE_OK ? SQLITE_MISUSE : code, "preparing \(text)")
        }
        guard rest.allSatisfy({ $0.isWhitespace || $0 == ";" }) else {
            sqlite3_finalize(pointer)
            throw DatabaseError(.other, "more than one statement in \(text)")
        }
        return PreparedStatement(pointer)
    }

    // MARK: The driver's own statements

    /// Runs one of the driver's own statements, without values; rows are ignored.
    func run(_ sql: SQL) throws(DatabaseError) {
        let statement = try statement(sql)
        defer { finish(statement) }
        var code = sqlite3_step(statement.pointer)
        while code == SQLITE_ROW { code = sqlite3_step(statement.pointer) }
        guard code == SQLITE_DONE else { throw fault(code, "\(sql)") }
    }

    /// Runs a script of any number of statements.
    func run(script: String) throws(DatabaseError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault(code, "running \(script.prefix(60))") }
    }

    /// Returns the first column of the first row as text; nil without a row.
    func text(_ sql: SQL) throws(DatabaseError) -> String? {
        let statement = try statement(sql)
        defer { finish(statement) }
        let code = sqlite3_step(statement.pointer)
        guard code == SQLITE_ROW else {
            if code == SQLITE_DONE { return nil }
            throw fault(code, "\(sql)")
        }
        return sqlite3_column_text(statement.pointer, 0).map { String(cString: $0) } ?? ""
    }

    func integer(_ sql: SQL) throws(DatabaseError) -> Int64 {
        guard let text = try text(sql) else { return 0 }
        return Int64(text) ?? 0
    }

    /// Moves pages from the write-ahead log into the database file.
    /// - Returns: how many pages the log holds, and how many of them are in the database file now.
    @discardableResult
    func checkpoint(_ mode: Int32) throws(DatabaseError) -> (log: Int, moved: Int) {
        var log: Int32 = 0
        var moved: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &log, &moved)
        guard code == SQLITE_OK else { throw fault(code, "checkpoint") }
        return (Int(log), Int(moved))
    }
}
