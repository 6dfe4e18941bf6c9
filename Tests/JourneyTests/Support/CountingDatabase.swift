import TillSQL
import TillThreads

/// A database that counts the statements of its bodies and the rows that they read.
struct CountingDatabase: Database {
    struct Count: Hashable, CustomStringConvertible {
        var statements = 0
        var rows = 0

        var description: String { "\(statements) statements, \(rows) rows" }
    }

    let base: any Database
    private let counted = Locked(Count())

    init(_ base: any Database) { self.base = base }

    var isShared: Bool { base.isShared }

    /// What an action did.
    func count(_ action: () async throws -> Void) async throws -> Count {
        let before = counted.withLock { $0 }
        try await action()
        let after = counted.withLock { $0 }
        return Count(statements: after.statements - before.statements, rows: after.rows - before.rows)
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await base.write(locking: keys()) { [counted] in try body(CountingConnection($0, counted)) }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await base.read { [counted] in try body(CountingConnection($0, counted)) }
    }

    func close() async { await base.close() }
}

private final class CountingConnection: Connection {
    private let base: any Connection
    private let counted: Locked<CountingDatabase.Count>

    init(_ base: any Connection, _ counted: Locked<CountingDatabase.Count>) {
        self.base = base
        self.counted = counted
    }

    private func count(statements: Int, rows: Int = 0) {
        counted.withLock { count in
            count.statements += statements
            count.rows += rows
        }
    }

    var isShared: Bool { base.isShared }

    func lock(_ keys: @autoclosure () -> [LockKey]) { base.lock(keys()) }

    func lockFirst(_ keys: [LockKey]) throws(DatabaseError) { try base.lockFirst(keys) }

    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64] { try base.drawIDs(count, of: table) }

    func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult] {
        count(statements: statements.count)
        return try base.run(statements)
    }

    func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int {
        count(statements: 1)
        return try base.execute(sql, values)
    }

    func write(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) {
        count(statements: 1)
        try base.write(sql, values)
    }

    func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64? {
        count(statements: 1)
        return try base.insertIfNew(sql, values)
    }

    func query<Value>(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value) throws -> [Value] {
        let found = try base.query(sql, values, read)
        count(statements: 1, rows: found.count)
        return found
    }
}
