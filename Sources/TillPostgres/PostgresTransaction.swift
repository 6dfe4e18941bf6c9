import TillSQL

/// One transaction on one connection. Statements whose results are not needed wait, and travel with the next statement
/// that needs one, or with the commit.
final class PostgresTransaction {
    let handle: PostgresHandle
    private var kind: Kind
    private let needingSnapshot: Set<String>
    /// The first statement that a body ran.
    private(set) var first: String?
    private var waiting: [Waiting] = []
    /// The rows of bodies that have ended, and the keys of these bodies. They are sent together, before the first
    /// statement that may depend on them and with the commit at the latest.
    private var (kept, keptKeys): ([[Command]], Set<LockKey>) = ([], [])
    /// How many exchanges there were.
    private(set) var sentCount = 0
    private var isOpen = false
    /// What made the transaction unusable.
    private(set) var failure: PostgresError?
    /// Whether a row was certainly written.
    private(set) var hasWritten = false
    /// How many rows were sent to be written by commands that change rows, and how many wait.
    private(set) var sentWrites = 0
    var waitingWrites: Int { count(waiting.map(\.command)) + keptWrites }
    /// How many rows of bodies that have ended wait.
    var keptWrites: Int { kept.reduce(0) { $0 + count($1) } }
    /// Rows of queries that were made in advance, with the tables that they depend on.
    private var fetched: Facts = [:]

    /// Rows by query.
    typealias Facts = [Statement: (rows: KnownRows, tables: Set<String>)]

    enum KnownRows {
        case read(ResultSet)
        case written(StatementResult)

        func rows<Value>(of sql: SQL, _ read: (any Row) throws -> Value) throws -> [Value] {
            switch self {
            case .read(let rows): try rows.rows(of: sql, read)
            case .written(let rows): try rows.rows(read)
            }
        }
    }

    /// Ids of new rows by table that no body has used yet. They end with the transaction: drawn after its keys were
    /// locked, the ids of rows that share a key follow the order of the commits.
    private var drawn: [String: [Int64]] = [:]

    private struct Waiting {
        let command: Command
        let purpose: Purpose

        enum Purpose: Equatable {
            case control
            case statement
            /// The ids of new rows of this table, drawn before a body asks for them.
            case ids(String)
            case markFacts
        }

        /// Whether it inserts one row that neither changes nor reads another one.
        var isPlainRow: Bool {
            guard purpose == .statement, command.rows == 1, let row = command.text.rowInsert else { return false }
            return !command.returnsID && !row.mayUpdate && !row.hasQuery
        }
    }

    enum Kind {
        case writing
        /// One state of the data for all queries.
        case snapshot
        /// One query, which needs no transaction around it. A second one is refused.
        case query
    }

    /// The code of the refusal.
    static let needsSnapshot = "till: snapshot"

    /// What a change of one of these tables leaves beside it.
    private let marking: (mark: CommitMark, tables: Set<String>)?
    private var needsMark = false
    private var markFacts: ResultSet?
    private lazy var tablesOfFacts = marking.map { handle.text(of: $0.mark.facts).tables } ?? []
    private var factsAreStale = false

