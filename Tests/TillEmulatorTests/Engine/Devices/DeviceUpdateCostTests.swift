import Testing
import TillAppStore
import TillBilling
import TillSQL
import TillSQLite

@testable import TillEmulator

@Suite("The cost of reading changes", .slow)
struct DeviceUpdateCostTests {
    /// Counts the statements sent to a database, and the returned rows.
    private final class CountingConnection: Connection {
        let connection: any Connection
        var questions = 0
        var rows = 0

        init(_ connection: any Connection) { self.connection = connection }

        var isShared: Bool { connection.isShared }

        func lock(_ keys: @autoclosure () -> [LockKey]) { connection.lock(keys()) }

        func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64] {
            try connection.drawIDs(count, of: table)
        }

        func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult] {
            questions += statements.count
            return try connection.run(statements)
        }

        func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int {
            try connection.execute(sql, values)
        }

        func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64? {
            try connection.insertIfNew(sql, values)
        }

        func query<Value>(
            _ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value
        ) throws -> [Value] {
            questions += 1
            let found = try connection.query(sql, values, read)
            rows += found.count
            return found
        }
    }

    /// - Returns: the statements and rows for the changes after the next purchase.
    private func cost(transactions: Int) async throws -> [Int] {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        try await world.emulator.store.change { change in
            let download = try DownloadTable.download(
                account: "ann", bundleID: EmulatedWorld.app, at: change.now, change.connection)
            for index in 0..<transactions {
                let number = try Counter.transaction.take(change.connection)
                var transaction = StoreTransaction(
                    price: Money(amount: 600, currency: Currency("CNY")), number: number, original: number,
                    state: index % 10 == 0 ? .declined : .purchased, isFinished: index % 2 == 0, environment: .sandbox,
                    account: "ann", bundleID: EmulatedWorld.app, productID: ProductID("points60"), kind: .consumable,
                    quantity: 1, storefront: "CHN", appAccountToken: nil, appTransaction: download.appTransaction,
                    reason: "PURCHASE", purchased: change.now, firstPurchased: change.now, subscription: nil,
                    revocation: nil)
                if index % 5 == 0 { transaction.kind = .nonConsumable }
                try TransactionTable.insert(transaction, change.connection)
            }
        }
        let position = try await phone.update().position
        _ = try await world.buy("points60", ["account": "ann"])
        let device = try #require(UniqueID(phone.id))
        let cost = try await world.database.read { connection in
            let counting = CountingConnection(connection)
            let update = try DeviceUpdate.read(
                device: device, bundleID: EmulatedWorld.app, after: position, counting
            ).get()
            guard update.changed.count == 1 else { return [Int]() }
            return [counting.questions, counting.rows]
        }
        await world.remove()
        return cost
    }

    @Test("Reading changes takes as many statements and rows with 50,000 transactions as with 50")
    func rows() async throws {
        let few = try await cost(transactions: 50)
        #expect(few.count == 2 && (few.last ?? 99) < 10)
        #expect(try await cost(transactions: 50_000) == few)
    }

    /// Every query, preceded by the words that request its plan.
    private static let plans: [(asked: SQL, meant: SQL, index: String)] = [
        (
            """
            EXPLAIN QUERY PLAN SELECT number, modification FROM transactions
            WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND modification > ?
            ORDER BY modification LIMIT ?
            """, DeviceUpdate.paid, "transactions_changed"
        ),
        (
            """
            EXPLAIN QUERY PLAN SELECT number, modification FROM transactions
            WHERE account = ? AND bundle_id = ? AND state <> 'purchased' AND modification > ?
            ORDER BY modification LIMIT ?
            """, DeviceUpdate.unpaid, "transactions_unpaid_changed"
        ),
        (
            """
            EXPLAIN QUERY PLAN SELECT id, account, bundle_id, product_id, offer, device, taken_by FROM purchase_intents
            WHERE account = ? AND bundle_id = ? AND taken_by IS NULL AND (device IS NULL OR device = ?)
            ORDER BY number LIMIT ?
            """, PurchaseIntentTable.waiting, "purchase_intents_waiting"
        ),
        (
            """
            EXPLAIN QUERY PLAN SELECT id, reason FROM messages WHERE account = ? AND bundle_id = ? AND shown = 0 \
            ORDER BY number LIMIT ?
            """, MessageTable.made, "messages_waiting"
        ),
        (
            "EXPLAIN QUERY PLAN SELECT 1 FROM shown_messages WHERE account = ? AND id = ?", MessageTable.wasShown,
            "PRIMARY KEY"
        ),
        (
            """
            EXPLAIN QUERY PLAN SELECT content FROM subscriptions WHERE account = ? AND bundle_id = ? \
            ORDER BY group_id, original
            """, SubscriptionTable.contents, "subscriptions_of_account"
        ),
    ]

    @Test("Every query for changes is a search in an index, without scans and without sorts of growing sets")
    func plans() async throws {
        let world = try await EmulatedWorld()
        for (asked, meant, index) in Self.plans {
            #expect("\(asked)" == "EXPLAIN QUERY PLAN \(meant)", "the plan of what is asked")
            let count = "\(asked)".count { $0 == "?" }
            let plan = try await world.database.read { connection in
                try connection.query(asked, Array(repeating: .text("x"), count: count)) { $0.text("detail") }
            }
            #expect(plan.first?.hasPrefix("SEARCH") == true && plan.first?.contains(index) == true, "\(plan)")
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
            if index.hasPrefix("transactions") { #expect(plan.count == 1, "\(plan)") }
        }
        #expect(Self.plans.count == 6)
        await world.remove()
    }
}
