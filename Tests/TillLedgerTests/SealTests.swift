import Testing
import TillAppStore
import TillBilling
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

@Suite("Seals of a ledger (V8)") struct SealTests {
    static let key = SealKey("a key of seals, at least thirty-two bytes")!
    static let start = Instant(seconds: 1_790_000_000)

    static func ledger(_ database: any Database, minutes: Int64 = 0, key: SealKey? = key) throws -> Ledger {
        let apple = AppleTrust(bundleID: "com.example.learn", appAppleID: nil, environments: [.sandbox])
        var settings = LedgerSettings(catalog: Catalog(products: []), apple: apple)
        settings.sealKey = key
        return try Ledger(
            settings: settings, database: database, clock: { start.adding(seconds: 60 * minutes) },
            entropy: { [UInt8](repeating: 7, count: $0) })
    }

    static func audit(
        _ database: any Database, key: SealKey = key, against checkpoint: Checkpoint? = nil
    ) async throws -> SealAudit.Report {
        let identity = try await ledger(database).identity()
        return try await SealAudit(database, key: key, ledger: identity.id).run(against: checkpoint)
    }

    private static let posting: SQL = """
        INSERT INTO postings (row_id, environment, customer_id, contra, currency, amount, kind, reference, at) \
        VALUES (?1, 2, 1, 'shop', 'points', 5, 'bonus', ?2, 0)
        """

    static func insertPosting(_ row: Int64, _ connection: any Connection) throws {
        try connection.execute(posting, [.integer(row), .text("gift \(row)")])
    }

    static func post(_ rows: [Int64], in database: any Database) async throws {
        try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO customers (customer_id, user_id, first_seen) VALUES (1, 'ann', 0) \
                ON CONFLICT (customer_id) DO NOTHING
                """, [])
            for row in rows { try insertPosting(row, connection) }
        }
    }

    /// Customers of their own.
    static func enter(_ numbers: [Int64], in database: any Database) async throws {
        try await database.write { connection in
            for number in numbers {
                try connection.execute(
                    """
                    INSERT INTO customers (customer_id, user_id, first_seen) VALUES (?1, ?2, 0) \
                    ON CONFLICT (customer_id) DO NOTHING
                    """, [.integer(number), .text("user \(number)")])
            }
        }
    }

    @Test("Rows join the newest seal until it is full, and each pass seals what is new", arguments: LedgerDatabase.each)
    func growing(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { database in
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            for row in 1...300 { try await Self.post([Int64(row)], in: database) }
            #expect(try await sealer.seal(ledger).rows == 301)
            try await Self.post([301, 302], in: database)
            #expect(try await Self.audit(database).violations.map(\.about) == ["postings 301–302"])
            #expect(try await sealer.seal(ledger).rows == 2)
            #expect(try await sealer.seal(ledger).rows == 0)
            let report = try await Self.audit(database)
            #expect(report.violations.isEmpty && report.rows == 303)
            // 302 postings under three seals; on a file the first 300 were there before the sealer.
            #expect(report.seals == 4 && report.sealedAt == Self.start)
            let other = try await Self.audit(database, key: SealKey("another key of at least thirty-two bytes")!)
            #expect(other.violations.count > 4, "every seal and the summary: \(other.violations.map(\.text.en))")
        }
    }

    @Test(
        "A row that appears after its neighbours were sealed gets a seal of its own; a rolled-back id is a gap",
        arguments: LedgerDatabase.each)
    func late(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { inner in
            let database = SharedLedger(inner)
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            try await Self.post([1, 2, 5], in: database)
            // Rows 3 and 4 may be on their way.
            #expect(try await sealer.seal(ledger).rows == 3)
            #expect(try await sealer.seal(ledger).rows == 1)
            #expect(try await Self.audit(database).violations.isEmpty)
            try await Self.post([4, 6], in: database)
            #expect(try await Self.audit(database).violations.map(\.about) == ["seal 2", "postings 6–6"])
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 1, lateRows: 1))
            let whole = try await Self.audit(database)
            #expect(whole.violations.isEmpty && whole.rows == 6, "\(whole.violations.map(\.text.en))")
            // After an hour, as the clock and a few passes say, no transaction can bring the row.
            let later = try Self.ledger(database, minutes: 61)
            for _ in 0..<8 { _ = try await sealer.seal(later) }
            try await Self.post([3], in: database)
            #expect(try await sealer.seal(later).lateRows == 0)
            let found = try await Self.audit(database).violations
            #expect(found.count == 1 && found[0].text.en.contains("added: 3"), "\(found.map(\.text.en))")
        }
    }

    @Test("A row may come late while the clock is set forward by hours", arguments: LedgerDatabase.each)
    func clockForward(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { inner in
            let database = SharedLedger(inner)
            let sealer = Sealer()
            try await Self.post([1, 3], in: database)
            for _ in 0..<2 { _ = try await sealer.seal(try Self.ledger(database)) }
            try await Self.post([2], in: database)
            #expect(try await sealer.seal(try Self.ledger(database, minutes: 240)).lateRows == 1)
            #expect(try await Self.audit(database).violations.isEmpty)
        }
    }

    @Test("A row that another program adds to the file is not sealed, and every audit names it")
    func foreign() async throws {
        try await withLedgerPlace(on: .sqlite) { place in
            try await place.opened { database in
                let (ledger, sealer) = (try Self.ledger(database), Sealer())
                try await Self.post([1, 2], in: database)
                #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 3))
                var options = SQLiteDatabase.Options(.ledger)
                // On a named VFS there is no lock of the server's.
                options.vfs = "unix"
                let path = String(place.address.dropFirst("sqlite:".count))
                let other = try SQLiteDatabase.open(path: path, role: .server, options: options)
                try await Self.post([3], in: other)
                await other.close()
                try await Self.post([4], in: database)
                #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 1, foreignRows: ["postings 3"]))
                #expect(try await sealer.seal(ledger).lateRows == 0)
                let found = try await Self.audit(database).violations
                #expect(found.count == 1 && found[0].text.en.contains("added: 3"), "\(found.map(\.text.en))")
            }
            // Also after a restart.
            try await place.opened { database in
                let ledger = try Self.ledger(database)
                #expect(try await Sealer().seal(ledger) == Sealer.Pass())
                #expect(try await Self.audit(database).violations.count == 1)
            }
        }
    }

    @Test("Rows that a server finds without a seal when it starts are sealed apart, and the audit lists them")
    func found() async throws {
        try await withLedgerPlace(on: .sqlite) { place in
            try await place.opened { database in
                try await Self.post([1], in: database)
                let ledger = try Self.ledger(database)
                #expect(try await Sealer().seal(ledger).foundRows == 0)
                // The server stops at once.
                try await Self.post([2, 3], in: database)
            }
            try await place.opened { database in
                let ledger = try Self.ledger(database)
                try await Self.post([4], in: database)
                #expect(try await Sealer().seal(ledger) == Sealer.Pass(rows: 3, foundRows: 2))
                let report = try await Self.audit(database)
                #expect(report.violations.isEmpty && report.found.map(\.rows) == ["postings 2–3"])
            }
        }
    }

    @Test("Ids that no row uses do not make the rows behind them foreign, if a server finds them when it starts")
    func foundBehindGaps() async throws {
        try await withLedgerPlace(on: .sqlite) { place in
            try await place.opened { database in try await Self.post([1, 3, 6], in: database) }
            try await place.opened { database in
                let (ledger, sealer) = (try Self.ledger(database), Sealer())
                // A pass stops before an id without a row, once.
                #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 2, foundRows: 2))
                #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 2, foundRows: 2))
                #expect(try await sealer.seal(ledger) == Sealer.Pass())
                #expect(try await Self.audit(database).violations.isEmpty)
            }
        }
    }

    @Test(
        "An older copy of the ledger lacks the last checkpoint; a newer ledger has it", arguments: LedgerDatabase.each)
    func checkpoint(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { database in
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            try await Self.post([1, 2], in: database)
            _ = try await sealer.seal(ledger)
            let first = try await ledger.checkpoint()
            try await withLedger(on: .sqlite) { copy in
                _ = try await LedgerCopy(
                    from: database, to: copy, batch: 100, refusesNUL: false, isSourceLocked: true
                ).run { _, _ in }
                try await Self.post([3], in: database)
                _ = try await sealer.seal(ledger)
                let second = try await ledger.checkpoint()
                let read = try #require(Checkpoint(.object(second.members)))
                #expect(read == second && first != second)
                // The copy keeps its seals on another database, and they are whole.
                #expect(try await Self.audit(copy, against: first).violations.isEmpty)
                let older = try await Self.audit(copy, against: second).violations
                #expect(older.map(\.about) == ["postings"], "\(older.map(\.text.en))")
                for known in [first, second] {
                    #expect(try await Self.audit(database, against: known).violations.isEmpty)
                }
            }
            #expect(Checkpoint(["ledgerId": "x"]) == nil && Checkpoint(["data": .object(first.members)]) == first)
        }
    }

    @Test("A changed, a removed and an exchanged row are found, with their seal", arguments: LedgerDatabase.each)
    func changed(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { database in
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            try await database.write { connection in
                for (number, name) in ["ann", "ben", "cid"].enumerated() {
                    try connection.execute(
                        "INSERT INTO customers (customer_id, user_id, first_seen) VALUES (?1, ?2, 0)",
                        [.integer(Int64(number + 1)), .text(name)])
                }
            }
            _ = try await sealer.seal(ledger)
            #expect(try await Self.audit(database).violations.isEmpty)
            let changes: [(SQL, SQL)] = [
                (
                    "UPDATE customers SET user_id = 'eve' WHERE customer_id = 2",
                    "UPDATE customers SET user_id = 'ben' WHERE customer_id = 2"
                ),
                (
                    "DELETE FROM customers WHERE customer_id = 3",
                    "INSERT INTO customers (customer_id, user_id, first_seen) VALUES (3, 'cid', 0)"
                ),
                (
                    "UPDATE customers SET user_id = CASE user_id WHEN 'ann' THEN 'bob' ELSE user_id END",
                    "UPDATE customers SET user_id = CASE user_id WHEN 'bob' THEN 'ann' ELSE user_id END"
                ),
            ]
            for (change, back) in changes {
                _ = try await database.write { try $0.execute(change, []) }
                let found = try await Self.audit(database).violations
                #expect(found.map(\.about) == ["seal 1"], "\(change): \(found.map(\.text.en))")
                #expect(found.first?.text.en.contains("of customers 1–3 does not match") == true)
                _ = try await database.write { try $0.execute(back, []) }
                #expect(try await Self.audit(database).violations.isEmpty)
            }
        }
    }

    @Test(
        "A row with an id far ahead stops the seals of its own table, and of no other", arguments: LedgerDatabase.each)
    func farAhead(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { database in
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            try await Self.enter([1, 900_000], in: database)
            let first = try await sealer.seal(ledger)
            #expect(first.rows == 1 && first.stopped.isEmpty, "the ids between may be on their way: \(first)")
            for pass in 1...2 {
                try await Self.post([Int64(pass)], in: database)
                let next = try await sealer.seal(ledger)
                #expect(next.rows == 1 && next.stopped.count == 1, "\(next)")
                #expect(next.stopped.first?.hasPrefix("customers has the row 900000") == true, "\(next)")
            }
            #expect(try await Self.audit(database).violations.map(\.about) == ["customers 2–900000"])
            try await database.write { connection in
                _ = try connection.execute("DELETE FROM customers WHERE customer_id = 900000", [])
            }
            #expect(try await sealer.seal(ledger).stopped.isEmpty)
            #expect(try await Self.audit(database).violations.isEmpty)
        }
    }

    @Test("More events than one commit places are all sealed in one pass")
    func manyEvents() async throws {
        try await withLedger { database in
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            let count = Ledger.placedTogether + 500
            try await database.write { connection in
                for number in 0..<count {
                    try EventRecorder(connection).record(
                        type: EventType.ledgerCheckpoint.rawValue, user: nil, about: "\(number)", happensOnce: true,
                        at: Self.start)
                }
            }
            #expect(try await sealer.seal(ledger).rows == Int64(count))
            #expect(try await Self.audit(database).violations.isEmpty)
        }
    }

    @Test("A checkpoint becomes an event when something was sealed since the last one")
    func checkpointEvent() async throws {
        try await withLedger { database in
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            #expect(try await ledger.recordCheckpoint(unless: nil) == nil)
            try await Self.post([1], in: database)
            _ = try await sealer.seal(ledger)
            let first = try #require(try await ledger.recordCheckpoint(unless: nil))
            _ = try await sealer.seal(ledger)
            #expect(try await ledger.recordCheckpoint(unless: first) == nil, "only the event itself is new")
            let events = try await database.read { try OutboxTable($0).list(after: 0, limit: 9) }
            #expect(events.map(\.type) == ["ledger.checkpoint"])
        }
    }

    @Test("A ledger with seals is not erased from without their key", arguments: LedgerDatabase.each)
    func erasure(_ kind: LedgerDatabase) async throws {
        try await withLedger(on: kind) { database in
            let (ledger, sealer) = (try Self.ledger(database), Sealer())
            try await Self.post([1], in: database)
            _ = try await sealer.seal(ledger)
            let key = ErasureKey("an erasure key of at least thirty-two bytes")!
            let cause = Erasures.Cause(caller: "till", at: Self.start)
            await #expect(throws: RefusalError.self) {
                _ = try await Erasures(database, key: key, sealKey: nil).begin(UserID("ann"), cause) { _ in }
            }
            let done = try await Erasures(database, key: key, sealKey: Self.key).begin(UserID("ann"), cause) { _ in }
            #expect(done.count == 1)
            _ = try await sealer.seal(ledger)
            #expect(try await Self.audit(database).violations.isEmpty)
        }
    }
}

/// A database of which the driver does not know who wrote its rows.
private final class SharedLedger: Database {
    private let inner: any Database
    init(_ inner: any Database) { self.inner = inner }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value { try await inner.write(locking: keys(), body) }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await inner.read(body)
    }

    func close() async { await inner.close() }
}