    /// - Parameter snapshotsFor: first statements of bodies that make several queries.
    init(
        _ handle: PostgresHandle, _ kind: Kind, locking keys: Set<LockKey> = [], snapshotsFor queries: Set<String> = [],
        marking: (mark: CommitMark, tables: Set<String>)? = nil
    ) {
        self.handle = handle
        self.marking = marking
        self.kind = kind
        needingSnapshot = queries
        switch kind {
        case .writing:
            control("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            if !keys.isEmpty { waiting.append(Waiting(command: lock(keys), purpose: .control)) }
            if let marking {
                waiting.append(Waiting(command: handle.command(marking.mark.facts, []), purpose: .markFacts))
            }
        case .snapshot: beginSnapshot()
        case .query: break
        }
    }

    private func beginSnapshot() {
        kind = .snapshot
        control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// The locks are taken in the order of the array, which is the same for all servers.
    private func lock(_ keys: Set<LockKey>) -> Command {
        let numbers = Set(keys.map(\.lockNumber)).sorted()
        return handle.command(
            "SELECT pg_advisory_xact_lock(key) FROM unnest(string_to_array(?1, ',')::bigint[]) AS key",
            [.text(numbers.map { "\($0)" }.joined(separator: ","))])
    }

    // MARK: Statements

    /// Sends what waits and these commands in one exchange.
    ///
    /// - Returns: the results of these commands.
    func exchange(_ commands: [Command]) throws(DatabaseError) -> [ResultSet] {
        if let failure { throw failure.error }
        guard !commands.isEmpty else { return [] }
        if first == nil {
            first = commands[0].text.source
            if kind == .query, commands.count > 1 || needingSnapshot.contains(commands[0].text.source) {
                beginSnapshot()
            }
        }
        if waiting.contains(where: { $0.purpose == .statement }) || commands.contains(where: \.isWrite) { joinKept() }
        let before = Self.joined(waiting)
        waiting = []
        sentCount += 1
        isOpen = kind != .query
        do throws(PostgresError) {
            guard kind != .query || sentCount == 1 else {
                let error = DatabaseError(.busy, "the read runs again in one snapshot")
                throw PostgresError(code: Self.needsSnapshot, error, isLost: false)
            }
            let results = try handle.exchange(before.map(\.command) + commands)
            for (waiting, result) in zip(before, results) {
                note(waiting.command, result)
                switch waiting.purpose {
                case .ids(let table): addIDs(Self.ids(result), of: table)
                case .markFacts: markFacts = result
                case .control, .statement: break
                }
            }
            let own = Array(results.suffix(commands.count))
            for (command, result) in zip(commands, own) { note(command, result) }
            return own
        } catch {
            failure = error
            throw error.error
        }
    }

    private func count(_ commands: [Command]) -> Int { commands.reduce(0) { $0 + ($1.isWrite ? $1.rows : 0) } }

    private func note(_ command: Command, _ result: ResultSet) {
        guard command.isWrite else { return }
        sentWrites += command.rows
        if result.changes > 0 { hasWritten = true }
    }

    /// Lets a command wait for the next exchange.
    func append(_ command: Command) { waiting.append(Waiting(command: command, purpose: .statement)) }

    /// Many rows that follow one another into a table travel in statements of several rows, as those of several bodies.
    private static func joined(_ waiting: [Waiting]) -> [Waiting] {
        guard waiting.count >= fewestJoined else { return waiting }
        var (all, rows): ([Waiting], [Waiting]) = ([], [])
        func end() {
            var shared = SharedStatements()
            shared.add(rows.map(\.command))
            all +=
                rows.count < fewestJoined
                ? rows : shared.commands.map { Waiting(command: $0, purpose: .statement) }
            rows = []
        }
        for one in waiting {
            if let last = rows.last, last.command.text !== one.command.text || !one.isPlainRow { end() }
            if one.isPlainRow { rows.append(one) } else { all.append(one) }
        }
        end()
        return all
    }

    private static let fewestJoined = 4

    func control(_ sql: SQL) { waiting.append(Waiting(command: handle.command(sql), purpose: .control)) }

    var mark: Int { waiting.count }

    /// Removes what was appended since `mark`, if nothing was sent since.
    func removeWaiting(from mark: Int) { waiting.removeSubrange(min(mark, waiting.count)...) }

    // MARK: Rows of bodies that have ended

    /// A body with these keys begins: it sees the rows of the bodies that share one of them.
    func begin(_ keys: [LockKey]) {
        if !keptKeys.isDisjoint(with: keys) { joinKept() }
    }

    /// The body has ended well, and an exchange took place in it: its rows wait for those of the bodies after it.
    func keep(_ keys: [LockKey]) {
        let rows = waiting.filter { $0.purpose == .statement }
        guard !rows.isEmpty, rows.count == waiting.count else { return }
        kept.append(rows.map(\.command))
        keptKeys.formUnion(keys)
        waiting = []
    }

    /// The rows of the bodies before go with the next exchange, in front of what already waits for it.
    private func joinKept() {
        guard !kept.isEmpty else { return }
        var shared = SharedStatements()
        for body in kept { shared.add(body) }
        waiting = shared.commands.map { Waiting(command: $0, purpose: .statement) } + waiting
        (kept, keptKeys) = ([], [])
    }

    func willChange(_ table: String?) {
        if let marking, let table {
            if marking.tables.contains(table) { needsMark = true }
            // A restore raises the epoch, which its own mark states.
            if tablesOfFacts.contains(table) { factsAreStale = true }
        }
        guard !fetched.isEmpty else { return }
        guard let table else { return fetched = [:] }
        guard fetched.values.contains(where: { $0.tables.contains(table) }) else { return }
        fetched = fetched.filter { !$0.value.tables.contains(table) }
    }

    func forgetFetched() { fetched = [:] }

    /// Makes the queries of several bodies in one exchange.
    func readAhead(_ reads: [[Statement]]) throws(DatabaseError) -> [Facts] {
        var commands: [Command] = []
        for statement in reads.joined() {
            let command = handle.command(statement.sql, statement.values)
            guard command.text.verb == "SELECT", command.text.parameterCount == statement.values.count else {
                throw DatabaseError(.other, "a body cannot begin with this statement: \(statement.sql)")
            }
            commands.append(command)
        }
        var results = try exchange(commands)[...]
        return reads.map { statements in
            var facts: Facts = [:]
            for statement in statements {
                guard let rows = results.popFirst() else { continue }
                facts[statement] = (.read(rows), handle.text(of: statement.sql).tables)
            }
            return facts
        }
    }

    /// The next body begins with these rows.
    func know(_ facts: Facts) { fetched = facts }

    func keep(_ rows: KnownRows, of statement: Statement) {
        fetched[statement] = (rows, handle.text(of: statement.sql).tables)
    }

    func fetched(_ statement: Statement) -> KnownRows? { fetched.isEmpty ? nil : fetched[statement]?.rows }

    // MARK: Row ids

    /// Ids that no body has used yet; nil if there are too few.
    func takeIDs(_ count: Int, of table: String) -> [Int64]? {
        guard let known = drawn[table], known.count >= count else { return nil }
        drawn[table] = Array(known.dropFirst(count))
        return Array(known.prefix(count))
    }

    func addIDs(_ ids: [Int64], of table: String) { drawn[table, default: []] += ids }

    static func ids(_ result: ResultSet) -> [Int64] {
        (0..<Int32(result.rowCount)).compactMap { result.integer($0, 0) }
    }

    /// The next exchange brings ids of new rows.
    func drawAhead(_ count: Int, of table: String) {
        let missing = count - (drawn[table]?.count ?? 0)
        guard missing > 0 else { return }
        waiting.append(Waiting(command: draw(missing, of: table), purpose: .ids(table)))
    }

    func draw(_ count: Int, of table: String) -> Command {
        handle.command(
            """
            SELECT nextval(pg_get_serial_sequence(?1, ?2)::regclass) AS id FROM generate_series(1::bigint, ?3)
            """, [.text(table), .text(handle.keyColumn(of: table)), .integer(Int64(count))])
    }

    // MARK: The end

    /// Commits. A transaction that wrote nothing still writes to PostgreSQL's log, so that its answer rests on
    /// nothing that a standby lacks (docs/decisions/0072).
    ///
    /// - Throws: an error with `mayHaveCommitted` if the outcome is unknown.
    func commit() throws(PostgresError) {
        if let failure { throw failure }
        joinKept()
        guard isOpen || waiting.contains(where: { $0.purpose == .statement }) else { return }
        let mark = try commitMark()
        var all = Self.joined(waiting).filter { if case .ids = $0.purpose { false } else { true } }.map(\.command)
        if let mark { all.append(mark) }
        waiting = []
        let writes = hasWritten || all.contains(where: \.text.alwaysWrites)
        if !writes { all.append(handle.command("SELECT pg_logical_emit_message(true, 'till', '')")) }
        all.append(handle.command("COMMIT"))
        _ = handle.takeWarning()
        // A waiting statement may fail in this exchange, which then leaves a transaction to roll back.
        isOpen = true
        do throws(PostgresError) {
            let results = try handle.exchange(all)
            isOpen = false
            guard results.last?.tag == "COMMIT" else {
                throw PostgresError(
                    code: "", DatabaseError(.other, "the commit was answered \(results.last?.tag ?? "")"), isLost: false
                )
            }
        } catch {
            failure = error
            guard error.isLost else { throw error }
            throw PostgresError(code: error.code, error.error.inDoubt, isLost: true)
        }
        if let warning = handle.takeWarning() {
            // The row is on this server; whether it is on a standby is unknown.
            throw PostgresError(code: "", DatabaseError(.busy, warning).inDoubt, isLost: false)
        }
    }

    /// The command that writes this transaction's mark; nil if it leaves none.
    private func commitMark() throws(PostgresError) -> Command? {
        guard let marking, needsMark else { return nil }
        let sql = marking.mark.facts
        do {
            // Most transactions have read something before, and the facts came with it.
            waiting.removeAll { $0.purpose == .markFacts }
            let known = factsAreStale ? nil : markFacts
            let facts = if let known { known } else { try exchange([handle.command(sql, [])])[0] }
            guard let statement = try facts.rows(of: sql, marking.mark.statement).first else {
                throw DatabaseError(.other, "a commit's mark has no facts: \(sql)")
            }
            return handle.command(statement.sql, statement.values)
        } catch {
            if let failure { throw failure }
            let known = error as? DatabaseError ?? DatabaseError(.other, "\(error)")
            throw PostgresError(code: "", known, isLost: false)
        }
    }

    /// Ends a snapshot.
    func end() throws(PostgresError) {
        guard isOpen, failure == nil else { return }
        isOpen = false
        _ = try handle.exchange([handle.command("COMMIT")])
    }

    /// - Returns: whether the connection can be used further.
    func rollBack() -> Bool {
        if let failure, failure.needsOtherServer { return false }
        (waiting, kept) = ([], [])
        guard isOpen else { return true }
        isOpen = false
        do throws(PostgresError) {
            _ = try handle.exchange([handle.command("ROLLBACK")])
            return true
        } catch {
            return false
        }
    }
}

extension DatabaseError {
    /// The same error, marked as one that may have occurred after the commit.
    var inDoubt: DatabaseError { DatabaseError(kind, detail, mayHaveCommitted: true) }
}

extension LockKey {
    /// The number of its advisory lock: the same on every server and in every version. Two keys that share a number
    /// only wait for each other.
    var lockNumber: Int64 {
        // FNV-1a, then the finalizer of MurmurHash3, which spreads keys that differ in their last character.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(kind)\u{0}\(id)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int64(bitPattern: hash ^ hash >> 33)
    }
}
