import Testing
import TillPostgres
import TillSQL
import TillTestDatabases

@testable import TillLedger

/// The ledger's schema has a text for each database (docs/decisions/0057).
@Suite("The schema on two databases", .enabled(if: PostgresCluster.isInstalled, "\(PostgresCluster.missing)"))
struct TwoSchemasTests {
    /// What the catalogue says about the tables: one line for each column, rule, key and index.
    private static let catalogue = """
        SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default)
            FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'schema%'
        UNION ALL SELECT format('%s: %s', conrelid::regclass, pg_get_constraintdef(oid))
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace
            AND conrelid::regclass::text NOT LIKE 'schema%'
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'schema%'
        """

    private func lines(_ session: PostgresSession) throws -> Set<String> {
        Set(try session.run(Self.catalogue).compactMap(\.first!))
    }

    /// SQLite's text with PostgreSQL's names of types, without its triggers.
    private static var translated: String {
        DatabaseSchema.ledger.migrations.flatMap(\.scripts).map { script in
            "\(script)".replacing(/\bINTEGER\b/, with: "BIGINT").replacing(/\bBLOB\b/, with: "BYTEA")
                .replacing(/\) STRICT(, WITHOUT ROWID)?;/, with: ");")
                .replacing(/CREATE TRIGGER [^;]*;\s+END;|DROP TRIGGER [^;]*;/, with: "")
        }.joined(separator: "\n")
    }

    @Test("Both texts make the same columns, rules, keys and indices, apart from the differences that are documented")
    func sameTables() async throws {
        try await withLedgerPlace(on: .postgres) { place in
            let cluster = try PostgresCluster.running()
            let name = try cluster.makeDatabase()
            let other = try cluster.session(name)
            try other.run(Self.translated)
            let (sqlite, postgres) = (try lines(other), try lines(try #require(try place.session())))
            #expect(postgres.count > 500, "\(postgres.count)")
            let shared = ["apps", "catalog_versions", "proof_headers"]
            let missing = sqlite.subtracting(postgres).filter { line in
                !shared.contains { line.contains("REFERENCES \($0)(") }
            }
            #expect(
                missing == [
                    "CREATE UNIQUE INDEX proof_headers_header_key ON public.proof_headers USING btree (header)",
                    "proof_headers: UNIQUE (header)",
                ])
            #expect(
                postgres.subtracting(sqlite) == [
                    "CREATE INDEX proof_headers_header_excl ON public.proof_headers USING hash (header)",
                    "proof_headers: EXCLUDE USING hash (header WITH =)",
                ])
        }
    }

    @Test("Every text compares by its bytes, and every row id that the ledger draws is an identity")
    func types() async throws {
        try await withLedgerPlace(on: .postgres) { place in
            let session = try #require(try place.session())
            let sorted = try session.run(
                """
                SELECT attrelid::regclass || '.' || attname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
                WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema%'
                AND atttypid = 'text'::regtype AND attcollation <> '"C"'::regcollation
                """)
            #expect(sorted.isEmpty, "\(sorted)")
            let plain = try session.run(
                """
                SELECT attrelid::regclass FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
                WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attname = 'row_id'
                AND attidentity <> 'd'
                """)
            #expect(plain.isEmpty, "\(plain)")
        }
    }

    @Test("What SQLite's triggers forbid is forbidden on PostgreSQL, and emptying the table as well")
    func triggers() async throws {
        let rule = /CREATE TRIGGER (\w+) BEFORE (UPDATE|DELETE) ON (\w+)\s+BEGIN SELECT RAISE\(ABORT, '([^']+)'\)/
        var expected: Set<String> = []
        var tables: Set<String> = []
        for script in DatabaseSchema.ledger.migrations.flatMap(\.scripts) {
            for found in "\(script)".matches(of: rule) {
                tables.insert(String(found.3))
                expected.insert("\(found.1) \(found.2) \(found.3) \(found.4)")
                guard found.2 == "DELETE" else { continue }
                let name = String(found.1).replacing("deleted", with: "truncated")
                expected.insert("\(name) TRUNCATE \(found.3) \(found.4)")
            }
        }
        #expect(expected.count > 15 && tables == Set(DatabaseSchema.ledger.appendOnlyTables.map { "\($0)" }))
        try await withLedgerPlace(on: .postgres) { place in
            let session = try #require(try place.session())
            let found = try session.run(
                """
                SELECT format('%s %s %s %s', tgname, CASE WHEN tgtype & 16 > 0 THEN 'UPDATE' WHEN tgtype & 8 > 0
                    THEN 'DELETE' ELSE 'TRUNCATE' END, tgrelid::regclass, rtrim(encode(tgargs, 'escape'), '\\0'))
                FROM pg_trigger WHERE NOT tgisinternal AND tgname NOT LIKE '%purchases\\_with\\_rights'
                """)
            #expect(Set(found.compactMap(\.first!)) == expected)
            for table in tables {
                #expect(throws: PostgresSession.Failure.self) { try session.run("TRUNCATE \(table) CASCADE") }
            }
        }
    }

    @Test("The role of a server that does not own the tables may only read and add rows that are never edited")
    func rights() async throws {
        try await withLedgerPlace(on: .postgres) { place in
            let session = try #require(try place.session())
            try session.run("CREATE ROLE till_server LOGIN")
            try PostgresDatabase.migrate(address: place.address, options: .init(.ledger), grantingTo: "till_server")
            for table in DatabaseSchema.ledger.appendOnlyTables {
                let rights = try session.run(
                    """
                    SELECT string_agg(privilege_type, ' ' ORDER BY privilege_type)
                    FROM information_schema.table_privileges WHERE grantee = 'till_server' AND table_name = '\(table)'
                    """)
                #expect(rights == [["INSERT SELECT"]], "\(table)")
            }
            #expect(
                try session.run("SELECT has_table_privilege('till_server', 'balances', 'UPDATE')") == [["t"]])
            try session.run("DROP OWNED BY till_server; DROP ROLE till_server")
        }
    }
}
