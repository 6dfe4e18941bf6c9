import Testing
import TillBilling
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

@Suite("Receipts that wait for Apple's answer") struct WaitingProofTests {
    private let now = Instant(milliseconds: 1_700_000_000_123)
    private let ann = WaitingProofTable.Submitter(name: "user:ann", namedUser: nil, claimedOrder: nil)
    private let shop = WaitingProofTable.Submitter(
        name: "key:shop", namedUser: "ben", claimedOrder: UniqueID(high: 1, low: 2))

    private func insert(
        _ id: String, by submitter: WaitingProofTable.Submitter, receipt: UInt8, due: Int64,
        in connection: any Connection
    ) throws {
        try WaitingProofTable(connection).insert(
            TransactionID(id), in: .sandbox, by: submitter, receipt: [receipt, receipt],
            digest: [UInt8](repeating: receipt, count: 32), at: now, due: now.adding(seconds: due), detail: "timedOut")
    }

    @Test("They are returned when they are due, the longest overdue first, with everything submitted beside them")
    func due() async throws {
        try await withLedger { ledger in
            let now = now
            try await ledger.write { connection in
                try insert("1", by: ann, receipt: 7, due: 10, in: connection)
                try insert("2", by: shop, receipt: 7, due: 5, in: connection)
                try insert("3", by: ann, receipt: 8, due: 100, in: connection)
            }
            let waiting = try await ledger.read {
                try WaitingProofTable($0).due(in: .sandbox, at: now.adding(seconds: 10), limit: 9)
            }
            #expect(waiting.map(\.transactionID) == [TransactionID("2"), TransactionID("1")])
            #expect(waiting.map(\.submitter) == [shop, ann])
            #expect(waiting.map(\.environment) == [.sandbox, .sandbox])
            #expect(waiting.map(\.attempts) == [0, 0] && waiting.map(\.detail) == ["timedOut", "timedOut"])
            let early = try await ledger.read { try WaitingProofTable($0).due(in: .sandbox, at: now, limit: 9) }
            #expect(early.isEmpty)
        }
    }

    @Test("A repeated question is one row, and a receipt is stored once for all of its waiting purchases")
    func once() async throws {
        try await withLedger { ledger in
            try await ledger.write { connection in
                for _ in 0..<3 {
                    try insert("1", by: ann, receipt: 7, due: 0, in: connection)
                    try insert("1", by: shop, receipt: 7, due: 0, in: connection)
                    try insert("2", by: ann, receipt: 7, due: 0, in: connection)
                }
            }
            let counts = try await ledger.read { connection in
                (
                    try WaitingProofTable(connection).count(),
                    try connection.first("SELECT count(*) AS count FROM waiting_receipts", []) { $0.integer("count") }
                )
            }
            #expect(counts == (3, 1))
        }
    }

    @Test("Callers take turns, a question can be removed alone, and a repeated question stores no further receipt")
    func turns() async throws {
        try await withLedger { ledger in
            let now = now
            let (due, left, counts) = try await ledger.write { connection in
                for number in 0..<3 { try insert("\(number)", by: ann, receipt: UInt8(number), due: 0, in: connection) }
                try insert("9", by: shop, receipt: 9, due: 0, in: connection)
                try insert("9", by: shop, receipt: 10, due: 0, in: connection)
                let table = WaitingProofTable(connection)
                let due = try table.due(in: .sandbox, at: now, limit: 9)
                try table.remove(due[0].rowID)
                let receipts = try connection.first("SELECT count(*) AS count FROM waiting_receipts", []) {
                    $0.integer("count")
                }
                return (due, try table.list(TransactionID("9"), in: .sandbox), [try table.count(), receipts])
            }
            #expect(due.map(\.transactionID.text) == ["0", "9", "1", "2"])
            #expect(left == [due[1]])
            #expect(counts == [3, 3])
        }
    }

    @Test("Many callers of one purchase share one turn and have a limit, and production is a queue of its own")
    func hands() async throws {
        try await withLedger { ledger in
            let now = now
            let (due, count, production) = try await ledger.write { connection in
                for number in 0..<400 {
                    let submitter = WaitingProofTable.Submitter(
                        name: "user:\(number)", namedUser: nil, claimedOrder: nil)
                    try insert("1", by: submitter, receipt: 7, due: 0, in: connection)
                }
                try insert("2", by: ann, receipt: 8, due: 0, in: connection)
                let table = WaitingProofTable(connection)
                return (
                    try table.due(in: .sandbox, at: now, limit: 2), try table.count(),
                    try table.due(in: .production, at: now, limit: 2)
                )
            }
            #expect(due.map(\.transactionID.text) == ["1", "2"] && count == 65 && production.isEmpty)
        }
    }

    @Test("Without an answer a question is postponed; a processed one is removed for all callers, and last its receipt")
    func goes() async throws {
        try await withLedger { ledger in
            let now = now
            let first = try await ledger.write { connection in
                try insert("1", by: ann, receipt: 7, due: 0, in: connection)
                try insert("1", by: shop, receipt: 7, due: 0, in: connection)
                try insert("2", by: ann, receipt: 7, due: 0, in: connection)
                let table = WaitingProofTable(connection)
                let first = try #require(try table.due(in: .sandbox, at: now, limit: 1).first)
                try table.postpone(first.rowID, until: now.adding(seconds: 60), detail: "rateLimited")
                return first.rowID
            }
            let due = try await ledger.read { connection in
                let table = WaitingProofTable(connection)
                #expect(try table.receipt(of: first) == [7, 7])
                return (
                    try table.due(in: .sandbox, at: now, limit: 9),
                    try table.due(in: .sandbox, at: now.adding(seconds: 60), limit: 9)
                )
            }
            #expect(due.0.count == 2 && due.1.count == 3)
            #expect(due.1.last?.attempts == 1 && due.1.last?.detail == "rateLimited")
            _ = try await ledger.write { try WaitingProofTable($0).remove(TransactionID("1"), in: .sandbox) }
            #expect(try await ledger.read { try WaitingProofTable($0).count() } == 1)
            _ = try await ledger.write { try WaitingProofTable($0).remove(TransactionID("2"), in: .sandbox) }
            let left = try await ledger.read { connection in
                try connection.first("SELECT count(*) AS count FROM waiting_receipts", []) { $0.integer("count") }
            }
            #expect(left == 0)
        }
    }
}
