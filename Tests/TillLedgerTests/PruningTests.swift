import Testing
import TillAppStore
import TillBilling
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillLedger

@Suite("Pruning of what callers without a purchase write (V5)") struct PruningTests {
    private static let start = Instant(seconds: 1_790_000_000)
    private static let day: Int64 = 86_400

    private static func ledger(_ database: any Database, days: Int64) throws -> Ledger {
        let apple = AppleTrust(bundleID: "com.example.learn", appAppleID: nil, environments: [.sandbox])
        return try Ledger(
            settings: LedgerSettings(catalog: Catalog(products: []), apple: apple), database: database,
            clock: { start.adding(seconds: days * day) }, entropy: { [UInt8](repeating: 7, count: $0) })
    }

    private static func prune(_ database: any Database, days: Int64) async throws -> [String: Pruning.Table] {
        let tables = try await Pruning(try ledger(database, days: days), backends: ["key:shop"]).run()
        return Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0) })
    }

    private static func refusal(
        _ caller: String, _ number: Int, days: Int64 = 0, order: OrderID? = nil, source: String = "app"
    ) -> RefusedProofTable.Entry {
        RefusedProofTable.Entry(
            at: start.adding(seconds: days * day), source: source, caller: caller, claimedOrder: order,
            code: "bad_signature", detail: "detail", digest: [UInt8(number & 255), UInt8(number >> 8)], record: "{}")
    }

    @Test(
        "A refusal is kept 30 days for a stranger, 180 for a signed-in caller, and 730 beside an order",
        arguments: [(30, 3), (31, 2), (180, 2), (181, 1), (730, 1), (731, 0)] as [(Int64, Int64)])
    func ages(days: Int64, left: Int64) async throws {
        try await withLedger { database in
            let order = try #require(OrderID("3f2c91ab-0000-4000-8000-000000000001"))
            try await database.write { connection in
                let table = RefusedProofTable(connection)
                try table.insert(Self.refusal("apple", 1, source: "notification"))
                try table.insert(Self.refusal("user:eve", 2))
                try table.insert(Self.refusal("user:ann", 3, order: order))
            }
            let found = try #require(try await Self.prune(database, days: days)["refused_proofs"])
            #expect(found.rows == left && found.pruned == 3 - left)
            #expect(found.bytes == left * 8)
        }
    }

    @Test("A proof that was refused again counts from the last time")
    func repeated() async throws {
        try await withLedger { database in
            try await database.write { connection in
                for days in [0, 170] as [Int64] {
                    try RefusedProofTable(connection).insert(Self.refusal("user:eve", 1, days: days))
                }
            }
            #expect(try await Self.prune(database, days: 300)["refused_proofs"]?.rows == 1)
            #expect(try await Self.prune(database, days: 351)["refused_proofs"]?.rows == 0)
        }
    }

    @Test("Many rows are deleted in small commits, and what is too much for one pass is due at the next")
    func batches() async throws {
        try await withLedger { database in
            try await database.write { connection in
                let table = RefusedProofTable(connection)
                for key in 0..<6 {
                    for number in 0..<2_000 { try table.insert(Self.refusal("key:\(key)", number)) }
                }
            }
            let counting = CountingDatabase(database)
            let tables = try await Pruning(try Self.ledger(counting, days: 200), backends: []).run()
            let first = try #require(tables.first { $0.name == "refused_proofs" })
            #expect(first.pruned == 10_000 && first.rows == 2_000)
            #expect(counting.most == Pruning.batch)
            #expect(try await Self.prune(database, days: 200)["refused_proofs"]?.rows == 0)
        }
    }

    @Test("Another app's notification is kept for 180 days")
    func foreign() async throws {
        try await withLedger { database in
            try await database.write { connection in
                for number in 0..<300 {
                    try ForeignNotificationTable(connection).insert(
                        ForeignNotificationTable.Entry(
                            uuid: "\(number)", app: ("com.example.other", nil), environment: "Sandbox", type: "TEST",
                            subtype: nil, receivedAt: Self.start.adding(seconds: number < 250 ? 0 : Self.day),
                            reason: ("wrong_app", "other"), payload: "payload"))
                }
            }
            #expect(try await Self.prune(database, days: 180)["foreign_notifications"]?.rows == 300)
            let found = try #require(try await Self.prune(database, days: 181)["foreign_notifications"])
            #expect(found.rows == 50 && found.pruned == 250 && found.bytes == 50 * 12)
        }
    }

    @Test("An answer to a repeatable request is kept for 48 hours, and a backend keeps its newest answers")
    func answers() async throws {
        try await withLedger { database in
            @Sendable func scope(_ credential: String, _ key: Int) -> IdempotencyTable.Scope {
                IdempotencyTable.Scope(
                    credential: credential, method: "POST", path: "/v1/orders", queryDigest: [],
                    environment: .sandbox, key: "\(key)")
            }
            let answer = IdempotencyTable.Answer(digest: [1], status: 200, body: [1, 2, 3])
            try await database.write { connection in
                let table = IdempotencyTable(connection)
                for key in 0..<500 {
                    try table.insert(scope("user:eve", key), answer, at: Self.start.adding(seconds: Int64(key)))
                    try table.insert(scope("key:shop", key), answer, at: Self.start.adding(seconds: Int64(key)))
                }
                // The bound of a backend is a million; the same statements with a smaller one.
                #expect(try table.time(of: "key:shop", afterNewest: 500) == nil)
                let surplus = try #require(try table.time(of: "key:shop", afterNewest: 100))
                #expect(surplus == Self.start.adding(seconds: 399))
                #expect(try table.removeOldest(of: "key:shop", until: surplus, limit: 1_000) == 400)
                #expect(try table.find(scope("key:shop", 399)) == nil)
                #expect(try table.find(scope("key:shop", 400)) != nil)
            }
            #expect(try await Self.prune(database, days: 2)["idempotency_keys"]?.rows == 600)
            let found = try #require(try await Self.prune(database, days: 3)["idempotency_keys"])
            #expect(found.rows == 0 && found.pruned == 600 && found.bytes == 0)
        }
    }

    @Test("Evidence and orders are never among the pruned tables")
    func others() async throws {
        try await withLedger { database in
            let tables = try await Self.prune(database, days: 4_000)
            #expect(
                Set(tables.keys) == [
                    "refused_proofs", "foreign_notifications", "idempotency_keys", "waiting_receipts", "orders",
                    "customers", "claims", "consents",
                ])
            #expect(tables.values.allSatisfy { $0.rows == 0 && $0.pruned == 0 })
        }
    }
}

/// Counts the rows that one write deletes at most.
private final class CountingDatabase: Database {
    private let inner: any Database
    private let highest = Locked(0)

    init(_ inner: any Database) { self.inner = inner }

    var most: Int { highest.withLock { $0 } }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let highest = highest
        return try await inner.write(locking: keys()) { connection in
            func rows() throws -> Int64 {
                try connection.first("SELECT count(*) AS count FROM refused_proofs", []) { $0.integer("count") } ?? 0
            }
            let before = try rows()
            let value = try body(connection)
            let deleted = Int(before - (try rows()))
            highest.withLock { $0 = max($0, deleted) }
            return value
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await inner.read(body)
    }

    func close() async { await inner.close() }
}
