import Testing

@testable import TillPostgres

@Suite("Statements as PostgreSQL reads them") struct StatementTextTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let sqlite: String
        let postgres: String
        var testDescription: String { sqlite }

        init(_ sqlite: String, _ postgres: String) { (self.sqlite, self.postgres) = (sqlite, postgres) }
    }

    static let cases = [
        Case("SELECT a FROM t WHERE b = ?1 AND c = ?12", "SELECT a FROM t WHERE b = $1 AND c = $12"),
        Case("SELECT '?1', \"?2\", 'it''s ?3', ?4", "SELECT '?1', \"?2\", 'it''s ?3', $4"),
        Case("SELECT a FROM t CROSS JOIN u ON u.id = t.id", "SELECT a FROM t JOIN u ON u.id = t.id"),
        Case("SELECT a FROM t CROSS JOIN u", "SELECT a FROM t CROSS JOIN u"),
        Case(
            "SELECT a FROM t CROSS JOIN u WHERE a IN (SELECT b FROM v JOIN w ON w.id = v.id)",
            "SELECT a FROM t CROSS JOIN u WHERE a IN (SELECT b FROM v JOIN w ON w.id = v.id)"),
        Case("SELECT a FROM t WHERE +t.b = ?1 AND (+c = 2)", "SELECT a FROM t WHERE t.b = $1 AND (c = 2)"),
        Case("UPDATE t SET a = a + ?1, b = b + 1", "UPDATE t SET a = a + $1, b = b + 1"),
        Case("SELECT 'CROSS JOIN u ON +x'", "SELECT 'CROSS JOIN u ON +x'"),
    ]

    @Test(
        "Parameters, the order of SQLite's joins and its unary plus are rewritten, and nothing else", arguments: cases)
    func rewriting(_ test: Case) {
        #expect(StatementText(test.sqlite).text == test.postgres)
    }

    @Test("The driver knows the tables of a statement, what it changes, and how many values it takes")
    func facts() {
        let update = StatementText(
            "UPDATE t SET a = (SELECT max(b) FROM u JOIN v ON v.a = u.a) WHERE c = ?2 AND d = ?1")
        #expect(update.changedTable == "t" && update.tables == ["t", "u", "v"] && update.parameterCount == 2)
        let insert = StatementText("INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO UPDATE SET a = excluded.a")
        #expect(insert.changedTable == "t" && !insert.alwaysWrites && insert.tables == ["t"])
        #expect(StatementText("INSERT INTO t (a) VALUES (?1)").alwaysWrites)
        #expect(!StatementText("INSERT INTO t (a) SELECT a FROM u").alwaysWrites)
        #expect(StatementText("DELETE FROM t WHERE a = 1").changedTable == "t")
        #expect(StatementText("SELECT a FROM t").changedTable == nil)
        for control in ["COMMIT", "BEGIN", "SET jit = on", "SAVEPOINT a", "LOCK TABLE t", "TRUNCATE t"] {
            #expect(!StatementText(control).isAllowed, "\(control)")
        }
    }

    @Test("A password is in no message about an address")
    func passwords() {
        let addresses = [
            "postgres://till:s3cret@db1,db2:5433/till?sslmode=require":
                "postgres://till:...@db1,db2:5433/till?sslmode=require",
            "postgres://till:a@s3cret@db1/till": "postgres://till:...@db1/till",
            "postgres://till@db1/till?password=s3cret&host=db2": "postgres://till@db1/till?password=...&host=db2",
            "postgresql:///till?PASSWORD=s3cret": "postgresql:///till?password=...",
            "host=db1 password=s3cret": "a database of PostgreSQL",
        ]
        for (address, shown) in addresses { #expect(PostgresAddress.withoutPassword(address) == shown) }
    }

    @Test("An address that libpq cannot read is refused with libpq's words")
    func problems() {
        #expect(PostgresAddress.problem(with: "postgres://till@db1,db2/till?target_session_attrs=read-write") == nil)
        #expect(PostgresAddress.problem(with: "postgres://till@db1/till?colour=red")?.contains("colour") == true)
        #expect(PostgresAddress.problem(with: "mysql://db1/till")?.contains("postgres://") == true)
    }
}
