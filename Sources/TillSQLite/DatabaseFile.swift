import Glibc
import TillSQL

/// The path of a database on the real file system.
struct DatabaseFile {
    /// The path with symbolic links resolved, so that two names of one file share one lock.
    let path: String

    init(_ path: String) throws(DatabaseError) {
        guard !path.isEmpty, path != ":memory:", !path.utf8.contains(0) else {
            throw DatabaseError(.other, "the database needs the path of a file, not \"\(path)\"")
        }
        if let resolved = Self.resolved(path) {
            self.path = resolved
            return
        }
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard !name.isEmpty else { throw DatabaseError(.other, "\(path) is a directory, not a file") }
        guard let resolved = Self.resolved(directory) else {
            throw DatabaseError(.other, "the directory \(directory) of the database does not exist; create it first")
        }
        self.path = resolved == "/" ? "/\(name)" : "\(resolved)/\(name)"
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    var exists: Bool { access(path, F_OK) == 0 }

    /// Creates an empty file that only this user can read, if there is none, and makes its name durable. SQLite gives
    /// the log and the index the same permissions.
    func createIfMissing() throws(DatabaseError) {
        let file = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            if errno == EEXIST { return }
            throw DatabaseError(errno: errno, doing: "creating \(path)")
        }
        Glibc.close(file)
        let directory = Glibc.open(String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]), O_RDONLY | O_CLOEXEC)
        if directory >= 0 {
            fsync(directory)
            Glibc.close(directory)
        }
    }
}

/// Makes this process the only server on a database file: `flock` on `<path>-lock`. The kernel releases the lock when
/// the process ends, so a killed server leaves no stale lock. The file itself stays, because removing it would race.
final class ServerLock: @unchecked Sendable {
    private var file: Int32

    init(for path: String) throws(DatabaseError) {
        let name = path + "-lock"
        file = Glibc.open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw DatabaseError(errno: errno, doing: "opening the lock \(name)") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            let owner = Self.owner(in: file)
            Glibc.close(file)
            guard reason == EWOULDBLOCK else { throw DatabaseError(errno: reason, doing: "locking \(name)") }
            let who = owner.map { "process \($0)" } ?? "another process"
            throw DatabaseError(
                .inUse, "\(path) is being served by \(who); stop it first, or give this server another database")
        }
        // The process id is only for the message above, so the server starts even if a full disk prevents writing it.
        let text = "\(getpid())\n"
        if ftruncate(file, 0) == 0 { _ = pwrite(file, text, text.utf8.count, 0) }
    }

    private static func owner(in file: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }

    func release() {
        guard file >= 0 else { return }
        Glibc.close(file)
        file = -1
    }

    deinit { release() }
}
