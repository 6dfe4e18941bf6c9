import Testing
import TillBilling
import TillSQLite
import TillTestDatabases

@testable import TillLedger

/// The conditions in docs/invariants.md that stop the program, with their reasons.
@Suite("Rules of the ledger that stop the program") struct AssertionTests {
    @Test("An illegal move of an order stops the program (invariant 5)")
    func illegalMove() async throws {
        let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await withLedger { ledger in
                let now = Instant(milliseconds: 0)
                let order = Order(
                    id: UniqueID(random: [UInt8](repeating: 7, count: 16)), userID: UserID("ann"),
                    productID: ProductID("points60"), quantity: 1,
                    price: Money(amount: 600, currency: Currency("CNY")), createdAt: now, updatedAt: now)
                try await ledger.write { connection in
                    let table = OrderTable(connection)
                    let stored = try table.insert(order, reason: "")
                    let completed = try table.move(stored, along: [.completed], at: now, reason: "")
                    _ = try table.move(completed, along: [.failed], at: now, reason: "")
                }
            }
        }
        let stated = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
        #expect(stated.contains("legal moves"))
    }

    @Test("Guessable order ids stop the program (invariant 1)")
    func guessableIDs() async {
        let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CommitInputs(now: Instant(milliseconds: 0), seed: [1, 2, 3])
        }
        let stated = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
        #expect(stated.contains("can be guessed"))
    }
}
