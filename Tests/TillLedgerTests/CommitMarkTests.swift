import Testing
import TillBilling
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillLedger

/// Rows of other programs on a database that servers share (docs/decisions/0082).
@Suite(
    "Marks of commits on PostgreSQL (V8)",
    .enabled(if: PostgresCluster.isInstalled, "PostgreSQL's server programs are not installed"))
struct CommitMarkTests {
    private static let key = SealTests.key

    private func withShared(
        _ body: (any Database, Ledger, PostgresSession) async throws -> Void
    ) async throws {
        try await withLedgerPlace(on: .postgres) { place in
            try await place.opened { database in
                try await body(database, try SealTests.ledger(database), try #require(try place.session()))
            }
        }
    }

    private func marks(_ database: any Database) async throws -> [Int64] {
        try await database.read { try CommitMarkTable($0).numbers() }
    }

    private static func gift(_ row: Int64) -> String {
        """
        INSERT INTO postings (row_id, environment, customer_id, contra, currency, amount, kind, reference, at)
        VALUES (\(row), 2, 1, 'shop', 'points', 999940, 'bonus', 'gift \(row)', 0);
        """
    }

    @Test("A row that another client adds is not sealed, and every audit names it, also after a restart")
    func foreign() async throws {
        try await withShared { database, ledger, session in
            let sealer = Sealer()
            try await SealTests.post([1, 2], in: database)
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 3))
            try session.run(Self.gift(3))
            try await SealTests.post([4], in: database)
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 1, foreignRows: ["postings 3"]))
            for sealer in [sealer, Sealer()] {
                #expect(try await sealer.seal(ledger) == Sealer.Pass())
                let found = try await SealTests.audit(database).violations
                #expect(found.count == 1 && found[0].text.en.contains("added: 3"), "\(found.map(\.text.en))")
            }
        }
    }

    @Test("A pass beside another one removes no mark that a later row still needs")
    func besideEachOther() async throws {
        try await withShared { database, ledger, _ in
            let sealer = Sealer()
            try await SealTests.post([1], in: database)
            let hasWritten = Locked(false)
            let held = HookedDatabase(base: database) { keys in
                // After what the pass has read, and before it writes: an event, and a pass that ends after its look.
                guard keys == [.ledger("seals")],
                    !hasWritten.withLock({ was in
                        defer { was = true }
                        return was
                    })
                else { return }
                try await database.write(locking: [.customer(UserID("ann"))]) { connection in
                    try EventRecorder(connection).record(
                        type: "a.b", user: UserID("ann"), at: Instant(milliseconds: 0))
                }
                let places = Locked((writes: 0, reads: 0))
                let broken = HookedDatabase(base: database) { keys in
                    let reads = places.withLock { count -> Int in
                        if keys != nil { count.writes += 1 } else if count.writes > 0 { count.reads += 1 }
                        return count.reads
                    }
                    if reads == 2 { throw DatabaseError(.closed, "held") }
                }
                await #expect(throws: DatabaseError.self) { try await sealer.seal(SealTests.ledger(broken)) }
            }
            #expect(try await sealer.seal(SealTests.ledger(held)).rows > 0)
            #expect(hasWritten.withLock { $0 })
            for _ in 0..<2 { #expect(try await sealer.seal(ledger).foreignRows == []) }
            let found = try await SealTests.audit(database).violations
            #expect(found.isEmpty, "\(found.map(\.text.en))")
        }
    }

    @Test("A row that another client changes before it is sealed is not sealed either")
    func changed() async throws {
        try await withShared { database, ledger, session in
            let sealer = Sealer()
            try await SealTests.post([1], in: database)
            _ = try await sealer.seal(ledger)
            try await SealTests.post([2], in: database)
            try session.run(
                "DROP TRIGGER postings_are_never_edited ON postings; UPDATE postings SET amount = 9 WHERE row_id = 2")
            #expect(try await sealer.seal(ledger).foreignRows == ["postings 2"])
        }
    }

    @Test("A mark that another client copies, makes up or writes in advance does not help it")
    func forged() async throws {
        try await withShared { database, ledger, session in
            let sealer = Sealer()
            try await SealTests.post([1], in: database)
            let copied = "(SELECT code FROM commit_marks LIMIT 1)"
            try session.run(
                """
                BEGIN; \(Self.gift(2)) INSERT INTO commit_marks (number, code)
                SELECT pg_current_xact_id()::text::bigint, \(copied); COMMIT;
                """)
            _ = try await sealer.seal(ledger)
            for code in [copied, "'\\x\(String(repeating: "00", count: 32))'"] {
                let row = code == copied ? 3 : 4
                try await SealTests.post([Int64(row + 10)], in: database)
                try session.run(
                    """
                    BEGIN; \(Self.gift(Int64(row))) INSERT INTO commit_marks (number, code)
                    SELECT pg_current_xact_id()::text::bigint, \(code); COMMIT;
                    """)
                #expect(try await sealer.seal(ledger).foreignRows.contains("postings \(row)"))
            }
            // What was there when the sealer began is listed instead.
            #expect(try await SealTests.audit(database).found.contains { $0.rows.hasPrefix("postings 2") })
        }
    }

    @Test("The mark of another ledger, of another epoch and of another number is not this one's")
    func boundToItsLedger() async throws {
        let ids = [UInt8(1), 2].map { UniqueID(random: [UInt8](repeating: $0, count: 16)) }
        let (id, other) = (ids[0], ids[1])
        let code = Self.key.code(ofCommit: 700, ledger: id, epoch: 1)
        let others = [
            Self.key.code(ofCommit: 700, ledger: other, epoch: 1), Self.key.code(ofCommit: 700, ledger: id, epoch: 2),
            Self.key.code(ofCommit: 701, ledger: id, epoch: 1), Self.key.code(ofCommit: 700, ledger: nil, epoch: nil),
        ]
        #expect(!others.contains(code) && Set(others).count == 4)
    }

    @Test("Rows of a server that was killed are its own: the next one seals them like its own, and removes the marks")
    func killed() async throws {
        try await withLedgerPlace(on: .postgres) { place in
            try await place.opened { database in
                _ = try SealTests.ledger(database)
                try await SealTests.post([1, 2, 3], in: database)
            }
            try await place.opened { database in
                let (ledger, sealer) = (try SealTests.ledger(database), Sealer())
                #expect(try await marks(database).count == 1)
                #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 4))
                #expect(try await marks(database).isEmpty)
                #expect(try await SealTests.audit(database).found.isEmpty)
                // A commit that changes no sealed table leaves none.
                try await database.write { try $0.execute("UPDATE heartbeat SET at = 5", []) }
                #expect(try await marks(database).isEmpty)
            }
        }
    }

    @Test("Marks stay while rows of their commits wait for an id before them")
    func waiting() async throws {
        try await withShared { database, ledger, _ in
            let sealer = Sealer()
            try await SealTests.post([1, 3], in: database)
            // The id 2 may be on its way.
            #expect(try await sealer.seal(ledger).rows == 2)
            #expect(try await marks(database).count == 1)
            try await SealTests.post([5], in: database)
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 1))
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 1))
            #expect(try await marks(database).isEmpty)
            try await SealTests.post([2], in: database)
            #expect(try await sealer.seal(ledger).lateRows == 1)
            #expect(try await SealTests.audit(database).violations.isEmpty)
        }
    }

    @Test("A late row of another client is never sealed")
    func lateAndForeign() async throws {
        try await withShared { database, ledger, session in
            let sealer = Sealer()
            try await SealTests.post([1, 3], in: database)
            for _ in 0..<2 { _ = try await sealer.seal(ledger) }
            try session.run(Self.gift(2))
            #expect(try await sealer.seal(ledger).lateRows == 0)
            let found = try await SealTests.audit(database).violations
            #expect(found.count == 1 && found[0].text.en.contains("added: 2"), "\(found.map(\.text.en))")
        }
    }

    @Test("The commit that begins an epoch leaves a mark of that epoch")
    func restore() async throws {
        try await withShared { database, ledger, _ in
            let sealer = Sealer()
            try await SealTests.post([1], in: database)
            _ = try await sealer.seal(ledger)
            #expect(try await ledger.beginEpoch().epoch == 2)
            try await SealTests.post([2], in: database)
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 2))
            #expect(try await SealTests.audit(database).violations.isEmpty)
        }
    }

    @Test("While a server of an older release is connected, rows without a mark are sealed apart, and listed")
    func olderServers() async throws {
        try await withShared { database, ledger, session in
            let sealer = Sealer()
            try await SealTests.post([1], in: database)
            _ = try await sealer.seal(ledger)
            try session.run("SET application_name = 'till'")
            try session.run(Self.gift(2))
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 1, foundRows: 1))
            // It has gone, and its last commit is younger than a minute.
            try session.run("SET application_name = 'psql'")
            try session.run(Self.gift(3))
            #expect(try await sealer.seal(ledger) == Sealer.Pass(rows: 1, foundRows: 1))
            let later = try SealTests.ledger(database, minutes: 2)
            try session.run(Self.gift(4))
            #expect(try await sealer.seal(later).foreignRows == ["postings 4"])
            let report = try await SealTests.audit(database)
            #expect(report.found.map(\.rows) == ["postings 2–2", "postings 3–3"] && report.violations.count == 1)
        }
    }

    @Test("A body that fails after its rows were sent takes no mark from the bodies beside it")
    func failedBeside() async throws {
        struct Refused: Error {}
        try await withShared { database, ledger, _ in
            let sealer = Sealer()
            try await SealTests.post([1], in: database)
            _ = try await sealer.seal(ledger)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for row in Int64(2)...60 {
                    group.addTask {
                        try? await database.write(locking: [LockKey("order", "\(row)")]) { connection in
                            try SealTests.insertPosting(row, connection)
                            _ = try connection.first("SELECT 1 AS one", []) { $0.integer("one") }
                            if row % 5 == 0 { throw Refused() }
                        }
                    }
                }
                try await group.waitForAll()
            }
            var pass = Sealer.Pass()
            for _ in 0..<3 {
                let next = try await sealer.seal(ledger)
                pass.rows += next.rows
                pass.foreignRows += next.foreignRows
            }
            #expect(pass == Sealer.Pass(rows: 47), "\(pass)")
            #expect(try await SealTests.audit(database).violations.isEmpty)
        }
    }
}

/// A database that asks before each read and write.
private struct HookedDatabase: Database {
    let base: any Database
    /// Gets the keys of a write, and nil for a read.
    let before: @Sendable ([LockKey]?) async throws -> Void

    var isShared: Bool { base.isShared }
    var marksCommits: Bool { base.marksCommits }

    func markCommits(_ mark: CommitMark) { base.markCommits(mark) }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let keys = keys()
        try await before(keys)
        return try await base.write(locking: keys, body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await before(nil)
        return try await base.read(body)
    }

    func close() async { await base.close() }
}
