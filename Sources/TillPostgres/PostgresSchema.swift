import TillSQL

/// The tables of one program in a database: what is there, and how it is brought up to date.
struct PostgresSchema {
    private let handle: PostgresHandle
    private let schema: DatabaseSchema

    init(_ handle: PostgresHandle, _ schema: DatabaseSchema) {
        self.handle = handle
        self.schema = schema
    }

    // MARK: What is there

    private func exists(_ table: String) throws(DatabaseError) -> Bool {
        try handle.query("SELECT 1 AS found WHERE to_regclass(?1) IS NOT NULL", [.text(table)]) { _ in true }.first
            ?? false
    }

    private func number(_ sql: SQL, _ values: [SQLValue] = []) throws(DatabaseError) -> Int64? {
        try handle.query(sql, values) { $0.optionalInteger("number") }.first ?? nil
    }

    private func version() throws(DatabaseError) -> Int {
        guard try exists("schema_migrations") else { return 0 }
        return Int(try number("SELECT max(number) AS number FROM schema_migrations") ?? 0)
    }

    /// The version, which this program knows; 0 for a database without tables.
    ///
    /// - Throws: an error if the database belongs to another program, or to an unreleased or newer version of this one.
    func checkedVersion() throws(DatabaseError) -> Int {
        guard try exists("schema_identity") else {
            // Asked again in the same statement: a server that starts now may have made the tables meanwhile.
            let others = try number(
                """
                SELECT count(*) AS number FROM pg_tables WHERE schemaname = current_schema() \
                AND to_regclass('schema_identity') IS NULL
                """)
            guard others ?? 0 == 0 else {
                throw DatabaseError(
                    .corrupt,
                    "the database has \(others ?? 0) tables of another program; create a database for this one alone")
            }
            return 0
        }
        let owner = try number("SELECT application_id AS number FROM schema_identity")
        guard owner == Int64(schema.applicationID) else {
            throw DatabaseError(
                .corrupt,
                "the database belongs to another program (application id \(owner ?? 0)); create a database for this "
                    + "program alone")
        }
        let version = try version()
        guard version <= schema.version else {
            throw DatabaseError(
                .newerSchema,
                "the database has schema version \(version), and this program knows versions up to "
                    + "\(schema.version); upgrade the program, or restore the backup made before the upgrade")
        }
        try checkHistory(upTo: version)
        return version
    }

    /// Checks that the migrations that were applied are those of this program with the same numbers.
    private func checkHistory(upTo version: Int) throws(DatabaseError) {
        let applied = try handle.query("SELECT number, sha256 FROM schema_migrations", []) {
            (Int($0.integer("number")), $0.blob("sha256"))
        }
        let digests = Dictionary(applied, uniquingKeysWith: { first, _ in first })
        for (number, migration) in schema.numbered
        where number <= version && !migration.postgresSHA256.isEmpty && digests[number] != migration.postgresSHA256 {
            throw DatabaseError(
                .unreleasedSchema,
                "migration \(number) of this database differs from this program's: a version before the first release "
                    + "made it; create a new database")
        }
    }

    /// Checks, before anything is changed, that every backfill before a contract that is still to run is finished.
    private func checkBackfills(from version: Int) throws(DatabaseError) {
        let pending = schema.numbered.filter { $0.number > version }
        guard version > 0, let contract = pending.last(where: { $0.migration.phase == .contract }) else { return }
        var unfinished = pending.first { $0.migration.phase == .backfill }?.number
        if try exists("schema_backfills") {
            let number = try number("SELECT min(number) AS number FROM schema_backfills WHERE finished_at IS NULL")
            unfinished = number.map { Int($0) } ?? unfinished
        }
        guard let unfinished, unfinished < contract.number else { return }
        throw DatabaseError(
            .unfinishedBackfill,
            "migration \(contract.number) removes what the backfill \(unfinished) reads, and that backfill is not "
                + "finished; run the release before this one until it is, or run `till migrate`")
    }

    /// Whether this role may change the tables; in an empty database, whether it may create them.
    private func mayMigrate() throws(DatabaseError) -> Bool {
        guard try exists("schema_identity") else {
            return try number("SELECT 1 AS number WHERE has_schema_privilege(current_schema(), 'CREATE')") != nil
        }
        return try number(
            """
            SELECT 1 AS number FROM pg_class WHERE oid = to_regclass('schema_identity') \
            AND pg_has_role(relowner, 'USAGE')
            """) != nil
    }

    // MARK: For a program

    func checkForServer() throws(DatabaseError) {
        let version = try checkedVersion()
        try checkBackfills(from: version)
        guard version < schema.version, try !mayMigrate() else { return }
        throw behind(version)
    }

    private func behind(_ version: Int) -> DatabaseError {
        DatabaseError(
            .other,
            "the database has schema version \(version), this program needs \(schema.version), and its role may not "
                + "change tables; run `till migrate` as the role that owns them")
    }

    func prepare(for role: DatabaseRole) throws(DatabaseError) {
        switch role {
        case .server:
            try checkForServer()
            if try version() < schema.version { try migrate() }
        case .operator:
            let version = try checkedVersion()
            guard version == schema.version else {
                throw DatabaseError(
                    .other,
                    "the database has schema version \(version), this program needs \(schema.version); start the "
                        + "server once, or run `till migrate`")
            }
        }
    }

