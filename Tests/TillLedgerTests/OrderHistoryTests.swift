import Testing
import TillBilling
import TillJSON
import TillSQL
import TillTestDatabases

@testable import TillLedger

/// The two forms in which an order's history is stored (docs/decisions/0089).
@Suite("An order's history") struct OrderHistoryTests {
    private let at = Instant(milliseconds: 1_700_000_000_123)

    private func order(_ low: UInt64) -> Order {
        Order(
            id: UniqueID(high: 1, low: low), userID: UserID("u1"), productID: ProductID("com.example.points60"),
            quantity: 1, price: Money(amount: 600, currency: Currency("CNY")), deviceID: DeviceID("d1"),
            createdAt: at, updatedAt: at)
    }

    @Test(
        "An order goes on with its history, in whichever of its two forms an earlier program stored it (L6)",
        arguments: LedgerDatabase.each, [false, true])
    func orderHistory(_ database: LedgerDatabase, isLastInOrder: Bool) async throws {
        try await withLedger(on: database) { ledger in
            let opened = order(1)
            try await ledger.write { connection in
                let orders = OrderTable(connection)
                let stored = try orders.insert(opened, reason: OrderTable.openedReason)
                try connection.write("DELETE FROM order_moves", [])
                let time = SQLValue.integer(opened.createdAt.milliseconds)
                if isLastInOrder {
                    try connection.write("UPDATE orders SET status = 1, moves = 2, reason = 'token'", [])
                } else {
                    try connection.write(
                        "INSERT INTO order_moves VALUES (?1, 1, 0, ?2, 'opened'), (?1, 2, 1, ?2, 'token')",
                        [.integer(stored.rowID), time])
                    try connection.write("UPDATE orders SET status = 1, moves = 2, reason = NULL", [])
                }
            }
            func move(_ way: [OrderStatus], _ reason: String, after seconds: Int64) async throws -> [OrderMove] {
                try await ledger.write { connection in
                    let orders = OrderTable(connection)
                    let stored = try #require(try orders.find(opened.id))
                    let moved = try orders.move(
                        stored, along: way, at: at.adding(seconds: seconds), reason: reason)
                    let moves = try orders.moves(of: moved)
                    let found = try #require(try orders.find(opened.id))
                    #expect(try orders.moves(of: found) == moves)
                    #expect(try LedgerAudit.violations(connection).filter { $0.rule == .orderMoves }.isEmpty)
                    let section = try #require(ExportSection.all.first { $0.name == "orderHistory" })
                    let customer = try CustomerTable(connection).id(of: opened.userID, at: at)
                    let exported = try connection.query(
                        section.rows, [.integer(customer), .integer(0), .integer(.max)], section.item)
                    #expect(exported.map { $0["status"]?.string } == moves.map(\.status.name))
                    #expect(exported.map { $0["reason"]?.string } == moves.map(\.reason))
                    #expect(exported.map { $0["at"]?.string } == moves.map(\.at.rfc3339))
                    return moves
                }
            }
            var moves = try await move([], "", after: 1)
            #expect(moves.map(\.status) == [.prepared, .completed])
            moves = try await move([.refunded], "revoked_by_apple", after: 2)
            #expect(moves.map(\.reason) == ["opened", "token", "revoked_by_apple"])
            moves = try await move([.completed], "refund_reversed", after: 3)
            #expect(moves.map(\.status) == [.prepared, .completed, .refunded, .completed])
            #expect(moves.map(\.at) == [0, 0, 2, 3].map { at.adding(seconds: $0) })
        }
    }
}
