/// A durable store, passed to the code that uses it.
///
/// Several `write` bodies may share one commit on disk (group commit). Each stays atomic: if a body throws, its own
/// changes are rolled back and the others stand. A driver may roll a body back and run it again, so a body draws no
/// entropy, reads no clock and changes nothing outside the database.
public protocol Database: Sendable {
    /// Runs `body` and returns its value only after the commit that contains it is on disk.
    ///
    /// - Parameter keys: what the body changes; only drivers that lock compute them. A body passes keys that it finds
    ///   while it runs to `Connection.lock`.
    /// - Throws: what `body` threw, with its changes rolled back; or a `DatabaseError`. After an error with
    ///   `mayHaveCommitted`, the changes may or may not be on disk: read them again to find out.
    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// The same for a body that begins with these queries. A driver for which each query is a round trip makes those of
    /// several bodies at once, and answers the equal `query` as after `Connection.prefetch`. Other drivers do not ask
    /// for them.
    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], reading statements: @escaping @Sendable () throws -> [Statement],
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// Runs `body` on a consistent snapshot of the committed data. The connection refuses to change anything.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value

    /// Waits for the writes under way, then closes the files. Later calls fail with `.closed`.
    func close() async

    /// Whether other processes may write to the same database at the same time.
    var isShared: Bool { get }

    /// The ids of the rows that this process has inserted since it opened the database. Nil if the driver does not
    /// know: servers share the database, or the schema does not list the table in `watchedTables`.
    func insertedRows(of table: StaticString) -> [ClosedRange<Int64>]?

    /// Has each later commit that changes a table of the schema's `watchedTables` leave a mark. Drivers that know
    /// `insertedRows` leave none.
    func markCommits(_ mark: CommitMark)

    /// Whether `markCommits` has an effect.
    var marksCommits: Bool { get }
}

/// What a transaction writes of itself, so that its rows can be told from those of other programs.
public struct CommitMark: Sendable {
    /// Selects what `statement` needs, in the transaction itself.
    public let facts: SQL
    /// The statement that writes the mark.
    public let statement: @Sendable (any Row) throws -> Statement

    public init(facts: SQL, statement: @escaping @Sendable (any Row) throws -> Statement) {
        (self.facts, self.statement) = (facts, statement)
    }
}

extension Database {
    public var isShared: Bool { false }
    public func insertedRows(of table: StaticString) -> [ClosedRange<Int64>]? { nil }
    public func markCommits(_ mark: CommitMark) {}
    public var marksCommits: Bool { false }

    public func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], reading statements: @escaping @Sendable () throws -> [Statement],
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await write(locking: keys(), body)
    }

    /// Runs a body that declares no key: for a store with only one writer, and for tests.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await write(locking: [], body)
    }
}

/// One connection inside one `write` or `read`. It must not be kept after the body returns.
public protocol Connection: AnyObject {
    /// Whether other processes may write to the same database at the same time. If not, bodies run one after another in
    /// the order of their commits.
    var isShared: Bool { get }

    /// Adds keys that the body finds only by reading. A driver that locks rolls such a body back and runs it again with
    /// all its keys declared.
    func lock(_ keys: @autoclosure () -> [LockKey])

    /// The same before a statement that only the holder of the keys may run. A driver that locks ends the body here if
    /// it lacks one of them.
    ///
    /// - Throws: what the body must not catch.
    func lockFirst(_ keys: [LockKey]) throws(DatabaseError)

