import CTillSQLite
import TillSQL

extension SQLiteDatabase {
    /// What marks a file as a backup ("Tilb" in ASCII), so that no server opens it as it is: the numbers of events that
    /// it lacks would be given a second time, and readers would miss the new ones.
    public static let backupApplicationID: Int32 = 0x5469_6C62

    /// A file that was copied, or checked.
    public struct CopiedFile: Sendable, Hashable {
        public let schemaVersion: Int
        public let bytes: Int64
    }

    /// Copies a database into a new file as it is at one moment, beside a server that goes on writing. Its log grows
    /// until the copy is done.
    ///
    /// - Parameters:
    ///   - target: an empty file, which only this user can read.
    ///   - applicationID: of the copy.
    ///   - onProgress: is told how many of how many pages are copied.
    /// - Throws: what `open` would throw for the file, or the error of a failing disk.
    public static func copy(
        _ path: String, to target: String, as applicationID: Int32, options: Options,
        onProgress: (_ copied: Int, _ pages: Int) -> Void = { _, _ in }
    ) throws(DatabaseError) -> CopiedFile {
        let file = try DatabaseFile(path)
        guard file.exists else { throw DatabaseError(.other, "there is no database at \(file.path)") }
        let source = try SQLiteHandle(
            path: file.path, flags: SQLITE_OPEN_READONLY, vfs: nil,
            busyMilliseconds: ConnectionFactory.busyMilliseconds)
        defer { source.close() }
        let identity = try DatabaseIdentity(of: source)
        if identity.applicationID != backupApplicationID { try identity.check(file.path, options) }
        let copy = try SQLiteHandle(path: target, flags: SQLITE_OPEN_READWRITE, vfs: nil, busyMilliseconds: 0)
        defer { copy.close() }
        // Every step then reads the same moment. Otherwise each commit of the server would begin the copy again.
        try source.run("BEGIN")
        _ = try source.integer("SELECT count(*) FROM sqlite_schema")
        try copyPages(from: source, to: copy, onProgress)
        try source.run("COMMIT")
        // Without a log, a reader needs no second file.
        try copy.run(script: "PRAGMA journal_mode = DELETE")
        try copy.run(script: "PRAGMA application_id = \(applicationID)")
        let pages = try copy.integer("PRAGMA page_count")
        return CopiedFile(schemaVersion: identity.version, bytes: pages * (try copy.integer("PRAGMA page_size")))
    }

    private static let pagesPerStep: Int32 = 2_048

    private static func copyPages(
        from source: SQLiteHandle, to copy: SQLiteHandle, _ onProgress: (Int, Int) -> Void
    ) throws(DatabaseError) {
        guard let backup = sqlite3_backup_init(copy.handle, "main", source.handle, "main") else {
            throw copy.fault(sqlite3_extended_errcode(copy.handle), "beginning the copy")
        }
        var code = SQLITE_OK
        while code == SQLITE_OK {
            code = sqlite3_backup_step(backup, pagesPerStep)
            let pages = Int(sqlite3_backup_pagecount(backup))
            onProgress(pages - Int(sqlite3_backup_remaining(backup)), pages)
        }
        let finished = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, finished == SQLITE_OK else {
            throw copy.fault(code == SQLITE_DONE ? finished : code, "copying the pages")
        }
    }

    /// What SQLite finds in the pages of a file that no server uses; empty if nothing is damaged. Reads the whole file.
    ///
    /// - Throws: `.corrupt` for what is no database.
    public static func damages(of path: String) throws(DatabaseError) -> [String] {
        let connection = try SQLiteHandle(path: path, flags: SQLITE_OPEN_READONLY, vfs: nil, busyMilliseconds: 0)
        defer { connection.close() }
        guard let found = try connection.text("SELECT group_concat(quick_check, '; ') FROM pragma_quick_check(20)"),
            found != "ok"
        else { return [] }
        return [found]
    }

    /// Makes a ledger of a restored backup: a server can open the file from now on.
    public static func mark(_ path: String, as applicationID: Int32) throws(DatabaseError) {
        let connection = try SQLiteHandle(path: path, flags: SQLITE_OPEN_READWRITE, vfs: nil, busyMilliseconds: 0)
        defer { connection.close() }
        try connection.run(script: "PRAGMA synchronous = FULL; PRAGMA application_id = \(applicationID)")
    }
}