    // MARK: Migrations

    /// How often a migration waits anew for the tables, while servers of the version before use them.
    private static let mostTries = 30
    /// Any number, the same in all versions: programs that start together migrate one after another.
    private static let lock = 0x5469_6C6C_4D69_67

    /// Brings the schema up to date with one transaction for each version. A backfill is only registered: a job fills
    /// the rows. A new database has no rows, so there it is finished at once.
    func migrate() throws(DatabaseError) {
        try waiting { () throws(DatabaseError) in try handle.script("SELECT pg_advisory_lock(\(Self.lock))") }
        defer { unlock() }
        let start = try checkedVersion()
        try checkBackfills(from: start)
        let isNew = try !exists("schema_identity")
        if isNew { try handle.script(Self.identity(schema.applicationID)) }
        for (number, migration) in schema.numbered where number > start {
            let script = try Self.script(number, migration, isNew: isNew)
            do throws(DatabaseError) {
                try waiting { () throws(DatabaseError) in try handle.script(script) }
            } catch {
                throw DatabaseError(error.kind, "migration \(number): \(error.detail)")
            }
        }
    }

    /// The lock ends with the session at the latest.
    private func unlock() {
        do throws(DatabaseError) { try handle.script("SELECT pg_advisory_unlock(\(Self.lock))") } catch {
            handle.close()
        }
    }

    /// Repeats work that other transactions kept from its locks, so that a migration never makes them wait for long.
    private func waiting(_ work: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        for attempt in 1...Self.mostTries {
            do throws(DatabaseError) {
                return try work()
            } catch {
                try handle.script("ROLLBACK")
                guard error.kind == .busy, attempt < Self.mostTries else { throw error }
            }
        }
    }

    private static func identity(_ applicationID: Int32) -> String {
        """
        BEGIN;
        CREATE TABLE schema_identity (
            single_row BIGINT PRIMARY KEY CHECK (single_row = 1),
            application_id BIGINT NOT NULL
        );
        INSERT INTO schema_identity (single_row, application_id) VALUES (1, \(applicationID));
        CREATE TABLE schema_migrations (
            number BIGINT PRIMARY KEY,
            sha256 BYTEA NOT NULL,
            applied_at BIGINT NOT NULL,
            phase TEXT NOT NULL CHECK (phase IN ('expand', 'backfill', 'contract'))
        );
        COMMIT;
        """
    }

    private static let backfills = """
        CREATE TABLE IF NOT EXISTS schema_backfills (
            number BIGINT PRIMARY KEY,
            position BIGINT NOT NULL,
            rows_done BIGINT NOT NULL,
            finished_at BIGINT
        );
        """

    /// Milliseconds since 1970.
    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    private static func script(_ number: Int, _ migration: Migration, isNew: Bool) throws(DatabaseError) -> String {
        // Statements of the servers queue behind a migration that waits, so it waits briefly and often.
        var lines = ["BEGIN; SET LOCAL lock_timeout = 1000;"]
        if migration.phase == .backfill {
            lines.append(backfills)
            lines.append(
                """
                INSERT INTO schema_backfills (number, position, rows_done, finished_at)
                    VALUES (\(number), 0, 0, \(isNew ? now : "NULL"));
                """)
        } else {
            guard migration.scripts.isEmpty || !migration.postgres.isEmpty else {
                throw DatabaseError(.other, "migration \(number) has no text for PostgreSQL")
            }
            lines += migration.postgres.map { "\($0)\n;" }
        }
        let digest = migration.postgresSHA256.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        lines.append(
            """
            INSERT INTO schema_migrations (number, sha256, applied_at, phase)
                VALUES (\(number), '\\x\(digest)', \(now), '\(migration.phase.rawValue)');
            COMMIT;
            """)
        return lines.joined(separator: "\n")
    }

    // MARK: Rights

    /// The servers' role reads and writes rows, but owns no table: it cannot drop a trigger, and rows of append-only
    /// tables stay as they are.
    func grantRights(to role: String) throws(DatabaseError) {
        let name = Self.quoted(role)
        guard
            let found = try handle.query("SELECT quote_ident(current_schema()) AS name", [], { $0.text("name") }).first
        else { throw DatabaseError(.other, "the database has no schema on the owner's search_path; create one") }
        var lines = [
            "BEGIN;", "GRANT USAGE ON SCHEMA \(found) TO \(name);",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(found) TO \(name);",
            "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA \(found) TO \(name);",
            "REVOKE INSERT, UPDATE, DELETE ON schema_identity, schema_migrations FROM \(name);",
        ]
        if !schema.appendOnlyTables.isEmpty {
            let tables = schema.appendOnlyTables.map { "\($0)" }.joined(separator: ", ")
            lines.append("REVOKE UPDATE, DELETE, TRUNCATE ON \(tables) FROM \(name);")
        }
        lines.append("COMMIT;")
        do throws(DatabaseError) {
            try handle.script(lines.joined(separator: "\n"))
        } catch {
            try handle.script("ROLLBACK")
            throw DatabaseError(error.kind, "granting rights to the role \(role): \(error.detail)")
        }
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