    /// Returns the ids of `count` new rows of a table whose ids are in the column `row_id`. The ids are drawn before
    /// the rows are written; an id that no row uses stays free or is skipped.
    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64]

    /// The same for one row.
    func drawID(of table: StaticString) throws -> Int64

    /// Draws the key of one new row of any table whose key the database gives. Nil where asking for it saves nothing:
    /// the row then gets its key when it is inserted.
    func drawKey(of table: StaticString) throws -> Int64?

    /// Answers the equal `query` with what the body has just written, until it changes one of the query's tables.
    /// Drivers for which a query is no round trip read the row instead.
    func keep(_ result: StatementResult, for statement: Statement)

    /// Runs statements one after another and returns one result for each, in order. After a statement fails, the rest
    /// are not run. A driver sends as many statements as it can in one exchange, so pass statements together when they
    /// do not need each other's results.
    @discardableResult
    func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult]

    /// Runs one statement that returns no rows. `sql` is a constant of the source; drivers keep it prepared.
    /// - Returns: how many rows were inserted, changed or deleted.
    @discardableResult
    func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int

    /// Runs one statement whose result the body does not need. A driver may send it together with a later statement or
    /// with the commit; its error is then thrown there.
    func write(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError)

    /// Runs queries that the body is about to make. A driver for which each query is a round trip sends them in one,
    /// and answers the equal `query` from memory until a statement of the body changes one of the tables that it
    /// names. Other drivers do not ask for them.
    func prefetch(_ statements: () throws -> [Statement]) throws

    /// Runs one `INSERT` and returns the integer primary key of the new row; nil if `ON CONFLICT` skipped it.
    func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64?

    /// Runs one query and reads each row as it comes. The row is valid only inside `read`.
    func query<Value>(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value) throws -> [Value]

    /// The same without an answer. Not generic, so that callers' code is compiled for their own types.
    func each(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Void) throws
}

extension Connection {
    public func write(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) { try execute(sql, values) }

    public func prefetch(_ statements: () throws -> [Statement]) throws {}

    public func drawKey(of table: StaticString) throws -> Int64? { nil }

    public func keep(_ result: StatementResult, for statement: Statement) {}

    public func lockFirst(_ keys: [LockKey]) throws(DatabaseError) { lock(keys) }

    public func query<Value>(_ statement: Statement, _ read: (any Row) throws -> Value) throws -> [Value] {
        try query(statement.sql, statement.values, read)
    }

    public func each(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Void) throws {
        _ = try query(sql, values, read)
    }

    @inlinable
    public func first<Value>(_ statement: Statement, _ read: (any Row) throws -> Value) throws -> Value? {
        try first(statement.sql, statement.values, read)
    }

    public func drawID(of table: StaticString) throws -> Int64 { try drawIDs(1, of: table)[0] }

    /// Returns the first row of a query, or nil.
    @inlinable
    public func first<Value>(
        _ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value
    ) throws -> Value? {
        var value: Value?
        var isFound = false
        try each(sql, values) { row in
            if isFound { return }
            value = try read(row)
            isFound = true
        }
        return value
    }

    /// Runs one `INSERT` and returns the new row's integer primary key. Throws if no row was inserted.
    @discardableResult
    public func insert(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64 {
        guard let row = try insertIfNew(sql, values) else {
            throw DatabaseError(.other, "nothing was inserted by \(sql)")
        }
        return row
    }
}

/// Why a database operation failed.
public struct DatabaseError: Error, Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// No space left on the device, or over a quota.
        case full
        /// The file or its file system can't be written.
        case readOnly
        /// The disk failed a read, a write or a sync.
        case inputOutput
        /// Another process holds the file.
        case inUse
        /// A uniqueness, foreign-key, check or not-null rule of the schema was violated.
        case constraint
        /// The file is not a database, or is damaged.
        case corrupt
        /// The schema has a newer version than this program.
        case newerSchema
        /// The schema has a version from before the first release.
        case unreleasedSchema
        /// The file is a backup: only a restore makes a ledger of it.
        case isBackup
        /// The program removes what a backfill still reads, and the backfill is not finished.
        case unfinishedBackfill
        /// The driver's queue is full, or other writers hold the rows.
        case busy
        /// The database's server can't be reached, or accepts no connections.
        case unreachable
        /// `close` was called.
        case closed
        /// Anything else: for example a mistake in a statement, or no memory.
        case other
    }

    public let kind: Kind
    /// For operators, in English: the driver's own message and what to do.
    public let detail: String
    /// Whether the changes may be on disk although the call failed.
    public let mayHaveCommitted: Bool

    public init(_ kind: Kind, _ detail: String, mayHaveCommitted: Bool = false) {
        self.kind = kind
        self.detail = detail
        self.mayHaveCommitted = mayHaveCommitted
    }

    /// Whether the same call may succeed later without a change to the request.
    public var isRetryable: Bool {
        switch kind {
        case .full, .readOnly, .inputOutput, .inUse, .busy, .unreachable, .closed: true
        case .constraint, .corrupt, .newerSchema, .unreleasedSchema, .isBackup, .unfinishedBackfill, .other: false
        }
    }
}
