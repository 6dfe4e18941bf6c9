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

    var isShared: Bool { false }

    func end() { connection = nil }

    /// SQLite has one writer, so a body has the file to itself.
    func lock(_ keys: @autoclosure () -> [LockKey]) {}

    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64] {
        let last = try last(of: table)
        drawn.set(last + Int64(count), of: table)
        return (0..<count).map { last + 1 + Int64($0) }
    }

    func drawID(of table: StaticString) throws -> Int64 {
        let id = try last(of: table) + 1
        drawn.set(id, of: table)
        return id
    }

    private func last(of table: StaticString) throws -> Int64 {
        try drawn.last(of: table)
            ?? first("SELECT coalesce(max(row_id), 0) AS last FROM \(table: table)", []) { $0.integer("last") } ?? 0
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
        prepared.beginReading()
        defer {
            prepared.endReading()
            connection.finish(prepared)
        }
        var values: [[SQLValue]] = []
        let before = sqlite3_total_changes64(connection.handle)
        let code = prepared.bound(to: statement.values) {
            var code = sqlite3_step(prepared.pointer)
            if code == SQLITE_ROW { prepared.refreshColumns() }
            while code == SQLITE_ROW {
                values.append(prepared.values())
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
        var answer: [Value] = []
        try each(sql, values) { answer.append(try read($0)) }
        return answer
    }

    func each(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Void) throws {
        let connection = try usable()
        let statement = try ready(sql, values, connection)
        statement.beginReading()
        defer {
            statement.endReading()
            connection.finish(statement)
        }
        var refusal: (any Error)?
        let code = statement.bound(to: values) {
            var isFirst = true
            while true {
                let code = sqlite3_step(statement.pointer)
                guard code == SQLITE_ROW else { return code }
                if isFirst { statement.refreshColumns() }
                isFirst = false
                do {
                    try read(statement)
                } catch {
                    refusal = error
                    return SQLITE_DONE
                }
            }
        }
        if let missing = statement.missing { throw DatabaseError(.other, "no column \(missing) in \(sql)") }
        if let refusal { throw refusal }
        guard code == SQLITE_DONE else { throw failed(code, sql, connection) }
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
    private var last: [(table: StaticString, id: Int64)] = []

    fileprivate func last(of table: StaticString) -> Int64? { index(of: table).map { last[$0].id } }

    fileprivate func set(_ id: Int64, of table: StaticString) {
        if let index = index(of: table) { last[index].id = id } else { last.append((table, id)) }
    }

    /// Names are compared by address first: few tables are drawn for, each by one literal.
    private func index(of table: StaticString) -> Int? {
        last.firstIndex { $0.table.utf8Start == table.utf8Start }
            ?? last.firstIndex { "\($0.table)" == "\(table)" }
    }

    func forget() { last = [] }
}
