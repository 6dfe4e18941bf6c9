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

    @Test("An insert of one row is written for several rows, with their parameters one after another")
    func rows() throws {
        func text(_ sql: String, rows: Int) -> String? { StatementText(sql).rowInsert?.text(rows: rows) }
        #expect(
            text("INSERT INTO t (a, b, c) VALUES (?2, ?1, 'it''s $3 (')", rows: 3)
                == "INSERT INTO t (a, b, c) VALUES ($2, $1, 'it''s $3 ('), "
                + "($4, $3, 'it''s $3 ('), ($6, $5, 'it''s $3 (')"
        )
        let grant = "INSERT INTO t (a, b) VALUES (?1, (SELECT max(c) FROM u WHERE d = ?2 OR e = ?1))"
        #expect(
            text(grant, rows: 2) == "INSERT INTO t (a, b) VALUES ($1, (SELECT max(c) FROM u WHERE d = $2 OR e = $1)), "
                + "($3, (SELECT max(c) FROM u WHERE d = $4 OR e = $3))")
        #expect(StatementText(grant).rowInsert?.mayUpdate == false)
        let balance = "INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b"
        #expect(
            text(balance, rows: 2)?.hasSuffix(" VALUES ($1), ($2) ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b")
                == true)
        #expect(StatementText(balance).rowInsert?.mayUpdate == true)
        for other in [
            "INSERT INTO t (a) SELECT a FROM u", "UPDATE t SET a = ?1", "INSERT INTO t (a) VALUES (1) RETURNING a",
            "INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO UPDATE SET b = ?2",
        ] { #expect(StatementText(other).rowInsert == nil, "\(other)") }
    }

    @Test("Bodies share statements: each body's order stays, and no statement changes a row twice")
    func sharing() {
        let a = StatementText("INSERT INTO a (x) VALUES (?1)")
        let b = StatementText("INSERT INTO b (x) VALUES (?1)")
        let sum = StatementText("INSERT INTO c (x) VALUES (?1) ON CONFLICT (x) DO NOTHING")
        let change = StatementText("UPDATE a SET x = ?1")
        func expect(
            _ bodies: [[StatementText]], _ expected: [(StatementText, [Int64])],
            _ line: SourceLocation = #_sourceLocation
        ) {
            var shared = SharedStatements()
            for (number, body) in bodies.enumerated() {
                shared.add(body.map { Command(text: $0, values: [.integer(Int64(number))]) })
            }
            #expect(shared.commands.map(\.text.source) == expected.map(\.0.source), sourceLocation: line)
            #expect(
                shared.commands.map(\.values) == expected.map { $0.1.map { .integer($0) } }, sourceLocation: line)
        }
        expect([[a, b], [a, b]], [(a, [0, 1]), (b, [0, 1])])
        expect([[a, b], [b, a]], [(a, [0]), (b, [0, 1]), (a, [1])])
        expect([[a, a], [a]], [(a, [0, 0]), (a, [1])])
        expect([[sum, sum], [sum]], [(sum, [0, 1]), (sum, [0])])
        expect([[a, change, b], [a, change, b]], [(a, [0, 1]), (change, [0]), (change, [1]), (b, [0, 1])])
        expect(
            Array(repeating: [a], count: 23), [(a, Array(0..<16)), (a, [16, 17, 18, 19]), (a, [20, 21]), (a, [22])])
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
