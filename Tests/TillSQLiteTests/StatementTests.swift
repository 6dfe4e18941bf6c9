import Testing
import TillSQL

@testable import TillSQLite

@Suite("Statements")
struct StatementTests {
    private let directory = TemporaryDirectory()

    private func open() throws -> SQLiteDatabase {
        try SQLiteDatabase.open(path: directory.database, role: .server, options: Ledger.options())
    }

    private static let columns: Columns = "id, note"

    @Test("A statement's text is its literals with the column lists and the parameter marks between them")
    func text() {
        let sql: SQL =
            "INSERT INTO orders (\(Self.columns), proof) VALUES (\(marks: 3)) RETURNING \(Self.columns, of: "o")"
        #expect("\(sql)" == "INSERT INTO orders (id, note, proof) VALUES (?1, ?2, ?3) RETURNING o.id, o.note")
        func list() -> SQL { "SELECT \(Self.columns) FROM orders" }
        #expect(list() == list() && list() != sql && "\(list())" == "SELECT id, note FROM orders")
    }

    @Test("Statements that run together are answered one by one: the rows a write changed, and the rows of a query")
    func batch() async throws {
        let database = try open()
        let results = try await database.write { connection in
            try connection.run([
                Statement(
                    "INSERT INTO orders (id, note) VALUES (?1, ?2), (?3, ?4)",
                    [.integer(1), .text("one"), .integer(2), .null]),
                Statement("UPDATE orders SET proof = ?1 WHERE id = ?2", [.blob([7]), .integer(3)]),
                Statement("SELECT \(Self.columns), proof FROM orders ORDER BY id"),
                Statement("DELETE FROM orders WHERE id = ?1 RETURNING note", [.integer(1)]),
            ])
        }
        #expect(results.map(\.changes) == [2, 0, 0, 1])
        let rows = try results[2].rows { ($0.integer("id"), $0.optionalText("note"), $0.isNull("proof")) }
        #expect(rows.map(\.0) == [1, 2] && rows.map(\.1) == ["one", nil] && rows.map(\.2) == [true, true])
        #expect(try results[3].first { $0.text("note") } == "one")
        #expect(try results[0].rows { $0.integer("id") }.isEmpty)
        await database.close()
    }

    @Test("A failing statement is the last that runs, and the changes of the others are undone")
    func failedBatch() async throws {
        let database = try open()
        let refusal = await thrownError {
            try await database.write { connection in
                try connection.run([
                    Statement("INSERT INTO orders (id) VALUES (?1)", [.integer(1)]),
                    Statement("INSERT INTO orders (id) VALUES (?1)", [.integer(1)]),
                    Statement("INSERT INTO orders (id) VALUES (?1)", [.integer(2)]),
                ])
            }
        }
        #expect(refusal?.kind == .constraint)
        #expect(try await database.read { try $0.query("SELECT id FROM orders", []) { $0.integer("id") } }.isEmpty)
        await database.close()
    }

    @Test("A column that a statement does not return is a fault that names both")
    func missingColumn() async throws {
        let database = try open()
        let sql: SQL = "SELECT id FROM orders"
        _ = try await database.write { try $0.execute("INSERT INTO orders (id) VALUES (1)", []) }
        let queried = await thrownError { try await database.read { try $0.query(sql, []) { $0.integer("number") } } }
        #expect(queried?.detail == "no column number in SELECT id FROM orders")
        let run = await thrownError {
            try await database.read { try $0.run([Statement(sql)])[0].rows { $0.optionalText("number") } }
        }
        #expect(run?.detail == "no column number in SELECT id FROM orders")
        await database.close()
    }

    @Test("A column is found by its name, at any position, among any number")
    func places() async throws {
        let database = try open()
        let sum = try await database.read { connection in
            try connection.query(
                """
                SELECT 1 AS aa, 2 AS bb, 3 AS cc, 4 AS dd, 5 AS ee, 6 AS ff, 7 AS gg, 8 AS hh, 9 AS ii, 10 AS jj \
                UNION ALL SELECT 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
                """, []
            ) { row in
                [
                    row.integer("jj"), row.integer("aa"), row.integer("ee"), row.integer("bb"), row.integer("ii"),
                    row.integer("cc"), row.integer("hh"), row.integer("dd"), row.integer("gg"), row.integer("ff"),
                ]
            }
        }
        #expect(sum == [[10, 1, 5, 2, 9, 3, 8, 4, 7, 6], [20, 11, 15, 12, 19, 13, 18, 14, 17, 16]])
        await database.close()
    }
}
