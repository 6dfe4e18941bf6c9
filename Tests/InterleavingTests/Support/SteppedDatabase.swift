import TillLedger
import TillPostgres
import TillSQL

/// A server's database: tells the stepper which of its bodies run.
struct SteppedDatabase: Database {
    let base: PostgresDatabase
    let stepper: Stepper
    let writers: Int

    var isShared: Bool { true }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await write(locking: keys(), reading: { [] }, body)
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], reading statements: @escaping @Sendable () throws -> [Statement],
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let base = base
        let operation = stepper.begin(
            Stepper.Writers(
                server: ObjectIdentifier(base), count: writers, busy: { base.figures.busyWriters },
                waiting: { base.waitingWrites }))
        defer { stepper.end(operation) }
        let reading = { @Sendable [stepper] in
            stepper.run(operation)
            return try statements()
        }
        return try await base.write(locking: keys(), reading: reading) { [stepper] connection in
            stepper.run(operation)
            return try body(connection)
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        let operation = stepper.begin()
        defer { stepper.end(operation) }
        return try await base.read { [stepper] connection in
            stepper.run(operation)
            return try body(connection)
        }
    }

    func close() async { await base.close() }
}

/// A planted mistake: a driver that takes no locks for the keys of its bodies.
struct KeylessDatabase<Base: Database>: Database {
    let base: Base

    var isShared: Bool { true }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await base.write(locking: []) { try body(KeylessConnection($0)) }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await base.read(body)
    }

    func close() async { await base.close() }
}

private final class KeylessConnection: Connection {
    private let base: any Connection
    init(_ base: any Connection) { self.base = base }

    var isShared: Bool { base.isShared }

    func lock(_ keys: @autoclosure () -> [LockKey]) {}

    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64] { try base.drawIDs(count, of: table) }

    func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult] { try base.run(statements) }

    func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int { try base.execute(sql, values) }

    func write(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) { try base.write(sql, values) }

    func prefetch(_ statements: () throws -> [Statement]) throws { try base.prefetch(statements) }

    func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64? {
        try base.insertIfNew(sql, values)
    }

    func query<Value>(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value) throws -> [Value] {
        try base.query(sql, values, read)
    }
}
