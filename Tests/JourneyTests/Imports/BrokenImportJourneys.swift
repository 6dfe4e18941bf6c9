import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillJSON
import TillLedger
import TillSQL
import TillServer
import TillTestDatabases
import TillThreads

/// A database with several writers that fails for one customer: the rows of the others are recorded beside it.
private struct FailingDatabase: Database {
    let base: any Database
    let customer = Locked<UserID?>(nil)
    var isShared: Bool { true }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let (keys, failing) = (keys(), customer.withLock { $0 })
        if let failing, keys.contains(.customer(failing)) { throw DatabaseError(.inputOutput, "the disk is gone") }
        return try await base.write(locking: keys, body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await base.read(body)
    }

    func close() async { await base.close() }
}

@Suite("An import that fails in the middle of a batch") struct BrokenImportJourneys {
    @Test("What was recorded beside the failure is counted, and the same file goes on with the rest (R7)")
    func broken() async throws {
        let time = TestClock()
        let issuer = try Issuer.create(at: time.now, keys: Shop.receiptKeys) { RandomBytes.make(16) }
        var configuration = Shop.usualConfiguration
        configuration.apple.roots = [issuer.rootCertificate]
        let rows: [JSONValue] = ["ann", "ben", "cat"].enumerated().map { number, user in
            [
                "userId": .string(user), "transactionId": .string("900\(number)"), "productId": .string(Shop.points60),
                "purchasedAt": "2026-01-02T03:04:05Z",
            ]
        }
        try await withLedger { [configuration] ledger in
            let database = FailingDatabase(base: ledger)
            let server = try Server(
                configuration: configuration, database: database, clock: { time.now }, entropy: RandomBytes.make)
            let work = try LedgerImport(server.ledger)
            let file = ImportedFile(format: .till, name: "orders", sha256: [UInt8](repeating: 1, count: 32))
            let cut = try await work.begin(file, by: "till")
            database.customer.withLock { $0 = UserID("ben") }
            await #expect(throws: DatabaseError.self) {
                _ = try await work.record(ImportShop.entries(rows), into: cut, by: "till")
            }
            #expect(try await work.find(cut.id).imported == 2)
            database.customer.withLock { $0 = nil }
            let run = try await work.begin(file, by: "till")
            #expect(run.id == cut.id)
            let ended = ImportShop.ended(try await work.record(ImportShop.entries(rows), into: run, by: "till"))
            #expect(ended == ImportShop.Ended(imported: 1, unchanged: 2))
            var counts = ImportCounts()
            (counts.rows, counts.unchanged) = (3, 2)
            #expect(try await work.end(run, counts).imported == 3)
            #expect(try await ledger.read { try LedgerAudit.violations($0) }.isEmpty)
        }
    }
}
