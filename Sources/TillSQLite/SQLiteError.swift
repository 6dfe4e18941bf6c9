import CTillSQLite
import Glibc
import TillSQL

extension DatabaseError {
    /// Translates an SQLite result code (extended, https://sqlite.org/rescode.html).
    ///
    /// - Parameters:
    ///   - connection: where the code came from; its message and the system's errno refine the error.
    ///   - doing: the operation that failed, for the operator.
    init(code: Int32, connection: OpaquePointer?, doing: String) {
        let message = connection.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        let errno = connection.map { Self.systemError(of: $0, code) } ?? 0
        let kind = Kind(code: code, errno: errno)
        var detail = "\(doing): \(message) (SQLite \(code)"
        if errno != 0, kind != .constraint, kind != .other { detail += ", \(String(cString: strerror(errno)))" }
        detail += ")"
        if let advice = kind.advice { detail += "; \(advice)" }
        self.init(kind, detail)
    }

    /// The errno behind an input/output error. When a COMMIT fails SQLite does not keep it, but its VFS does.
    private static func systemError(of connection: OpaquePointer, _ code: Int32) -> Int32 {
        guard code & 0xFF == SQLITE_IOERR || code & 0xFF == SQLITE_CANTOPEN else { return 0 }
        let kept = sqlite3_system_errno(connection)
        if kept != 0 { return kept }
        var vfs: UnsafeMutablePointer<sqlite3_vfs>?
        let found = sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &vfs)
        guard found == SQLITE_OK, let vfs else { return 0 }
        return vfs.pointee.xGetLastError?(vfs, 0, nil) ?? 0
    }

    /// Translates the errno of a system call outside SQLite.
    init(errno: Int32, doing: String) {
        let kind = Kind(code: SQLITE_CANTOPEN, errno: errno)
        let advice = kind.advice.map { "; \($0)" } ?? ""
        self.init(kind, "\(doing): \(String(cString: strerror(errno)))\(advice)")
    }

    /// The same error, marked as one that may have occurred after the commit reached the disk.
    func inDoubt() -> DatabaseError { DatabaseError(kind, detail, mayHaveCommitted: true) }
}

extension DatabaseError.Kind {
    init(code: Int32, errno: Int32) {
        switch code & 0xFF {
        case SQLITE_FULL: self = .full
        case SQLITE_IOERR where code == till_sqlite_ioerr_nomem: self = .other
        case SQLITE_IOERR, SQLITE_CANTOPEN: self = Self.ofSystem(errno) ?? .inputOutput
        case SQLITE_READONLY, SQLITE_PERM: self = .readOnly
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .inUse
        case SQLITE_CONSTRAINT: self = .constraint
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt
        default: self = .other
        }
    }

    /// SQLite reports only ENOSPC as full; a quota and a file size limit are treated the same.
    private static func ofSystem(_ errno: Int32) -> DatabaseError.Kind? {
        switch errno {
        case ENOSPC, EDQUOT, EFBIG: .full
        case EROFS, EACCES, EPERM: .readOnly
        default: nil
        }
    }

    fileprivate var advice: String? {
        switch self {
        case .full: "free space on the disk; the server then continues by itself"
        case .readOnly: "allow the server's user to write the file and its directory"
        case .inputOutput: "check the disk's health in the system log"
        case .corrupt: "run `till doctor`, and restore a backup if it confirms the damage"
        default: nil
        }
    }
}
