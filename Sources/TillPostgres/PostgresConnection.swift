import TillSQL

/// One body's use of a connection. It ends with the body; later calls fail.
final class PostgresConnection: Connection {
    private var transaction: PostgresTransaction?
    private let isReading: Bool
    /// Keys that the body found and the transaction does not hold.
    private(set) var undeclared: Set<LockKey> = []
    /// How many ids the body drew, by table.
    private(set) var drawn: [String: Int] = [:]
    /// Set when a statement failed. The body is then not committed, even if it ignores the error.
    private(set) var brokenBy: DatabaseError?

    /// Whether the body ends at the first statement after it found an undeclared key, because it runs again anyway. A
    /// body that finds further keys then runs to its end, to find them all at once.
    private var endsAtNewKey: Bool

    /// The keys that the body itself declared. Those of the other bodies of its transaction do not count: what it read
    /// ahead is older than their rows.
    private let held: Set<LockKey>

    init(
        _ transaction: PostgresTransaction, isReading: Bool, holding held: Set<LockKey> = [],
        endsAtNewKey: Bool = false
    ) {
        self.held = held
        self.transaction = transaction
        self.isReading = isReading
        self.endsAtNewKey = endsAtNewKey
    }

    var isShared: Bool { true }

    func end() { transaction = nil }

    private func usable() throws(DatabaseError) -> PostgresTransaction {
        guard let transaction else {
            throw DatabaseError(.other, "the connection was used after its body had returned")
        }
        if let brokenBy { throw brokenBy }
        if endsAtNewKey, !undeclared.isEmpty {
            throw DatabaseError(.busy, "the body runs again with the keys that it has found")
        }
        return transaction
    }

    func lock(_ keys: @autoclosure () -> [LockKey]) {
        guard transaction != nil else { return }
        for key in keys() where !held.contains(key) { undeclared.insert(key) }
    }

    func lockFirst(_ keys: [LockKey]) throws(DatabaseError) {
        lock(keys)
        guard !held.isSuperset(of: keys) else { return }
        endsAtNewKey = true
        _ = try usable()
    }

    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64] {
        let transaction = try usable()
        let name = "\(table)"
        drawn[name, default: 0] += count
        if let ids = transaction.takeIDs(count, of: name) { return ids }
        // A body that has drawn many will draw more: as many again come in one exchange.
        let most = max(count, min(drawn[name, default: 0], Self.mostDrawn))
        let ids = PostgresTransaction.ids(try exchange([transaction.draw(most, of: name)], transaction)[0])
        transaction.addIDs(Array(ids.dropFirst(count)), of: name)
        return Array(ids.prefix(count))
    }

    private static let mostDrawn = 64

    func drawKey(of table: StaticString) throws -> Int64? {
        try usable().handle.loadKeyColumns(of: "\(table)")
        return try drawID(of: table)
    }

    func keep(_ result: StatementResult, for statement: Statement) {
        transaction?.keep(.written(result), of: statement)
    }

    func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult] {
        let transaction = try usable()
        let commands = try statements.map { statement throws(DatabaseError) in
            try command(statement.sql, statement.values, transaction)
        }
        let results = try exchange(commands, transaction)
        var answer: [StatementResult] = []
        for (statement, result) in zip(statements, results) {
            answer.append(
                StatementResult(
                    of: statement.sql, changes: result.changes, names: result.names, values: try result.values()))
        }
        return answer
    }

    func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int {
        let transaction = try usable()
        return try exchange([command(sql, values, transaction)], transaction)[0].changes
    }

    func write(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) {
        let transaction = try usable()
        transaction.append(try command(sql, values, transaction))
    }

    func prefetch(_ statements: () throws -> [Statement]) throws {
        let transaction = try usable()
        let new = try statements().filter { transaction.fetched($0) == nil }
        let commands = try new.map { try command($0.sql, $0.values, transaction) }
        let results = try exchange(commands, transaction)
        for (statement, result) in zip(new, results) { transaction.keep(.read(result), of: statement) }
    }

    func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64? {
        let transaction = try usable()
        var command = try command(sql, values, transaction)
        command.returnsID = true
        if let table = command.text.changedTable { try transaction.handle.loadKeyColumns(of: table) }
        let result = try exchange([command], transaction)[0]
        guard result.rowCount > 0 else { return result.changes > 0 ? 0 : nil }
        guard let place = result.place(of: "row_key") else { return 0 }
        return result.integer(0, place)
    }

    func query<Value>(
        _ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value
    ) throws -> [Value] {
        let transaction = try usable()
        let statement = Statement(sql, values)
        if let known = transaction.fetched(statement) { return try known.rows(of: sql, read) }
        let command = try command(sql, values, transaction)
        let result = try exchange([command], transaction)[0]
        // A body that writes has its keys to itself: what it reads stays so until it changes it.
        if !isReading, result.rowCount <= Self.mostKeptRows { transaction.keep(.read(result), of: statement) }
        return try result.rows(of: sql, read)
    }

    private static let mostKeptRows = 64

    private func exchange(
        _ commands: [Command], _ transaction: PostgresTransaction
    ) throws(DatabaseError) -> [ResultSet] {
        do {
            return try transaction.exchange(commands)
        } catch {
            brokenBy = error
            throw error
        }
    }

    private func command(
        _ sql: SQL, _ values: [SQLValue], _ transaction: PostgresTransaction
    ) throws(DatabaseError) -> Command {
        let command = transaction.handle.command(sql, values)
        let text = command.text
        guard text.isAllowed else { throw DatabaseError(.other, "a body must not run this statement: \(sql)") }
        guard text.parameterCount == values.count else {
            throw DatabaseError(.other, "\(values.count) values for \(text.parameterCount) marks in \(sql)")
        }
        guard let table = text.changedTable else { return command }
        guard !isReading else { throw DatabaseError(.other, "a read cannot change anything: \(sql)") }
        transaction.willChange(table)
        return command
    }
}
