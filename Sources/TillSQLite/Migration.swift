import CTillSQLite
import TillSQL

/// Whose file this is, and of which version.
struct DatabaseIdentity {
    let applicationID: Int32
    let version: Int
    let isEmpty: Bool

    init(of connection: SQLiteHandle) throws(DatabaseError) {
        applicationID = Int32(truncatingIfNeeded: try connection.integer("PRAGMA application_id"))
        version = Int(try connection.integer("PRAGMA user_version"))
        isEmpty = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    /// - Throws: a fault if the file belongs to another program, or to a newer version of this one.
    func check(_ path: String, _ options: SQLiteDatabase.Options) throws(DatabaseError) {
        let isUntouched = applicationID == 0 && version == 0 && isEmpty
        guard applicationID == options.schema.applicationID || isUntouched else {
            throw DatabaseError(
                .corrupt,
                "\(path) is an SQLite database of another program (application id \(applicationID)); "
                    + "give the path of this program's own database, or of a new file")
        }
        guard version >= options.schema.firstVersion || version == 0 && isEmpty else {
            throw DatabaseError(
                .unreleasedSchema,
                "\(path) has schema version \(version), which is from before the first release, and this program can't "
                    + "bring it up to date; give the path of a new file")
        }
        guard version <= options.schema.version else {
            throw DatabaseError(
                .newerSchema,
                "\(path) has schema version \(version), and this program knows versions up to "
                    + "\(options.schema.version); upgrade the program, or restore the backup made "
                    + "before the upgrade")
        }
    }
}

extension SQLiteHandle {
    /// Brings the schema up to date, one transaction for each version, so that a crash leaves a whole version.
    func migrate(_ options: SQLiteDatabase.Options) throws(DatabaseError) {
        let identity = try DatabaseIdentity(of: self)
        if identity.applicationID != options.schema.applicationID {
            try run(script: "PRAGMA application_id = \(options.schema.applicationID)")
        }
        let done = max(0, identity.version - options.schema.firstVersion + 1)
        for (index, scripts) in options.schema.migrations.enumerated().dropFirst(done) {
            try run("BEGIN IMMEDIATE")
            do throws(DatabaseError) {
                for script in scripts { try run(script: "\(script)") }
                try run(script: "PRAGMA user_version = \(options.schema.firstVersion + index)")
                try run("COMMIT")
            } catch {
                if isInTransaction { try run("ROLLBACK") }
                throw DatabaseError(error.kind, "migration \(options.schema.firstVersion + index): \(error.detail)")
            }
        }
    }
}
