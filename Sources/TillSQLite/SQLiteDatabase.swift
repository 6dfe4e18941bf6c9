import CTillSQLite
import TillSQL

/// A database on SQLite 3.40 or newer, in WAL mode with synchronous=FULL: one thread writes and commits in groups, one
/// moves the log into the file, a few read.
///
/// A body may run a second time after all changes of its first run were rolled back: it must depend only on its
/// connection and on what it captured.
public final class SQLiteDatabase: Database {
    public enum Threads: Sendable {
        /// The database has its own threads; callers never wait for the disk on theirs.
        case own
        /// No threads: `write` and `read` run on the caller's thread, one body for each commit. For deterministic
        /// simulation.
        case inline
    }

    public struct Options: Sendable {
        public var schema: DatabaseSchema
        public var threads = Threads.own
        /// An SQLite VFS registered in this process; nil means the real file system. With a name, `path` is passed to
        /// that VFS unchanged, and no lock file is made.
        public var vfs: String?
        /// The limit of waiting writes, and separately of waiting reads; further calls fail with `.busy`.
        public var queueLimit = 10_000
        /// The maximum number of bodies that share one commit.
        public var batchLimit = 64
        public var readers = 2
        /// Is told about every batch of writes.
        public var commitWatch: CommitWatch?
        /// From this many bytes on, the write-ahead log is restarted even if the writer has to wait a moment.
        public var logLimitBytes = 64 << 20

        /// OFF loses acknowledged commits in a power cut. Only for the test that proves that such a loss is detected.
        package var synchronous = "FULL"

        public init(_ schema: DatabaseSchema) { self.schema = schema }
    }

    private let engine: Engine

    /// How many writes wait for the writer.
    public var waitingWrites: Int { engine.waitingWrites }

    public func insertedRows(of table: StaticString) -> [ClosedRange<Int64>]? { engine.ownRows.ranges(of: table) }

    private init(_ engine: Engine) { self.engine = engine }

    deinit { engine.close {} }

    /// Opens the database at `path`; its directory must exist. This waits for the disk, so do not call it while
    /// handling a request.
    ///
    /// - Throws: `.inUse` if another server uses the file, `.newerSchema`, `.unreleasedSchema`, `.corrupt` if the file
    ///   does not belong to this program, or the error of a failing disk.
    public static func open(
        path: String, role: DatabaseRole, options: Options
    ) throws(DatabaseError) -> SQLiteDatabase {
        SQLiteDatabase(try Engine(path: path, role: role, options: options))
    }

    /// Checks whether a server of this program could open the file, beside the server that has it open now. Changes
    /// nothing.
    ///
    /// - Throws: what `open` would throw for its contents: `.newerSchema`, `.unfinishedBackfill` and others.
    public static func check(path: String, options: Options) throws(DatabaseError) {
        _ = try ConnectionFactory.version(of: path, options, forServer: true)
    }

    /// Returns the version of the schema in the file at `path`; 0 if there is no file or an empty one. Changes nothing.
    ///
    /// - Throws: `.newerSchema`, `.unreleasedSchema`, or `.corrupt` if the file does not belong to this program.
    public static func version(of path: String, options: Options) throws(DatabaseError) -> Int {
        try ConnectionFactory.version(of: path, options, forServer: false)
    }

    public func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            engine.write(Body(body) { continuation.resume(with: $0) })
        }
    }

    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            engine.read(Body(body) { continuation.resume(with: $0) })
        }
    }

    /// Runs the jobs already queued, moves the log into the file and closes both. Later calls fail with `.closed`.
    public func close() async {
        await withCheckedContinuation { continuation in engine.close { continuation.resume() } }
    }

    /// Commits several bodies together on the caller's thread, as the writer's thread does with its queue. For inline
    /// databases only; the simulation cuts the power in the middle of it.
    func writeTogether(_ jobs: [Job]) { engine.writeInline(jobs) }
}
