import CTillSQLite
import TillSQL

/// One body's use of a connection. It ends with the body; later calls fail.
final class SQLiteConnection: Connection {
    private var connection: SQLiteHandle?
    private let access: Access
    private let drawn: DrawnIDs

    /// Set when a statement failed in a way that leaves the whole transaction in doubt. The body is then not committed,
    /// even if it ignores the error.
    private(set) var brokenBy: DatabaseError?

    /// Whether a statement of this body may have changed something.
    private(set) var hasChanged = false

    enum Access {
        case reading
        /// With a savepoint, which the body's first change sets, the body can be rolled back alone.
        case writing(savepoint: Bool)
    }

    init(_ connection: SQLiteHandle, _ access: Access, _ drawn: DrawnIDs = DrawnIDs()) {
        self.connection = connection
        self.access = access
        self.drawn = drawn
    }

    func end() { connection = nil }

    /// SQLite has one writer, so a body has the file to itself.
    func lock(_ keys: @autoclosure () -> [LockKey]) {}

    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64] {
        let name = "\(table)"
        let last =
            try drawn.last[name]
            ?? first("SELECT coalesce(max(row_id), 0) AS last FROM \(table: table)", []) { $0.integer("last") } ?? 0
        drawn.last[name] = last + Int64(count)
        return (0..<count).map { last + 1 + Int64($0) }
    }

    func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult] {
        var results: [StatementResult] = []
        results.reserveCapacity(statements.count)
        for statement in statements { results.append(try run(statement)) }
        return results
    }

    private func run(_ statement: Statement) throws(DatabaseError) -> StatementResult {
        let connection = try usable()
        let prepared = try ready(statement.sql, statement.values, connection)
        let row = CurrentRow(of: prepared)
        defer {
            row.end()
            connection.finish(prepared)
        }
        var values: [[SQLValue]] = []
        let before = sqlite3_total_changes64(connection.handle)
        let code = prepared.bound(to: statement.values) {
            var code = sqlite3_step(prepared.pointer)
            if code == SQLITE_ROW { prepared.refreshColumns() }
            while code == SQLITE_ROW {
                values.append(row.values())
                code = sqlite3_step(prepared.pointer)
            }
            return code
        }
        guard code == SQLITE_DONE else { throw failed(code, statement.sql, connection) }
        return StatementResult(
            of: statement.sql, changes: Self.changes(since: before, connection), names: prepared.columnNames,
            values: values)
    }

    func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int {
        let connection = try usable()
        let statement = try ready(sql, values, connection)
        defer { connection.finish(statement) }
        let before = sqlite3_total_changes64(connection.handle)
        let code = statement.bound(to: values) {
            var code = sqlite3_step(statement.pointer)
            while code == SQLITE_ROW { code = sqlite3_step(statement.pointer) }
            return code
        }
        guard code == SQLITE_DONE else { throw failed(code, sql, connection) }
        return Self.changes(since: before, connection)
    }

    /// `sqlite3_changes64` keeps the count of an earlier statement when the last one was no insert, update or delete.
    private static func changes(since before: Int64, _ connection: SQLiteHandle) -> Int {
        sqlite3_total_changes64(connection.handle) == before ? 0 : Int(sqlite3_changes64(connection.handle))
    }

    func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64? {
        guard try execute(sql, values) > 0, let connection else { return nil }
        return sqlite3_last_insert_rowid(connection.handle)
    }

    func query<Value>(
        _ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value
    ) throws -> [Value] {
        let connection = try usable()
        let statement = try ready(sql, values, connection)
        let row = CurrentRow(of: statement)
        defer {
            row.end()
            connection.finish(statement)
        }
        var answer: [Value] = []
        var refusal: (any Error)?
        let code = statement.bound(to: values) {
            while true {
                let code = sqlite3_step(statement.pointer)
                guard code == SQLITE_ROW else { return code }
                if answer.isEmpty { statement.refreshColumns() }
                do {
                    answer.append(try read(row))
                } catch {
                    refusal = error
                    return SQLITE_DONE
                }
            }
        }
        if let missing = row.missing { throw DatabaseError(.other, "no column \(missing) in \(sql)") }
        if let refusal { throw refusal }
        guard code == SQLITE_DONE else { throw failed(code, sql, connection) }
        return answer
    }

    private func usable() throws(DatabaseError) -> SQLiteHandle {
        guard let connection else { throw DatabaseError(.other, "the connection was used after its body had returned") }
        if let brokenBy { throw brokenBy }
        return connection
    }

    private func ready(
        _ sql: SQL, _ values: [SQLValue], _ connection: SQLiteHandle
    ) throws(DatabaseError) -> PreparedStatement {
        let statement: PreparedStatement
        do {
            statement = try connection.statement(sql)
        } catch {
            // Preparing a statement reads the schema from the disk.
            if error.kind != .other { brokenBy = error }
            throw error
        }
        do throws(DatabaseError) {
            // Bodies share the transaction, so a body must not control it.
            guard !statement.isControl else {
                throw DatabaseError(.other, "a body must not run this statement: \(sql)")
            }
            guard statement.parameterCount == values.count else {
                throw DatabaseError(.other, "\(values.count) values for \(statement.parameterCount) marks in \(sql)")
            }
            if !statement.isReadOnly { try beforeChange(sql, connection) }
        } catch {
            connection.finish(statement)
            throw error
        }
        return statement
    }

    private func beforeChange(_ sql: SQL, _ connection: SQLiteHandle) throws(DatabaseError) {
        guard case .writing(let savepoint) = access else {
            throw DatabaseError(.other, "a read cannot change anything: \(sql)")
        }
        guard !hasChanged else { return }
        if savepoint {
            do {
                try connection.run("SAVEPOINT body")
            } catch {
                brokenBy = error
                throw error
            }
        }
        hasChanged = true
    }

    private func failed(_ code: Int32, _ sql: SQL, _ connection: SQLiteHandle) -> DatabaseError {
        let error = connection.fault(code, "running \(sql)")
        switch code & 0xFF {
        case SQLITE_CONSTRAINT, SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_TOOBIG, SQLITE_MISUSE:
            // SQLite rolled back only this statement; the transaction continues
            // (https://sqlite.org/lang_transaction.html).
            if case .writing = access, !connection.isInTransaction { brokenBy = error }
        default:
            brokenBy = error
        }
        return error
    }
}

/// The highest id that the bodies of a batch have drawn for each table: each table is read once in a batch. Forgotten
/// when a body fails, because its ids are free again.
final class DrawnIDs {
    fileprivate var last: [String: Int64] = [:]

    func forget() { last = [:] }
}
