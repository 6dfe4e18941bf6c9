import Testing
import TillAppStore
import TillBilling
import TillLedger
import TillSQL
import TillSQLite
import TillServer
import TillSimulation
import TillTestDatabases

/// The working set is recent data; old data is still found by its id (G6).
@Suite("A ledger of many years", .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
struct HotWindowJourneys {
    private static let count: Int64 = 60_000

    /// The disk operations of granting that many purchases: reads, writes and syncs.
    private static func cost(of grants: Int, in shop: Shop, on disk: CrashableDisk) async throws -> Int {
        var paid: [Payment] = []
        for number in 0..<grants {
            paid.append(try await shop.pay(token: try await shop.openOrder(as: "buyer\(number)")))
        }
        let before = disk.operations
        for (number, payment) in paid.enumerated() {
            let reply = try await shop.submit(payment.signed, as: .user("buyer\(number)"))
            #expect(reply["outcome"].text == "granted")
        }
        return disk.operations - before
    }

    @Test(
        "A grant older than sixty thousand others is still found, and a new grant costs the same (G6, O8, T9)", .slow)
    func aged() async throws {
        let disk = CrashableDisk(seed: 33)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Shop.open(ledger: options) { shop in
            shop.willChangeRows()
            let first = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await shop.submit(first.signed, as: .user("ann"))["outcome"].text == "granted")
            _ = try await Self.cost(of: 20, in: shop, on: disk)
            let young = try await Self.cost(of: 100, in: shop, on: disk)
            try await AgedLedger(
                product: ProductID("com.example.learn.points60"), points: 60, environment: .sandbox
            ).write(Self.count, until: shop.time.now, in: shop.ledger)
            _ = try await Self.cost(of: 20, in: shop, on: disk)
            let old = try await Self.cost(of: 100, in: shop, on: disk)
            // A few more pages, because trees are one level higher. The cost does not grow with the ledger.
            #expect(old < young * 2, "\(young) operations became \(old)")
            let again = try await shop.submit(first.signed, as: .user("ann"))
            #expect(again["outcome"].text == "alreadyGranted")
            #expect(try await shop.points(of: "ann") == 60)
            // The database itself refuses a second row for any of them.
            let error = await #expect(throws: DatabaseError.self) {
                try await shop.ledger.write { connection in
                    try connection.execute(
                        """
                        INSERT INTO transactions (environment, id, original_id, product, quantity, purchased_at, \
                        signed_at, state, received_at) SELECT 2, id, '1', 'p', 1, 0, 0, 1, 0 FROM transactions \
                        ORDER BY row_id LIMIT 1 OFFSET 30000
                        """, [])
                }
            }
            #expect(error?.kind == .constraint)
        }
    }

    @Test("What arrives after today's purchases costs them nothing, however old its purchase dates are (G6, T9)")
    func backfilledShortly() async throws { try await Self.backfill(100, and: 0, measuring: 30) }

    @Test("The same with thousands of old purchases that arrive late (G6, T9)", .slow)
    func backfilled() async throws { try await Self.backfill(500, and: Self.count, measuring: 100) }

    /// Purchases of five years ago arrive after those of today: some from their phones, then rows of the same age.
    private static func backfill(_ submitted: Int, and rows: Int64, measuring grants: Int) async throws {
        let disk = CrashableDisk(seed: 34)
        var options = SQLiteDatabase.Options(.ledger)
        options.vfs = disk.vfs
        try await Shop.open(ledger: options, change: { $0.orders.perHour = 5_000 }) { shop in
            shop.willChangeRows()
            var old: [Payment] = []
            for number in 0..<submitted {
                old.append(try await shop.pay(token: try await shop.openOrder(as: "returning\(number % 40)")))
            }
            shop.time.advance(seconds: 5 * 365 * 86_400)
            let today = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await shop.submit(today.signed, as: .user("ann"))["outcome"].text == "granted")
            _ = try await cost(of: 20, in: shop, on: disk)
            let before = try await cost(of: grants, in: shop, on: disk)
            for payment in old {
                let reply = try await shop.submit(payment.signed, as: .user("ann"))
                #expect(reply["outcome"].text == "granted")
            }
            if rows > 0 {
                try await AgedLedger(product: ProductID(Shop.points60), points: 60, environment: .sandbox).write(
                    rows, until: shop.time.now.adding(seconds: -365 * 86_400), in: shop.ledger)
            }
            _ = try await cost(of: 20, in: shop, on: disk)
            let after = try await cost(of: grants, in: shop, on: disk)
            #expect(after < before * 2, "\(before) operations became \(after)")
            for payment in [old[0], old[submitted - 1], today] {
                #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "alreadyGranted")
            }
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await shop.decisions(on: old[0].id).map(\.decision) == ["late", "granted"])
            #expect(try await shop.decisions(on: today.id).map(\.decision) == ["granted"])
        }
    }
}
