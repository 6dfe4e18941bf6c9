/// A durable store: one of the effects that are passed in.
///
/// Several `write` bodies may share one commit on disk (group commit); each is still atomic by itself: if a body
/// throws, its own changes are undone and the others stand. A driver may undo a body and run it again, so a body draws
/// no entropy, reads no clock and leaves nothing outside the database.
public protocol Database: Sendable {
    /// Runs `body` and returns its value only after the commit that holds it is on disk.
    ///
    /// - Parameter keys: what the body changes. A key that it finds while it runs goes to `Connection.lock`.
    /// - Throws: what `body` threw, its changes undone; or a `DatabaseError`. After an error that `mayHaveCommitted`,
    ///   the changes may be there or not: ask again.
    func write<Value: Sendable>(
        locking keys: [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// Runs `body` on a consistent snapshot of what is committed. The connection refuses to change anything.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value

    /// Waits for the writes under way, then lets go of the files. Later calls fault with `.closed`.
    func close() async
}

extension Database {
    /// Runs a body that declares no key: for a store that only ever has one writer, and for tests.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await write(locking: [], body)
    }
}

/// One connection inside one `write` or `read`. Must not be kept after the body returns.
public protocol Connection: AnyObject {
    /// Adds keys that the body could not know before it read. A driver that locks undoes a body that adds keys and runs
    /// it again with all of them declared.
    func lock(_ keys: [LockKey])

    /// The ids of as many new rows of a table whose ids are in the column `sequence`. Drawn before the rows are
    /// written; an id that no row uses stays free or is skipped.
    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64]

    /// Runs statements one after another and answers for each of them, in order. If one fails, those after it are not
    /// run. What a driver can it sends in one exchange, so statements that do not need each other's answers belong
    /// together.
    @discardableResult
    func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult]

    /// Runs one statement that returns no rows. `sql` is written once in the source; drivers keep it prepared.
    /// - Returns: how many rows were inserted, changed or deleted.
    @discardableResult
    func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int

    /// Runs one `INSERT` and returns the integer primary key of the new row; nil if `ON CONFLICT` kept it out.
    func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64?

    /// Runs one query and reads each row as it comes. The row is valid only inside `read`.
    func query<Value>(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value) throws -> [Value]
}

extension Connection {
    /// The id of one new row.
    public func drawID(of table: StaticString) throws -> Int64 { try drawIDs(1, of: table)[0] }

    /// The first row of a query, or nil.
    public func first<Value>(
        _ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value
    ) throws -> Value? {
        try query(sql, values, read).first
    }

    /// Runs one `INSERT` that nothing may keep out; returns the new row's integer primary key.
    @discardableResult
    public func insert(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64 {
        guard let row = try insertIfNew(sql, values) else {
            throw DatabaseError(.other, "nothing was inserted by \(sql)")
        }
        return row
    }
}

/// One step of a schema, run in one transaction.
public struct Migration: Sendable, ExpressibleByArrayLiteral {
    /// How a change gets into a ledger that serves meanwhile: first what is new is added, then rows are filled by a
    /// job that can go on where it stopped, and what nothing reads any more goes last.
    public enum Phase: String, Sendable {
        case expand
        case backfill
        case contract
    }

    /// Statements separated by `;`.
    public var scripts: [StaticString]
    public var phase: Phase
    /// Of the scripts; what a file has been through is held against it. Empty: it is not.
    public var sha256: [UInt8]

    public init(_ scripts: [StaticString], phase: Phase = .expand, sha256: [UInt8] = []) {
        self.scripts = scripts
        self.phase = phase
        self.sha256 = sha256
    }

    public init(arrayLiteral scripts: StaticString...) { self.init(scripts) }
}

/// The tables of one program: a script for each version of them, and the number that marks a file as this program's.
/// The program that opens a database passes it in.
public struct DatabaseSchema: Sendable {
    /// The scripts of each version, the oldest version first. A file is brought up to date when it is opened for
    /// writing.
    public var migrations: [Migration]
    public var applicationID: Int32
    /// The number of the first version. A file with a lower one is from before the first release, and is refused.
    public var firstVersion: Int

    public init(migrations: [Migration], applicationID: Int32, firstVersion: Int = 1) {
        self.migrations = migrations
        self.applicationID = applicationID
        self.firstVersion = firstVersion
    }

    /// - Parameter migrations: one script for each version.
    public init(migrations: [StaticString], applicationID: Int32) {
        self.init(migrations: migrations.map { Migration([$0]) }, applicationID: applicationID)
    }

    /// The number of the newest version; that before the first one, if there is none.
    public var version: Int { firstVersion + migrations.count - 1 }
}

/// Why the database could not do something.
public struct DatabaseError: Error, Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        /// No space left on the device, or over a quota.
        case full
        /// The file or its file system can't be written.
        case readOnly
        /// The disk failed a read, a write or a sync.
        case inputOutput
        /// Another process holds the file.
        case inUse
        /// A uniqueness, foreign-key, check or not-null rule of the schema said no.
        case constraint
        /// The file is no database, or a damaged one.
        case corrupt
        /// The schema is of a newer version than this program.
        case newerSchema
        /// The schema is of a version before the first release.
        case unreleasedSchema
        /// More requests wait already than the driver lets wait.
        case busy
        /// `close` was called.
        case closed
        /// Anything else: a mistake in a statement, memory.
        case other
    }

    public let kind: Kind
    /// For operators, in English: the driver's own text and what to do.
    public let detail: String
    /// Whether the changes may be on disk although the caller was told of a fault.
    public let mayHaveCommitted: Bool

    public init(_ kind: Kind, _ detail: String, mayHaveCommitted: Bool = false) {
        self.kind = kind
        self.detail = detail
        self.mayHaveCommitted = mayHaveCommitted
    }

    /// Whether the same call may go through later without anyone changing the request.
    public var isRetryable: Bool {
        switch kind {
        case .full, .readOnly, .inputOutput, .inUse, .busy, .closed: true
        case .constraint, .corrupt, .newerSchema, .unreleasedSchema, .other: false
        }
    }
}
