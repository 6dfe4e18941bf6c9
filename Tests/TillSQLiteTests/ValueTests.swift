import Testing
import TillSQL

@testable import TillSQLite

@Suite("Values and statements")
struct ValueTests {
    let directory = TemporaryDirectory()

    private func open() throws -> SQLiteDatabase {
        try SQLiteDatabase.open(path: directory.database, role: .server, options: Ledger.options())
    }

    /// Printed by its kind instead of as 8 MiB of numbers.
    struct Sample: Sendable, CustomTestStringConvertible {
        let value: SQLValue

        var testDescription: String {
            switch value {
            case .null: "null"
            case .integer(let integer): "\(integer)"
            case .text(let text): "\(text.utf8.count) bytes of text"
            case .blob(let blob): "\(blob.count) bytes"
            }
        }
    }

    private static let samples: [SQLValue] = [
        .null, .integer(.min), .integer(.max), .integer(0), .integer(-1), .text(""), .text("a\0b"),
        .text("掉单👩‍👩‍👧"), .text("'; DROP TABLE orders; --"), .text(String(repeating: "学", count: 3_000)), .blob([]),
        .blob([0]), .blob([UInt8](repeating: 0xFF, count: 511)), .blob([UInt8](repeating: 7, count: 512)),
        .blob([UInt8](repeating: 9, count: 8 << 20)),
    ]

    @Test("Every value is read back unchanged", arguments: samples.map(Sample.init))
    func roundTrip(sample: Sample) async throws {
        let value = sample.value
        let database = try open()
        try await database.write { connection in
            try connection.execute("CREATE TABLE one (id INTEGER PRIMARY KEY, before, value, after)", [])
            try connection.execute(
                "INSERT INTO one (before, value, after) VALUES (?, ?, ?)", [.text("before"), value, .integer(3)])
        }
        let back = try await database.read { connection in
            try connection.first("SELECT before, value, after, typeof(value) AS value_2 FROM one", []) { row in
                let same: SQLValue =
                    switch value {
                    case .null: row.isNull("value") ? .null : .text("not null")
                    case .integer: .integer(row.integer("value"))
                    case .text: .text(row.text("value"))
                    case .blob: .blob(row.blob("value"))
                    }
                #expect(row.text("before") == "before" && row.integer("after") == 3)
                #expect(row.isNull("value") == (value == .null))
                return (same, row.text("value_2"))
            }
        }
        let type =
            switch value {
            case .null: "null"
            case .integer: "integer"
            case .text: "text"
            case .blob: "blob"
            }
        let isSame = back?.0 == value
        #expect(isSame)
        #expect(back?.1 == type)
        await database.close()
    }

    @Test("Several large values in one statement are not mixed up")
    func severalLargeValues() async throws {
        let database = try open()
        let texts = (0..<6).map { String(repeating: "\($0)", count: 1_000 + $0) }
        let back = try await database.write { connection in
            try connection.first(
                "SELECT ? AS v0, ? AS v1, ? AS v2, ? AS v3, ? AS v4, ? AS v5",
                [
                    .text(texts[0]), .blob(Array(texts[1].utf8)), .text(texts[2]), .integer(3),
                    .blob(Array(texts[4].utf8)), .text(texts[5]),
                ]
            ) { row in (["v0", "v1", "v2", "v3", "v4", "v5"] as [StaticString]).map { row.text($0) } }
        }
        #expect(back == [texts[0], texts[1], texts[2], "3", texts[4], texts[5]])
        await database.close()
    }

