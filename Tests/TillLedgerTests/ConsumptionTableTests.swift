import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("Apple's consumption requests and customers' consents in the database") struct ConsumptionTableTests {
    private let at = Instant(milliseconds: 1_700_000_000_123)

    private func notified(_ connection: any Connection, _ uuid: String) throws -> Int64 {
        try NotificationTable(connection).insert(
            uuid: uuid, environment: .sandbox, type: "CONSUMPTION_REQUEST", subtype: nil, signedAt: nil, at: at,
            payload: [UInt8(ascii: "p")]) ?? 0
    }

    private func request(_ id: String) -> ConsumptionTable.Request {
        ConsumptionTable.Request(
            environment: .sandbox, transactionID: TransactionID(id), reason: "OTHER", requestedAt: at)
    }

    private func posting(_ kind: PostingKind, _ contra: ContraAccount) -> Posting {
        var posting = Posting(
            environment: .sandbox, userID: UserID("u1"), contra: contra, currency: "points", amount: 5,
            kind: kind, reference: "r", at: at)
        posting.note = Posting.Note(reason: "why", actor: kind == .bonus ? nil : "anna")
        return posting
    }

    @Test(
        "The newest statement about a consent counts, and older ones can be neither edited nor deleted (U5)",
        arguments: LedgerDatabase.each)
    func consents(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let found = try await ledger.write { connection in
                let table = ConsentTable(connection)
                let first = try table.newest(of: UserID("u1"))
                for isGiven in [true, false, true] {
                    try table.insert(.init(isGiven: isGiven, actor: "user:u1", at: at), of: UserID("u1"))
                }
                try table.insert(.init(isGiven: false, actor: "key:b", at: at), of: UserID("u2"))
                return (first, try table.newest(of: UserID("u1")), try table.newest(of: UserID("u2")))
            }
            #expect(found.0 == nil && found.1?.isGiven == true && found.2?.isGiven == false)
            for statement in ["UPDATE consents SET given = 1", "DELETE FROM consents"] as [SQL] {
                await #expect(throws: DatabaseError.self) {
                    try await ledger.write { connection in _ = try connection.execute(statement, []) }
                }
            }
        }
    }

    @Test("A request is stored once per notification, waits, and ends once (U5)", arguments: LedgerDatabase.each)
    func questions(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                let table = ConsumptionTable(connection)
                let (one, two) = (try notified(connection, "a"), try notified(connection, "b"))
                #expect(try table.insert(request("1"), notification: one))
                #expect(try !table.insert(request("1"), notification: one))
                #expect(try table.insert(request("2"), notification: two))
                #expect(try table.due(at: at, limit: 10).map(\.request) == [request("1"), request("2")])
                let rows = try table.due(at: at, limit: 10).map(\.rowID)
                let (first, second) = (try #require(rows.first), try #require(rows.last))
                #expect(request("1").answerBy == at.adding(seconds: 43_200))

                try table.postpone(first, until: at.adding(seconds: 9), detail: "no_consent")
                #expect(try table.due(at: at, limit: 10).map(\.rowID) == [second])
                try table.end(second, .answered, answer: "{}", detail: "", at: at)
                try table.end(second, .refused, answer: nil, detail: "x", at: at)
                try table.postpone(second, until: at, detail: "x")
                let listed = try table.list(before: .max, limit: 10)
                #expect(listed.map(\.rowID) == rows.reversed() && listed.map(\.state) == [.answered, .waiting])
                #expect(listed[0].answer == "{}" && listed[0].endedAt == at && listed[0].detail.isEmpty)
                #expect(listed[1].attempts == 1 && listed[1].detail == "no_consent")
                #expect(try table.due(at: at.adding(seconds: 9), limit: 10).map(\.rowID) == [first])
            }
        }
    }

    @Test(
        "A bonus and a correction are each found by their reference, through the index alone, and posted once",
        arguments: LedgerDatabase.each)
    func manual(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                let books = LedgerTable(connection)
                for (kind, contra) in [(PostingKind.bonus, ContraAccount.given), (.correction, .corrected)] {
                    #expect(try books.manual(kind, reference: "r", in: .sandbox) == nil)
                    try books.post(posting(kind, contra), grant: nil)
                    #expect(try books.manual(kind, reference: "r", in: .sandbox)?.posting == posting(kind, contra))
                }
                #expect(try books.manual(.bonus, reference: "r", in: .production) == nil)
                guard database == .sqlite else { return }
                let plan = try connection.query(
                    """
                    EXPLAIN QUERY PLAN SELECT row_id FROM postings p WHERE p.environment = ? AND p.kind = ? \
                    AND p.reference = ? AND p.kind IN ('bonus', 'correction')
                    """, [.integer(2), .text("bonus"), .text("r")]
                ) { $0.text("detail") }
                #expect(plan.count == 1 && plan[0].contains("postings_one_manual"), "\(plan)")
            }
            await #expect(throws: DatabaseError.self) {
                try await ledger.write { try LedgerTable($0).post(posting(.bonus, .given), grant: nil) }
            }
        }
    }
}
