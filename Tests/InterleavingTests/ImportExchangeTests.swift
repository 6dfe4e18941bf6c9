import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillPostgres
import TillServer
import TillTestDatabases

/// Each exchange with the database is a round trip, which decides how fast an import is.
@Suite("Round trips of an import", .enabled(if: PostgresCluster.isInstalled))
struct ImportExchangeTests {
    private static func row(_ id: Int, of user: String, _ product: String = SharedLedgerWorld.points60) -> JSONValue {
        [
            "userId": .string(user), "transactionId": .string("8\(id)"), "productId": .string(product),
            "purchasedAt": "2026-01-02T03:04:05Z", "expiresAt": "2026-02-02T03:04:05Z",
        ]
    }

    private static func entries(_ rows: [JSONValue]) -> [ImportEntry] {
        rows.enumerated().map { ImportEntry(line: Int64($0.offset + 1), object: Array($0.element.encoded().utf8)) }
    }

    private func measured(
        _ body: (LedgerImport, ImportTable.Stored, PostgresDatabase) async throws -> Void
    ) async throws {
        try await SharedLedgerWorld.open { world in
            let database = try #require(try world.openDatabase() as? PostgresDatabase)
            let server = try Server(
                configuration: SharedLedgerWorld.configuration(root: world.issuer.rootCertificate),
                database: database, clock: { world.now }, entropy: RandomBytes.make)
            let work = try LedgerImport(server.ledger)
            let file = ImportedFile(format: .till, name: "orders", sha256: [UInt8](repeating: 1, count: 32))
            try await body(work, try await work.begin(file, by: "till"), database)
            await database.close()
        }
    }

    /// Exchanges of a batch. The one before it teaches the connections how many row ids a row needs.
    private func exchanges(
        _ count: Int, _ row: (Int) -> JSONValue, _ work: LedgerImport, _ run: ImportTable.Stored,
        _ database: PostgresDatabase
    ) async throws -> Int64 {
        var exchanges: Int64 = 0
        for round in 0..<2 {
            let start = database.figures.exchanges
            let entries = Self.entries((0..<count).map { row(round * count + $0) })
            let outcomes = try await work.record(entries, into: run, by: "till")
            #expect(outcomes.count { $0.result == .imported } == count)
            exchanges = database.figures.exchanges - start
        }
        return exchanges
    }

    @Test("A batch of new customers takes two exchanges for sixteen rows, of consumables and of subscriptions")
    func independent() async throws {
        try await measured { work, run, database in
            let points = try await exchanges(250, { Self.row($0, of: "u\($0)") }, work, run, database)
            let monthly = try await exchanges(
                250, { Self.row(10_000 + $0, of: "u\($0)", SharedLedgerWorld.monthly) }, work, run, database)
            // Sixteen transactions, some with fewer rows because two connections take what has arrived.
            #expect(points <= 60, "\(points)")
            #expect(monthly <= 60, "\(monthly)")
        }
    }

    @Test("The rows of one customer take one exchange each")
    func ofOneCustomer() async throws {
        try await measured { work, run, database in
            let count = try await exchanges(100, { Self.row($0, of: "ann") }, work, run, database)
            #expect(count <= 125, "\(count)")
        }
    }
}
