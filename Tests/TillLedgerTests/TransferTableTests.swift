import Testing
import TillBilling
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

@Suite("Transfers in the ledger") struct TransferTableTests {
    private let at = Instant(seconds: 1_700_000_000)

    private func transfer(_ low: UInt64, _ kind: Transfer.Kind = .guestMerge) -> Transfer {
        Transfer(
            id: UniqueID(high: 1, low: low), kind: kind, from: UserID("guest"), to: UserID("ann"), reason: "signed in",
            actor: "user:ann", operatorName: kind == .reversal ? "li" : nil, at: at)
    }

    @Test(
        "A transfer is read back as it was stored, with its points summed, and its reversal is found (P12)",
        arguments: LedgerDatabase.each)
    func roundTrip(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                let table = TransferTable(connection)
                let stored = try table.insert(transfer(1))
                try table.add(
                    [40, 20].map { MovedPoints(environment: .sandbox, currency: "points", amount: $0) },
                    to: stored.rowID)
                #expect(try table.find(UniqueID(high: 1, low: 1)) == stored)
                #expect(try table.find(rowID: stored.rowID)?.transfer == transfer(1))
                #expect(try table.points(of: stored.rowID).map(\.amount) == [60])
                #expect(try table.itemCount(of: stored.rowID) == 0)
                let reversal = try table.insert(transfer(2, .reversal), reverses: stored.rowID)
                #expect(try table.reversal(of: stored.rowID) == reversal)
                #expect(try table.reversal(of: reversal.rowID) == nil)
                for user in ["guest", "ann"] {
                    let list = try table.list(user: UserID(user), before: .max, limit: 10)
                    #expect(list == [reversal, stored])
                }
                #expect(try table.list(user: UserID("ben"), before: .max, limit: 10).isEmpty)
            }
        }
    }

    @Test(
        "The database itself refuses a second reversal, a guest in two accounts, and any edit of a transfer (P12)",
        arguments: LedgerDatabase.each)
    func rules(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let first = try await ledger.write { connection in
                let stored = try TransferTable(connection).insert(transfer(1))
                try CustomerTable(connection).merge(UserID("guest"), into: UserID("ann"))
                try TransferTable(connection).insert(transfer(2, .reversal), reverses: stored.rowID)
                return stored
            }
            let attempts: [@Sendable (any Connection) throws -> Void] = [
                { try TransferTable($0).insert(transfer(3, .reversal), reverses: first.rowID) },
                { try CustomerTable($0).merge(UserID("guest"), into: UserID("ann")) },
                { try CustomerTable($0).merge(UserID("ann"), into: UserID("nobody")) },
                { try CustomerTable($0).merge(UserID("ann"), into: UserID("ann")) },
                { try $0.execute("UPDATE transfers SET to_customer_id = 1", []) },
                { try $0.execute("DELETE FROM transfers", []) },
            ]
            for attempt in attempts {
                await #expect(throws: DatabaseError.self) { try await ledger.write(attempt) }
            }
            let (guest, count) = try await ledger.read { connection in
                (
                    try CustomerTable(connection).merge(of: UserID("guest"))?.account,
                    try TransferTable(connection).list(user: UserID("ann"), before: .max, limit: 10).count
                )
            }
            #expect(guest == UserID("ann") && count == 2)
        }
    }

    @Test(
        "A guest's account is found through accounts that became guests themselves (P12)",
        arguments: LedgerDatabase.each)
    func account(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                let guests = CustomerTable(connection)
                for name in ["a", "b", "c"] { _ = try guests.id(of: UserID(name), at: Instant(seconds: 1)) }
                try guests.merge(UserID("a"), into: UserID("b"))
                #expect(try guests.account(of: UserID("a")) == UserID("b"))
                try guests.merge(UserID("b"), into: UserID("c"))
                #expect(try guests.account(of: UserID("a")) == UserID("c"))
                #expect(try guests.account(of: UserID("c")) == nil)
                try guests.separate(UserID("a"))
                #expect(try guests.account(of: UserID("a")) == nil)
            }
        }
    }
}