    @Test("10,000 rows stream: the reader sees the first rows and may stop there")
    func rowsStream() async throws {
        let database = try open()
        try await database.write { connection in
            for id in Int64(0)..<10_000 {
                try connection.execute(
                    "INSERT INTO orders (id, note) VALUES (?, ?)", [.integer(id), .text("note \(id)")])
            }
        }
        let all = try await database.read { connection in
            try connection.query("SELECT id, note FROM orders ORDER BY id", []) { row in
                #expect(row.text("note") == "note \(row.integer("id"))")
                return row.integer("id")
            }
        }
        #expect(all == Array(0..<10_000))
        let seen = Counter()
        await #expect(throws: Refused(reason: "enough")) {
            try await database.read { connection in
                _ = try connection.query("SELECT id FROM orders ORDER BY id", []) { row in
                    seen.add()
                    if row.integer("id") == 2 { throw Refused(reason: "enough") }
                }
            }
        }
        #expect(seen.value == 3)
        #expect(try await database.read { try $0.first("SELECT 1 AS value", []) { $0.integer("value") } } == 1)
        await database.close()
    }

    @Test("A prepared statement follows a schema change")
    func schemaChange() async throws {
        let database = try open()
        let columns: @Sendable (any Connection) throws -> String? = { connection in
            try connection.first("SELECT * FROM orders", []) { $0.text("storefront") }
        }
        _ = try await database.write { try $0.execute("INSERT INTO orders (id) VALUES (?)", [.integer(1)]) }
        let missing = "no column storefront in SELECT * FROM orders"
        #expect(await thrownError { try await database.write(columns) }?.detail == missing)
        #expect(await thrownError { try await database.read(columns) }?.detail == missing)
        _ = try await database.write {
            try $0.execute("ALTER TABLE orders ADD COLUMN storefront TEXT DEFAULT 'CHN'", [])
        }
        #expect(try await database.write(columns) == "CHN")
        #expect(try await database.read(columns) == "CHN")
        await database.close()
    }

    @Test("A statement may run inside itself, row by row")
    func nestedStatement() async throws {
        let database = try open()
        let pairs = try await database.write { connection in
            for id in Int64(1)...3 { try connection.execute("INSERT INTO orders (id) VALUES (?)", [.integer(id)]) }
            let query: SQL = "SELECT id FROM orders WHERE id >= ? ORDER BY id"
            return try connection.query(query, [.integer(2)]) { outer in
                let inner = try connection.query(query, [.integer(outer.integer("id"))]) { $0.integer("id") }
                return [outer.integer("id")] + inner
            }
        }
        #expect(pairs == [[2, 2, 3], [3, 3]])
        await database.close()
    }

    @Test("execute counts the rows it changed, and 0 if it changes none")
    func changeCounts() async throws {
        let database = try open()
        let counts = try await database.write { connection in
            [
                try connection.execute("INSERT INTO orders (id) VALUES (1), (2), (3)", []),
                try connection.execute("INSERT INTO orders (id) VALUES (1) ON CONFLICT DO NOTHING", []),
                try connection.execute("CREATE TABLE more (id INTEGER)", []),
                try connection.execute("UPDATE orders SET note = ? WHERE id > ?", [.text("x"), .integer(1)]),
                try connection.execute("DELETE FROM orders WHERE id = 9", []),
            ]
        }
        #expect(counts == [3, 0, 0, 2, 0])
        await database.close()
    }

    @Test("Mistakes in a statement are faults that a retry can't fix")
    func mistakes() async throws {
        let database = try open()
        let mistakes: [@Sendable (any Connection) throws -> Int] = [
            { try $0.execute("INSERT INTO nowhere VALUES (1)", []) },
            { try $0.execute("INSERT INTO orders (id) VALUES (?)", []) },
            { try $0.execute("INSERT INTO orders (id) VALUES (?)", [.integer(1), .integer(2)]) },
            { try $0.execute("SELECT 1; SELECT 2 AS value", []) },
            { try $0.execute("SELECT \"misspelt\" AS value", []) },
            { try $0.execute("", []) },
            { try $0.execute("COMMIT", []) },
            { try $0.execute("SAVEPOINT mine", []) },
            { try $0.execute("PRAGMA foreign_keys = OFF", []) },
        ]
        for mistake in mistakes {
            let found = await thrownError { try await database.write(mistake) }
            #expect(found?.kind == .other && found?.isRetryable == false)
        }
        #expect(try await database.write { try Ledger.grant(1, in: $0) } == 1)
        await database.close()
    }

    @Test("A read can't change anything, and a session kept after its body fails")
    func readOnlySession() async throws {
        let database = try open()
        let write = await thrownError { try await database.read { try Ledger.grant(1, in: $0) } }
        #expect(write?.kind == .other)
        let stored = Kept()
        try await database.write { stored.connection = $0 }
        #expect(throws: DatabaseError.self) { try stored.connection?.execute("DELETE FROM orders", []) }
        #expect(try await database.read(Ledger.granted).isEmpty)
        await database.close()
    }

    /// Unchecked because it is written inside a write and read after that write was answered.
    private final class Kept: @unchecked Sendable {
        var connection: (any Connection)?
    }
}
