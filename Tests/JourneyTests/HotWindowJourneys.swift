import Testing
import TillAppStore
import TillBilling
import TillSQLite
import TillServer
import TillSimulation
import TillStorage

/// The working set is what came lately; what came long ago is found by its id all the same (G6).
@Suite("A ledger of many years") struct HotWindowJourneys {
    private static let count: Int64 = 60_000

    /// Purchases of the last five years, as they would lie there: in the order in which they came.
    private static func age(_ shop: Shop) async throws {
        let now = shop.time.now.milliseconds
        let pace = 5 * 365 * 86_400_000 / count
        try await shop.ledger.write { session in
            let base = try session.first("SELECT max(sequence) FROM orders", []) { $0.integer(0) } ?? 0
            let values: [SQLValue] = [.integer(base), .integer(count), .integer(now), .integer(pace)]
            try session.execute(
                """
                INSERT INTO orders (sequence, id, user, product, quantity, status, price, currency, environment, \
                transaction_id, created_at, updated_at, moves) \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
                SELECT ?1 + i, randomblob(16), 'old' || (i % 5000), 'com.example.learn.points60', 1, 1, 600, 'CNY', 2, \
                printf('1%014d', i), ?3 - (?2 - i) * ?4, ?3 - (?2 - i) * ?4, 2 FROM n
                """, values)
            try session.execute(
                """
                INSERT INTO order_moves (order_sequence, number, status, at, reason) \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
                SELECT ?1 + i, 1, 0, ?3 - (?2 - i) * ?4, 'opened' FROM n
                """, values)
            try session.execute(
                """
                INSERT INTO transactions (sequence, environment, id, original_id, product, quantity, purchased_at, \
                signed_at, state, order_sequence, received_at) \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
                SELECT ?1 + i, 2, printf('1%014d', i), printf('1%014d', i), 'com.example.learn.points60', 1, \
                ?3 - (?2 - i) * ?4, ?3 - (?2 - i) * ?4, 1, ?1 + i, ?3 - (?2 - i) * ?4 FROM n
                """, values)
            try session.execute(
                """
                INSERT INTO proofs (transaction_sequence, kind, body) \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
                SELECT ?1 + i, 1, randomblob(900) FROM n WHERE ?3 + ?4 > 0
                """, values)
            try session.execute(
                """
                INSERT INTO grants (transaction_sequence, id, order_sequence, user, at) \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
                SELECT ?1 + i, randomblob(16), ?1 + i, 'old' || (i % 5000), ?3 - (?2 - i) * ?4 FROM n
                """, values)
            try session.execute(
                """
                INSERT INTO postings (environment, user, contra, currency, amount, kind, grant_sequence, at) \
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
                SELECT 2, 'old' || (i % 5000), 'sold', 'points', 60, 'purchase', ?1 + i, ?3 - (?2 - i) * ?4 FROM n
                """, values)
            try session.execute(
                """
                INSERT INTO balances (environment, user, currency, amount) \
                SELECT environment, user, currency, sum(amount) FROM postings WHERE user LIKE 'old%' \
                GROUP BY environment, user, currency
                """, [])
        }
    }

    /// What granting so many purchases asks of the disk: reads, writes and syncs.
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

    @Test("What was granted before sixty thousand others is still seen, and a grant costs what it did (G6, O8, T9)")
    func aged() async throws {
        let disk = CrashableDisk(seed: 33)
        var options = SQLiteDatabase.Options()
        options.vfs = disk.vfs
        try await Shop.open(ledger: options) { shop in
            let first = try await shop.pay(token: try await shop.openOrder(as: "ann"))
            #expect(try await shop.submit(first.signed, as: .user("ann"))["outcome"].text == "granted")
            _ = try await Self.cost(of: 20, in: shop, on: disk)
            let young = try await Self.cost(of: 100, in: shop, on: disk)
            try await Self.age(shop)
            _ = try await Self.cost(of: 20, in: shop, on: disk)
            let old = try await Self.cost(of: 100, in: shop, on: disk)
            // A page more here and there: trees are one level higher. It does not grow with the ledger.
            #expect(old < young * 2, "\(young) operations became \(old)")
            let again = try await shop.submit(first.signed, as: .user("ann"))
            #expect(again["outcome"].text == "alreadyGranted")
            #expect(try await shop.points(of: "ann") == 60)
            // The database itself refuses a second row for any of them.
            let fault = await #expect(throws: DatabaseFault.self) {
                try await shop.ledger.write { session in
                    try session.execute(
                        """
                        INSERT INTO transactions (environment, id, original_id, product, quantity, purchased_at, \
                        signed_at, state, received_at) VALUES (2, printf('1%014d', 17), '1', 'p', 1, 0, 0, 1, 0)
                        """, [])
                }
            }
            #expect(fault?.kind == .constraint)
        }
    }
}
