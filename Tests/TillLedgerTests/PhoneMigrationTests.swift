import Foundation
import Testing
import TillBilling
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

/// Migration 102: the buyer's phone beside the device of a plan.
@Suite("A ledger from before phones were named") struct PhoneMigrationTests {
    private func open(_ path: String, _ count: Int) throws -> any Database {
        var schema = DatabaseSchema.ledger
        schema.migrations = Array(schema.migrations.prefix(count))
        return try SQLiteDatabase.open(path: path, role: .server, options: .init(schema))
    }

    @Test("Its orders keep their device, and the match finds them by it (U1)")
    func migrated() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("till.db").path
        let id = UniqueID(high: 1, low: 2)
        let old = try open(path, 1)
        try await old.write { connection in
            try connection.execute(
                "INSERT INTO customers (customer_id, user_id, first_seen) VALUES (1, 'ann', 0)", [])
            try connection.execute(
                """
                INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, device, \
                created_at, updated_at, moves, id_source) VALUES (1, ?1, 1, 'p', 1, 0, 600, 'CNY', 'iPad-7', 0, 0, 1, 2)
                """, [.id(id)])
        }
        await old.close()
        let ledger = try open(path, DatabaseSchema.ledger.migrations.count)
        let (found, matched, indexes) = try await ledger.write { connection in
            let orders = OrderTable(connection)
            func matched(_ device: String) throws -> [OrderID] {
                try orders.unpaid(
                    onDevice: DeviceID(device), product: ProductID("p"), quantity: 1, openedBy: Instant(seconds: 9),
                    ofBuyersBy: nil, limit: 9
                ).map(\.order.id)
            }
            let new = Order(
                id: UniqueID(high: 1, low: 3), userID: UserID("ann"), productID: ProductID("p"), quantity: 1,
                price: Money(amount: 600, currency: Currency("CNY")), deviceID: DeviceID("camera-7"),
                createdAt: Instant(seconds: 1), updatedAt: Instant(seconds: 1), phoneID: DeviceID("phone"))
            try orders.insert(new, reason: "opened")
            #expect(try orders.find(new.id)?.order == new)
            #expect(try matched("phone") == [new.id])
            #expect(try matched("camera-7").isEmpty)
            let indexes = try connection.query(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'orders' ORDER BY name", []
            ) { $0.text("name") }
            return (try orders.find(id)?.order, try matched("iPad-7"), indexes)
        }
        #expect(found?.deviceID == DeviceID("iPad-7") && found?.phoneID == nil)
        #expect(matched == [id])
        #expect(indexes.contains("orders_by_phone") && !indexes.contains("orders_by_device"))
        await ledger.close()
    }

    @Test("Apps ask for refunded orders at each launch: an index of those alone answers, at any number of orders")
    func refundedOrders() async throws {
        try await withLedger(on: .sqlite) { ledger in
            let plan = try await ledger.read { connection in
                try connection.query(
                    """
                    EXPLAIN QUERY PLAN SELECT row_id FROM orders WHERE customer_id = ?1 AND row_id < ?2 AND \
                    (environment IS NULL OR environment = ?3) AND status = 6 ORDER BY row_id DESC LIMIT ?4
                    """, [.integer(1), .integer(9), .integer(1), .integer(100)]
                ) { $0.text("detail") }
            }
            #expect(plan.count == 1 && plan[0].contains("orders_refunded_by_user"), "\(plan)")
        }
    }
}
