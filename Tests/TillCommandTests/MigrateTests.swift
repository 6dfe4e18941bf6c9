import Foundation
import Testing
import TillBilling
import TillJSON
import TillSQL
import TillSQLite

@testable import TillLedger
@testable import till

/// The ledger's schema and three migrations of a release that does not exist.
private enum NextRelease {
    static let schema: DatabaseSchema = {
        var schema = DatabaseSchema.ledger
        schema.migrations += [
            ["ALTER TABLE orders ADD COLUMN milliunits INTEGER"],
            Migration(
                Backfill(
                    table: "orders",
                    statement: """
                        UPDATE orders SET milliunits = price * 10 WHERE row_id > ?1 AND row_id <= ?2
                        """)),
            Migration(["CREATE INDEX orders_by_milliunits ON orders (milliunits)"], phase: .contract),
        ]
        return schema
    }()
}

@Suite("till migrate") struct MigrateTests {
    private func ledger(at path: String, migrations: Int, orders: Int64) async throws {
        var schema = DatabaseSchema.ledger
        schema.migrations = Array(schema.migrations.prefix(migrations))
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(schema))
        try await ledger.write { connection in
            try connection.execute(
                "INSERT INTO customers (customer_id, user_id, first_seen) VALUES (1, 'ann', 0)", [])
            for number in 1...orders {
                try connection.execute(
                    """
                    INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, \
                    created_at, updated_at, moves, id_source) VALUES (?1, ?2, 1, 'p', 1, 0, 600, 'CNY', 0, 0, 1, 2)
                    """, [.integer(number), .id(UniqueID(high: 1, low: UInt64(number)))])
            }
        }
        await ledger.close()
    }

    private func run(_ path: String, dry: Bool) async throws -> (document: JSONValue, said: String) {
        let recorder = Recorder()
        let json = Invocation(language: .english, wantsJSON: true, process: recorder.process())
        try await MigrationRun(ledger: .sqlite(path: path), schema: NextRelease.schema, call: json).run(dry: dry)
        return (try JSONValue(decoding: recorder.out), recorder.error)
    }

    @Test("From the first released schema on: the dry run names each phase with its rows, and changes nothing")
    func dryRun() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/till.db"
        try await ledger(at: path, migrations: 1, orders: 120)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let document = try await run(path, dry: true).document
        // The next release adds one migration of each phase.
        let expand = Int64(DatabaseSchema.ledger.version) + 1
        #expect(document["version"]?.int == 101 && document["target"]?.int == expand + 2)
        let phases = document["migrations"]?.array?.map { step in
            "\(step["number"]?.int ?? 0) \(step["phase"]?.string ?? "") \(step["rows"]?.int ?? -1)"
        }
        let expected =
            (102...expand).map { "\($0) expand -1" } + ["\(expand + 1) backfill 120", "\(expand + 2) contract -1"]
        #expect(phases == expected)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(try SQLiteDatabase.version(of: path, options: .init(NextRelease.schema)) == 101)
    }

    @Test("It runs all phases to their end, although a server would refuse to skip the release")
    func allPhases() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/till.db"
        try await ledger(at: path, migrations: 2, orders: 120)
        #expect(throws: DatabaseError.self) {
            try SQLiteDatabase.open(path: path, role: .server, options: .init(NextRelease.schema))
        }
        #expect(try await run(path, dry: false).said.contains(": 120 rows, finished"))
        #expect(try await run(path, dry: false).document["migrations"]?.array?.isEmpty == true)
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(NextRelease.schema))
        let filled = try await ledger.read { connection in
            try connection.first("SELECT count(*) AS count FROM orders WHERE milliunits = 6000", []) {
                $0.integer("count")
            }
        }
        #expect(filled == 120)
        await ledger.close()
    }

    @Test("Beside a running server the dry run reads, and the migration is refused")
    func besideServer() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/till.db"
        try await ledger(at: path, migrations: 2, orders: 3)
        let server = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        #expect(try await run(path, dry: true).document["migrations"]?.array?.count == 3)
        await #expect(throws: DatabaseError.self) { try await run(path, dry: false) }
        await server.close()
    }

    @Test("The command says in both languages that a ledger of this release is up to date", arguments: ["en", "zh"])
    func upToDate(_ language: String) async throws {
        let directory = try TemporaryDirectory()
        try await ledger(at: directory.path + "/till.db", migrations: 2, orders: 1)
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:till.db", "catalog": \(sampleCatalog),
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        #expect(await program.run(["migrate", "--config", file, "--lang", language]) == .done)
        #expect(recorder.out.contains(language == "en" ? "the ledger is up to date" : "账本的结构已是最新"))
    }
}
