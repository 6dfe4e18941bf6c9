import CTillSQLite
import TillSQL

extension SQLiteDatabase {
    /// What a file says about itself, whether or not this program can use it.
    public struct FileState: Sendable, Hashable {
        /// Of the program that the file belongs to; 0 for a new file.
        public let applicationID: Int32
        public let schemaVersion: Int
    }

    /// Reads the state of a file without its lock, beside a running server.
    ///
    /// - Throws: `.other` if there is no file; `.corrupt` if it is not a database.
    public static func fileState(path: String) throws(DatabaseError) -> FileState {
        let file = try DatabaseFile(path)
        guard file.exists else { throw DatabaseError(.other, "there is no database at \(file.path)") }
        let connection = try SQLiteHandle(
            path: file.path, flags: SQLITE_OPEN_READONLY, vfs: nil, busyMilliseconds: 1_000)
        defer { connection.close() }
        let identity = try DatabaseIdentity(of: connection)
        return FileState(applicationID: identity.applicationID, schemaVersion: identity.version)
    }

    /// What SQLite finds in the pages of the file: damaged pages, rows out of order, missing index entries. Reads the
    /// whole file.
    ///
    /// - Parameter isComplete: whether each index is compared with its table too, which takes several times as long.
    public func damages(isComplete: Bool) async throws -> [String] {
        let found = try await read { connection in
            isComplete
                ? try connection.query("SELECT integrity_check AS line FROM pragma_integrity_check(20)", []) {
                    $0.text("line")
                }
                : try connection.query("SELECT quick_check AS line FROM pragma_quick_check(20)", []) {
                    $0.text("line")
                }
        }
        return found.filter { $0 != "ok" }
    }

    /// Rows whose foreign keys name no row, as `table row → table`. Reads every table.
    public func brokenReferences(limit: Int) async throws -> [String] {
        try await read { connection in
            try connection.query(
                """
                SELECT "table" AS child, rowid AS number, parent FROM pragma_foreign_key_check LIMIT ?1
                """, [.integer(Int64(limit))]
            ) { row in
                let number = row.optionalInteger("number").map { " \($0)" } ?? ""
                return "\(row.text("child"))\(number) → \(row.text("parent"))"
            }
        }
    }
}
