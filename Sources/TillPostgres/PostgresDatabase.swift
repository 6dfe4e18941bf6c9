import TillSQL

/// A database on PostgreSQL 15 or newer, shared by any number of servers.
///
/// Bodies run at the same time, on as many connections as the options allow. A body waits for those whose keys it
/// shares, on this server or on another (docs/decisions/0072). It may run several times, with everything rolled back in
/// between: it must depend only on its connection and on what it captured.
public final class PostgresDatabase: Database {
    public struct Options: Sendable {
        public var schema: DatabaseSchema
        /// Connections that write. Each is used by one thread.
        public var connections = 4
        /// Connections that read.
        public var readers = 2
        /// The limit of waiting writes, and separately of waiting reads; further calls fail with `.busy`.
        public var queueLimit = 10_000
        /// The maximum number of bodies that share one commit.
        public var batchLimit = 16
        /// How long, at most, a connection waits for further bodies for its next commit while many arrive.
        public var gatherMilliseconds = 6
        /// How long the server works on one statement, a commit that waits for a standby included.
        public var statementMilliseconds = 30_000
        /// How long a statement waits for rows or keys of others.
        public var lockMilliseconds = 5_000
        public var connectMilliseconds = 5_000
        /// The password is the first line of this file. libpq's own password file works as well.
        public var passwordFile: String?
        /// Is told about every transaction that writes.
        public var commitWatch: CommitWatch?

        /// Is called before each statement, which is then sent alone, on the thread that waits for it: a test decides
        /// which server goes on. `backend` is the process of PostgreSQL that will run it.
        package var step: (@Sendable (_ backend: Int32, _ statement: String) -> Void)?

        public init(_ schema: DatabaseSchema) { self.schema = schema }
    }

    private let engine: PostgresEngine

    /// How many writes wait for a connection.
    public var waitingWrites: Int { engine.waitingWrites }

    /// What the connections have done since the start.
    public var figures: PostgresFigures { engine.figures }

    private init(_ engine: PostgresEngine) { self.engine = engine }

    deinit { engine.close {} }

    /// Connects, and checks the schema; for a server whose role owns the tables, brings it up to date. This waits for
    /// the network, so do not call it while handling a request.
    ///
    /// - Parameter address: `postgres://user@host1,host2/name?target_session_attrs=read-write`, or any other connection
    ///   URI of libpq (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING).
    /// - Throws: `.unreachable`, `.newerSchema`, `.unreleasedSchema`, `.corrupt` if the database belongs to another
    ///   program, or `.other` with what to do.
    public static func open(
        address: String, role: DatabaseRole, options: Options
    ) throws(DatabaseError) -> PostgresDatabase {
        PostgresDatabase(try PostgresEngine(address: address, role: role, options: options))
    }

    /// Checks whether a server of this program could open the database, beside the servers that have it open now.
    /// Changes nothing.
    public static func check(address: String, options: Options) throws(DatabaseError) {
        let handle = try PostgresHandle(ConnectionSettings(address, options, isReadOnly: true))
        defer { handle.close() }
        try PostgresSchema(handle, options.schema).checkForServer()
    }

    /// Returns the version of the schema; 0 for an empty database. Changes nothing.
    public static func version(of address: String, options: Options) throws(DatabaseError) -> Int {
        let handle = try PostgresHandle(ConnectionSettings(address, options, isReadOnly: true))
        defer { handle.close() }
        return try PostgresSchema(handle, options.schema).checkedVersion()
    }

    /// Brings the schema up to date, apart from backfills, while servers of the version before may run.
    ///
    /// - Parameters:
    ///   - address: names the role that owns the tables, or will own them.
    ///   - role: the role of the servers. It may read and write, but neither change tables nor edit rows of the tables
    ///     that the schema declares append-only.
    public static func migrate(
        address: String, options: Options, grantingTo role: String?
    ) throws(DatabaseError) {
        let handle = try PostgresHandle(ConnectionSettings(address, options, isReadOnly: false))
        defer { handle.close() }
        let schema = PostgresSchema(handle, options.schema)
        try schema.migrate()
        if let role { try schema.grantRights(to: role) }
    }

    /// Reads what the database's server says about itself.
    public static func state(address: String, options: Options) throws(DatabaseError) -> ServerState {
        let handle = try PostgresHandle(ConnectionSettings(address, options, isReadOnly: true))
        defer { handle.close() }
        return try ServerState(of: handle, appendOnly: options.schema.appendOnlyTables)
    }

    public var isShared: Bool { true }

    public var marksCommits: Bool { engine.role == .server }

    public func markCommits(_ mark: CommitMark) { engine.mark.withLock { $0 = mark } }

    public func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            engine.write(Body(locking: keys(), body) { continuation.resume(with: $0) })
        }
    }

    public func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], reading statements: @escaping @Sendable () throws -> [Statement],
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let job = Body(locking: keys(), body) { continuation.resume(with: $0) }
            job.reads = statements
            engine.write(job)
        }
    }

    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            engine.read(Body(body) { continuation.resume(with: $0) })
        }
    }

    /// Runs the bodies already queued and closes the connections. Later calls fail with `.closed`.
    public func close() async {
        await withCheckedContinuation { continuation in engine.close { continuation.resume() } }
    }
}

/// What the connections of one program have done since it started.
public struct PostgresFigures: Sendable, Hashable {
    /// Messages to the database's server that were waited for: each is one round trip.
    public var exchanges: Int64 = 0
    /// Transactions that ended with a commit.
    public var commits: Int64 = 0
    /// Bodies that ran again: keys found late, deadlocks, lost connections.
    public var reruns: Int64 = 0
    /// Commits of which it is unknown whether they happened.
    public var inDoubt: Int64 = 0
    public var connects: Int64 = 0
    public var failedConnects: Int64 = 0
    /// Connections that run a body now, of those that write and of those that read.
    public var busyWriters = 0
    public var busyReaders = 0
}
