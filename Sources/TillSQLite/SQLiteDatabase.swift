import CTillSQLite
import TillSQL

/// A database on SQLite 3.40 or newer, in WAL mode with synchronous=FULL: one thread writes and commits in groups, one
/// moves the log into the file, a few read.
///
/// A body may be run a second time after everything its first run did was rolled back: it must depend on nothing but
/// its session and what it captured.
public final class SQLiteDatabase: Database {
    public enum Role: Sendable {
        /// Reads and writes; one server per file. Creates and migrates the file.
        case server
        /// Reads only, beside a running server or without one. Every `write` faults with `.readOnly`.
        case `operator`
    }

    public enum Threads: Sendable {
        /// Threads of the database's own; callers never wait for the disk on theirs.
        case own
        /// No threads: `write` and `read` run where they are called, one body a commit. For deterministic simulation.
        case inline
    }

    public struct Options: Sendable {
        public var schema: DatabaseSchema
        public var threads = Threads.own
        /// An SQLite VFS registered in this process; nil is the real file system. With a name, `path` is passed to
        /// that VFS as it is, and no lock file is made.
        public var vfs: String?
        /// More waiting writes, or waiting reads, than this fault with `.busy`.
        public var queueLimit = 10_000
        /// At most so many bodies share one commit.
        public var batchLimit = 64
        public var readers = 2
        /// From so many bytes on the write-ahead log is restarted even if the writer has to wait a moment.
        public var logLimitBytes = 64 << 20

        /// OFF loses acknowledged commits in a power cut. Only for the test that proves that such a loss is found.
        package var synchronous = "FULL"

        public init(_ schema: DatabaseSchema) { self.schema = schema }
    }

    private let engine: Engine

    private init(_ engine: Engine) { self.engine = engine }

    deinit { engine.close {} }

    /// Opens the database at `path`; its directory must exist. Waits for the disk: not for a request's path.
    ///
    /// - Throws: `.inUse` if another server has it, `.newerSchema`, `.corrupt` for what is not this program's, and the
    ///   kinds of a disk that fails.
    public static func open(
        path: String, role: Role, options: Options
    ) throws(DatabaseError) -> SQLiteDatabase {
        SQLiteDatabase(try Engine(path: path, role: role, options: options))
    }

    public func write<Value: Sendable>(
        locking keys: [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
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

    /// Runs what was handed in before, moves the log into the file and lets go of both. Later calls fault with
    /// `.closed`.
    public func close() async {
        await withCheckedContinuation { continuation in engine.close { continuation.resume() } }
    }

    /// As many bodies in one commit, on the caller's thread: what the writer's thread does with what has queued up.
    /// Inline databases only; the simulation cuts the power in the middle of it.
    func writeTogether(_ jobs: [Job]) { engine.writeInline(jobs) }
}
