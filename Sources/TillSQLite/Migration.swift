import CTillSQLite
import TillSQL

/// The program and the version that a database file belongs to.
struct DatabaseIdentity {
    let applicationID: Int32
    let version: Int
    let isEmpty: Bool

    init(of connection: SQLiteHandle) throws(DatabaseError) {
        applicationID = Int32(truncatingIfNeeded: try connection.integer("PRAGMA application_id"))
        version = Int(try connection.integer("PRAGMA user_version"))
        isEmpty = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    /// - Throws: an error if the file belongs to another program, or to an unreleased or newer version of this one.
    func check(_ path: String, _ options: SQLiteDatabase.Options) throws(DatabaseError) {
        guard applicationID != SQLiteDatabase.backupApplicationID else {
            throw DatabaseError(
                .isBackup,
                "\(path) is a backup; run `till restore \(path) --to` with the path of a new file, and serve that file")
        }
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
    /// Brings the schema up to date with one transaction for each version, so that a crash leaves a complete version. A
    /// backfill is only registered: a job fills the rows. A new file has no rows, so there it is finished at once.
    func migrate(_ options: SQLiteDatabase.Options) throws(DatabaseError) {
        let identity = try DatabaseIdentity(of: self)
        if identity.applicationID != options.schema.applicationID {
            try run(script: "PRAGMA application_id = \(options.schema.applicationID)")
        }
        let isNew = identity.isEmpty && identity.version == 0
        for (number, migration) in options.schema.numbered where number > identity.version {
            try run("BEGIN IMMEDIATE")
            do throws(DatabaseError) {
                try run(script: Self.history)
                for script in migration.scripts { try run(script: "\(script)") }
                if migration.phase == .backfill { try register(number, isFinished: isNew) }
                try note(migration, number: number)
                try run(script: "PRAGMA user_version = \(number)")
                try run("COMMIT")
            } catch {
                if isInTransaction { try run("ROLLBACK") }
                throw DatabaseError(error.kind, "migration \(number): \(error.detail)")
            }
        }
    }

    private func register(_ number: Int, isFinished: Bool) throws(DatabaseError) {
        try run(script: "\(Backfills.table)")
        try run(
            script: """
                INSERT INTO schema_backfills (number, position, rows_done, finished_at) VALUES (\(number), 0, 0, \
                \(isFinished ? Self.now : "NULL"))
                """)
    }

    /// Checks, before anything is changed, that every backfill before a contract that is still to run is finished.
    func checkBackfills(_ options: SQLiteDatabase.Options) throws(DatabaseError) {
        let identity = try DatabaseIdentity(of: self)
        let pending = options.schema.numbered.filter { $0.number > identity.version }
        guard identity.version > 0, let contract = pending.last(where: { $0.migration.phase == .contract }) else {
            return
        }
        var unfinished = pending.first { $0.migration.phase == .backfill }?.number
        if try integer("SELECT count(*) FROM sqlite_schema WHERE name = 'schema_backfills'") > 0 {
            let number = try text("SELECT min(number) FROM schema_backfills WHERE finished_at IS NULL")
            unfinished = number.flatMap { Int($0) } ?? unfinished
        }
        guard let unfinished, unfinished < contract.number else { return }
        throw DatabaseError(
            .unfinishedBackfill,
            "migration \(contract.number) removes what the backfill \(unfinished) reads, and that backfill is not "
                + "finished; run the release before this one until it is, or stop the server and run `till migrate`")
    }
}

// MARK: The history of a file

extension SQLiteHandle {
    /// `user_version` is the version of a file; this table lists the migrations that were applied to it, and when.
    private static let history = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            number INTEGER PRIMARY KEY,
            sha256 BLOB NOT NULL,
            applied_at INTEGER NOT NULL,
            phase TEXT NOT NULL CHECK (phase IN ('expand', 'backfill', 'contract'))
        ) STRICT;
        """

    /// Milliseconds since 1970.
    private static let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

    /// SQLite provides the time: it reads the clock of its VFS, so the simulation controls it.
    private func note(_ migration: Migration, number: Int) throws(DatabaseError) {
        let digest = migration.sha256.map(Self.hexadecimal).joined()
        try run(
            script: """
                INSERT INTO schema_migrations (number, sha256, applied_at, phase) VALUES (\(number), x'\(digest)', \
                \(Self.now), '\(migration.phase.rawValue)')
                """)
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    /// Checks that the migrations applied to the file are those of this program with the same numbers.
    func checkHistory(_ options: SQLiteDatabase.Options) throws(DatabaseError) {
        let first = options.schema.firstVersion
        let done = max(0, try DatabaseIdentity(of: self).version - first + 1)
        let migrations = options.schema.migrations.prefix(done)
        guard migrations.contains(where: { !$0.sha256.isEmpty }) else { return }
        let history = try text("SELECT group_concat(number || '=' || lower(hex(sha256)), ' ') FROM schema_migrations")
        for (index, migration) in migrations.enumerated() where !migration.sha256.isEmpty {
            let line = "\(first + index)=" + migration.sha256.map(Self.hexadecimal).joined()
            guard (history ?? "").split(separator: " ").contains(where: { $0 == line }) else {
                throw DatabaseError(
                    .unreleasedSchema,
                    "migration \(first + index) of this file differs from this program's: a version before the first "
                        + "release wrote the file; give the path of a new file")
            }
        }
    }
}
