import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("Delivery queues, and the event numbers of each user") struct WebhookTableTests {
    private static let now = Instant(seconds: 1_790_000_000)

    private func happen(_ users: [String?], _ connection: any Connection) throws {
        for user in users {
            try EventRecorder(connection).record(type: "a.b", user: user.map { UserID($0) }, at: Self.now)
        }
        _ = try OutboxTable(connection).place(limit: 1_000)
    }

    @Test(
        "Numbers count each user's events without a gap, and events without a user have none",
        arguments: LedgerDatabase.each)
    func numbers(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { try happen(["u1", nil, "u2", "u1", "U1", "u1", "u2"], $0) }
            let events = try await ledger.read { try OutboxTable($0).list(after: 0, limit: 10) }
            #expect(events.map(\.userSequence) == [1, nil, 1, 2, 1, 3, 2])
            #expect(events.map(\.position) == [1, 2, 3, 4, 5, 6, 7])
            let own = try await ledger.read { try OutboxTable($0).list(of: UserID("u1"), after: 1, limit: 10) }
            #expect(own.map(\.position) == [4, 6])
            // A rolled-back event uses no number.
            struct Undone: Error {}
            await #expect(throws: Undone.self) {
                try await ledger.write { connection in
                    try happen(["u1"], connection)
                    throw Undone()
                }
            }
            try await ledger.write { try happen(["u1"], $0) }
            #expect(try await ledger.read { try OutboxTable($0).find(8)?.userSequence } == 4)
            #expect(try await ledger.read { try OutboxTable($0).position(before: Self.now) } == 0)
            #expect(try await ledger.read { try OutboxTable($0).position(before: Self.now.adding(seconds: 1)) } == 8)
        }
    }

    @Test(
        "A reader that has passed a row's id still gets the row when its transaction commits late",
        arguments: LedgerDatabase.each)
    func lateRows(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                let outbox = OutboxTable(connection)
                let insert = { (user: String, number: Int64, id: Int64) in
                    try connection.execute(
                        """
                        INSERT INTO outbox (row_id, event_id, type, customer_id, user_sequence, at, revision, \
                        version, body) VALUES (?1, ?2, 'a.b', ?3, ?4, 0, 0, 1, '{}')
                        """,
                        [
                            .integer(id), .blob(Array(repeating: UInt8(id), count: 16)),
                            .integer(try CustomerTable(connection).id(of: UserID(user), at: Self.now)),
                            .integer(number),
                        ])
                    try connection.execute("INSERT INTO unplaced_events (event_row_id) VALUES (?1)", [.integer(id)])
                }
                try insert("ann", 1, 9)
                #expect(try !outbox.place(limit: 100))
                let passed = try #require(try outbox.list(after: 0, limit: 10).last).position
                // Drawn before ann's first event, committed after it; ben's second drew its id before his first.
                try insert("cat", 1, 3)
                try insert("ben", 1, 8)
                try insert("ben", 2, 5)
                #expect(try !outbox.place(limit: 100))
                let late = try outbox.list(after: passed, limit: 10)
                #expect(late.map { "\($0.user?.text ?? "") \($0.userSequence ?? 0)" } == ["cat 1", "ben 1", "ben 2"])
                #expect(late.map(\.position) == [2, 3, 4])
                #expect(try !outbox.hasUnplaced())
                // In parts, too, a user's events keep their order.
                try insert("dan", 1, 30)
                try insert("dan", 2, 20)
                try insert("eve", 1, 25)
                while try outbox.place(limit: 1) {}
                let parts = try outbox.list(after: 4, limit: 10)
                #expect(parts.map { "\($0.user?.text ?? "") \($0.userSequence ?? 0)" } == ["eve 1", "dan 1", "dan 2"])
            }
        }
    }

    @Test(
        "With one writer at a time an event has its position in the commit that writes it, and a rolled-back one none")
    func positions() async throws {
        try await withLedger(on: .sqlite) { ledger in
            func record(_ users: [String]) async throws -> [Int64] {
                try await ledger.write { connection in
                    for user in users {
                        try EventRecorder(connection).record(type: "a.b", user: UserID(user), at: Self.now)
                    }
                    if users.contains("undone") { throw DatabaseError(.other, "rolled back") }
                }
                return try await ledger.read { connection in
                    let waits = try OutboxTable(connection).hasUnplaced()
                    #expect(!waits)
                    return try OutboxTable(connection).list(after: 0, limit: 100).map(\.position)
                }
            }
            let first = try await record(["u1", "u2"])
            #expect(first == [1, 2])
            await #expect(throws: DatabaseError.self) { _ = try await record(["u1", "undone"]) }
            let second = try await record(["u1"])
            #expect(second == [1, 2, 3])
        }
    }

    @Test("An event waits behind earlier ones that have no position, as a copy from a shared database may have them")
    func leftOver() async throws {
        try await withLedger(on: .sqlite) { ledger in
            try await ledger.write { connection in
                let recorder = EventRecorder(connection)
                for user in ["u1", "u2"] { try recorder.record(type: "a.b", user: UserID(user), at: Self.now) }
                try Self.takeBack(2, connection)
                for user in ["u2", "u1"] { try recorder.record(type: "a.b", user: UserID(user), at: Self.now) }
                let outbox = OutboxTable(connection)
                let before = try outbox.list(after: 0, limit: 10)
                #expect(before.map(\.user?.text) == ["u1"])
                while try outbox.place(limit: 10) {}
                try recorder.record(type: "a.b", user: UserID("u2"), at: Self.now)
                let events = try outbox.list(after: 0, limit: 10)
                #expect(events.map(\.position) == [1, 2, 3, 4, 5])
                #expect(events.map(\.userSequence) == [1, 1, 2, 2, 3])
            }
        }
    }

    /// Makes an event one that a server on a shared database has not given its position.
    static func takeBack(_ rowID: Int64, _ connection: any Connection) throws {
        try connection.execute("DELETE FROM event_positions WHERE event_row_id = ?1", [.integer(rowID)])
        try connection.execute(
            "INSERT INTO unplaced_events (event_row_id) VALUES (?1) ON CONFLICT DO NOTHING", [.integer(rowID)])
    }

    @Test(
        "A commit gives positions to so many events as it is told, however many wait", arguments: LedgerDatabase.each)
    func parts(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                try EventRecorder(connection).record(type: "a.b", user: UserID("u0"), at: Self.now)
                try Self.takeBack(1, connection)
                for number in 1..<25 {
                    try EventRecorder(connection).record(type: "a.b", user: UserID("u\(number % 3)"), at: Self.now)
                }
            }
            var counts: [Int] = []
            while try await ledger.write({ try OutboxTable($0).place(limit: 10) }) {
                counts.append(try await ledger.read { try OutboxTable($0).list(after: 0, limit: 100).count })
            }
            #expect(counts == [10, 20])
            let events = try await ledger.read { try OutboxTable($0).list(after: 0, limit: 100) }
            #expect(events.map(\.position) == Array(1...25) as [Int64])
            let sequences: [Int64?] = (0..<25).map { Int64($0 / 3 + 1) }
            #expect(events.map(\.userSequence) == sequences)
        }
    }

    @Test("However many events have no user, half of the places go to events of users", arguments: LedgerDatabase.each)
    func fairness(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let due = try await ledger.write { connection -> [[Int64]] in
                try happen(Array(repeating: nil, count: 30) + ["u1", "u2", "u3"], connection)
                let endpoint = try WebhookEndpointTable(connection).insert(
                    "a", url: "https://a", position: 0, at: Self.now)
                let table = WebhookDeliveryTable(connection)
                for event in try OutboxTable(connection).list(after: 0, limit: 100) {
                    try table.insert(event, for: endpoint, queue: .live, at: Self.now)
                }
                return try [4, 8, 1].map { try table.due(endpoint, at: Self.now, limit: $0).map(\.event) }
            }
            #expect(due == [[1, 2, 31, 32], [1, 2, 3, 4, 5, 31, 32, 33], [31]])
        }
    }

    @Test(
        "Only the first event of a queue is due; when it ends the next is, in live and replay queues separately",
        arguments: LedgerDatabase.each)
    func lines(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let due = try await ledger.write { connection -> [[Int64]] in
                try happen(["u1", "u1", "u2", nil, nil, "u1"], connection)
                let endpoint = try WebhookEndpointTable(connection).insert(
                    "a", url: "https://a", position: 0, at: Self.now)
                let (table, events) = (
                    WebhookDeliveryTable(connection), try OutboxTable(connection).list(after: 0, limit: 10)
                )
                for event in events { try table.insert(event, for: endpoint, queue: .live, at: Self.now) }
                #expect(try !table.insert(events[0], for: endpoint, queue: .replay, at: Self.now))
                var seen: [[Int64]] = []
                func look(_ seconds: Int64 = 0) throws -> [WebhookDeliveryTable.Stored] {
                    let due = try table.due(endpoint, at: Self.now.adding(seconds: seconds), limit: 10)
                    seen.append(due.map(\.event))
                    return due
                }
                let first = try look()
                try table.postpone(
                    first[0], until: Self.now.adding(seconds: 5), status: 500, error: "no", at: Self.now)
                _ = try look()
                _ = try look(5)
                try table.end(first[0], .dead, status: 500, error: "no", at: Self.now)
                _ = try look()
                try table.replay(events[0], to: endpoint, at: Self.now)
                let both = try look()
                #expect(both.first?.queue == .replay && both.first?.attempts == 0)
                try table.end(both[1], .delivered, status: 200, error: nil, at: Self.now)
                _ = try look()
                #expect(try table.counts(endpoint) == WebhookDeliveryTable.Counts(waiting: 5, dead: 0))
                #expect(try table.list(endpoint, state: .waiting, before: 9, limit: 9).map(\.event) == [6, 5, 4, 3, 1])
                #expect(try table.list(endpoint, state: .delivered, before: 9, limit: 9).map(\.event) == [2])
                return seen
            }
            #expect(
                due == [[1, 3, 4, 5], [3, 4, 5], [3, 4, 5, 1], [2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 3, 4, 5, 6]])
        }
    }
}
