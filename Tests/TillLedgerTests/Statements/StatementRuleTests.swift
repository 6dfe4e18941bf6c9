import Testing
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

@Suite("Statements of the ledger") struct StatementRuleTests {
    @Test("Every statement means the same to SQLite and to PostgreSQL, as far as a rule on its text can tell")
    func rules() throws {
        let statements = try SourceStatements.ofTheLedger()
        #expect(statements.count > 250, "\(statements.count)")
        for statement in statements {
            let findings = StatementRules.findings(in: statement)
            #expect(findings.isEmpty, "\(findings) in \(statement)")
        }
    }

    @Test("No table and no column has a name that PostgreSQL reserves")
    func names() async throws {
        try await withLedger(on: .sqlite) { ledger in
            let names = try await ledger.read { connection in
                try connection.query(
                    """
                    SELECT t.name AS table_name, c.name AS column_name FROM sqlite_schema t \
                    JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid
                    """, []
                ) { [$0.text("table_name"), $0.text("column_name")] }
            }
            #expect(names.count > 300, "\(names.count)")
            for name in names {
                #expect(!name.contains(where: StatementRules.reserved.contains), "\(name) is reserved in PostgreSQL")
            }
        }
    }

    @Test(
        "The rules find violations",
        arguments: [
            "SELECT id FROM orders WHERE id = ?", "SELECT id FROM orders WHERE id = $1",
            "SELECT id FROM orders WHERE price IS NOT 0", "SELECT id FROM orders WHERE user = ?1",
            "SELECT o.user FROM orders o", "SELECT * FROM orders", "SELECT o.* FROM orders o",
            "SELECT count(*) AS count FROM (SELECT id FROM orders LIMIT 3) WHERE id > 3",
            "INSERT OR IGNORE INTO orders (id) VALUES (?1)", "SELECT EXISTS (SELECT 1 FROM orders) AS found",
            "SELECT id IS NULL AS is_new FROM orders", "SELECT id FROM orders WHERE ?1 AND id = ?2",
            "UPDATE orders SET price = CASE WHEN ?1 THEN 1 ELSE 2 END",
            "SELECT max(a, b) AS larger FROM orders", "SELECT id FROM orders ORDER BY min(coalesce(a, 0), b)",
            "SELECT substr(id, -6) AS ending FROM orders", "SELECT ifnull(id, 0) AS id FROM orders",
            "INSERT INTO balances (amount) VALUES (?1) ON CONFLICT (id) DO UPDATE SET amount = amount + 1",
            "INSERT INTO balances (amount) VALUES (?1) ON CONFLICT DO UPDATE SET amount = ?1",
            "SELECT id AS only FROM orders",
        ])
    func planted(_ text: String) {
        #expect(!StatementRules.findings(in: SourceStatement(text)).isEmpty, "\(text)")
    }

    @Test(
        "The rules accept statements that both databases read alike",
        arguments: [
            "SELECT max(coalesce(a, 0)) AS newest, min(b) AS oldest FROM orders WHERE note = 'user IS 3?'",
            "SELECT substr(id, 2, 3) AS middle FROM orders o WHERE o.id IS NOT NULL AND price <> 0",
            """
            INSERT INTO balances (amount) VALUES (?1) ON CONFLICT (id) DO UPDATE \
            SET amount = balances.amount + excluded.amount
            """,
        ])
    func good(_ text: String) {
        let findings = StatementRules.findings(in: SourceStatement(text))
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test("A statement is found in its source with its lists and marks inserted, on one line or on several")
    func extraction() {
        let source = #"""
            static let columns: Columns = "id, note"
            try session.query("SELECT \(Self.columns) FROM orders WHERE id = ?1", [.id(id)])
            try session.execute(
                """
                INSERT INTO orders (\(Self.columns)) \
                VALUES (\(marks: 2))
                """, [])
            """ is no statement
            """#
        let lists = SourceStatements.lists(in: source, of: "OrderTable")
        let found = SourceStatements.statements(in: source, of: "OrderTable", lists)
        #expect(
            found.map(\.whole) == [
                "SELECT id, note FROM orders WHERE id = ?1", "INSERT INTO orders (id, note) VALUES (?1, ?2)",
            ])
    }

    @Test("No body of the ledger catches a constraint violation and continues")
    func constraints() throws {
        // A reconciliation checks after its commit has failed whether another body would succeed.
        for (name, text) in try SourceStatements.sources(of: ["TillLedger"])
        where name != "ReconciliationRunner" {
            #expect(!text.contains(".constraint"), "\(name): PostgreSQL gives the whole transaction up")
        }
    }
}
