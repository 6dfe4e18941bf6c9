import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("The list of completed orders") struct CompletedOrderTests {
    @Test("A subscription's order is listed once, however many renewals it has", arguments: LedgerDatabase.each)
    func renewals(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                try connection.write(
                    "INSERT INTO customers (customer_id, user_id, first_seen) VALUES (1, 'ann', 0)", [])
                for order in 1...5 as ClosedRange<Int64> {
                    try connection.write(
                        """
                        INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, \
                        created_at, updated_at, moves, id_source) VALUES (?1, ?2, 1, 'p', 1, ?3, 1, 'CNY', 0, 0, 1, 1)
                        """,
                        [
                            .integer(order), .id(UniqueID(high: 1, low: UInt64(order))), .integer(order == 2 ? 0 : 1),
                        ])
                }
                // Order 4 is paid first, and order 1 again after it.
                for (row, order) in [4, 1, 3, 1, 5, 1, 5].enumerated() {
                    try connection.write(
                        """
                        INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, \
                        purchased_at, signed_at, state, order_row_id, received_at) VALUES (?1, 2, ?2, ?2, 'p', 1, 0, \
                        0, 1, ?3, 0)
                        """, [.integer(Int64(row + 1)), .text("t\(row)"), .integer(Int64(order))])
                }
            }
            func list(before: Int64, _ limit: Int) async throws -> [Int64] {
                try await ledger.read {
                    try OrderTable($0).list(status: .completed, before: before, limit: limit).map(\.rowID)
                }
            }
            #expect(try await list(before: .max, 10) == [5, 4, 3, 1])
            #expect(try await list(before: .max, 2) == [5, 4])
            #expect(try await list(before: 4, 2) == [3, 1])
        }
    }
}
