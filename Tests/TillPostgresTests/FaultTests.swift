import Foundation
import Testing
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillPostgres

@Suite("Faults of PostgreSQL", .enabled(if: PostgresCluster.isInstalled, "PostgreSQL 15 is not installed"))
struct FaultTests {
    /// The process that serves the body's connection.
    private static func process(_ connection: any Connection) throws -> Int64 {
        try connection.first("SELECT pg_backend_pid()::bigint AS process", []) { $0.integer("process") } ?? 0
    }

    @Test("A connection that is lost before the commit is made again, and the body runs once more")
    func lostBefore() async throws {
        try await Store.withOpen(connections: 1) { database, store in
            let runs = Locked(0)
            try await database.write(locking: [LockKey("counter", "l")]) { connection in
                try connection.add(1, to: "l")
                let process = try Self.process(connection)
                let run = runs.withLock {
                    $0 += 1
                    return $0
                }
                if run == 1 { try store.session().run("SELECT pg_terminate_backend(\(process))") }
                _ = try connection.first("SELECT 1 AS one", []) { $0.integer("one") }
            }
            #expect(runs.withLock { $0 } == 2)
            #expect(try await database.read { try $0.amount(of: "l") } == 1)
        }
    }

    @Test("A connection that is lost during the commit leaves it in doubt, and a repetition finds out")
    func lostDuring() async throws {
        try await Store.withOpen(connections: 1) { database, store in
            try store.session().run(
                """
                CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_sleep(30); RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW WHEN (NEW.note = 'slow') EXECUTE FUNCTION slow();
                """)
            let killer = Task {
                let session = try store.session()
                for _ in 0..<2_000 {
                    let killed = try session.run(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE wait_event = 'PgSleep' AND datname = current_database()
                        """)
                    if !killed.isEmpty { return true }
                    try await Task.sleep(for: .milliseconds(5))
                }
                return false
            }
            let error = await #expect(throws: DatabaseError.self) {
                try await database.write { try $0.write("INSERT INTO entries (note) VALUES (?1)", [.text("slow")]) }
            }
            #expect(try await killer.value)
            #expect(error?.mayHaveCommitted == true && error?.isRetryable == true)
            #expect(database.figures.inDoubt == 1)
            let count = try await database.read {
                try $0.first("SELECT count(*) AS n FROM entries", []) { $0.integer("n") }
            }
            #expect(count == 0)
        }
    }

    @Test("A warning during the commit leaves it in doubt although it was answered")
    func warning() async throws {
        try await Store.withOpen(connections: 1) { database, store in
            try store.session().run(
                """
                CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW WHEN (NEW.note = 'warn') EXECUTE FUNCTION warn();
                """)
            let error = await #expect(throws: DatabaseError.self) {
                try await database.write { try $0.write("INSERT INTO entries (note) VALUES (?1)", [.text("warn")]) }
            }
            #expect(error?.mayHaveCommitted == true && error?.detail.contains("synchronous") == true)
            try await database.write { try $0.write("INSERT INTO entries (note) VALUES (?1)", [.text("fine")]) }
        }
    }

    @Test("A body that wrote nothing writes to PostgreSQL's log; one that wrote needs no such message")
    func message() async throws {
        let sent = Locked<[String]>([])
        try await Store.withOpen(connections: 1, { $0.step = { _, text in sent.withLock { $0.append(text) } } }) {
            database, _ in
            func statements(_ body: @escaping @Sendable (any Connection) throws -> Void) async throws -> [String] {
                sent.withLock { $0 = [] }
                try await database.write(body)
                return sent.withLock { $0 }
            }
            let message = "SELECT pg_logical_emit_message(true, 'till', '')"
            #expect(try await statements { _ = try $0.amount(of: "none") }.contains(message))
            let unchanged = try await statements { connection in
                try connection.write("UPDATE counters SET amount = 1 WHERE name = 'none'", [])
            }
            #expect(unchanged.contains(message))
            #expect(try await !statements { try $0.add(1, to: "some") }.contains(message))
            #expect(try await statements { _ in }.isEmpty)
        }
    }

    @Test("A lock that others hold for too long is busy, and nothing is lost")
    func lockTimeout() async throws {
        try await Store.withOpen(connections: 1, { $0.lockMilliseconds = 50 }) { database, store in
            try await database.write { try $0.add(1, to: "held") }
            let other = try store.session()
            try other.run("BEGIN; UPDATE counters SET amount = 5 WHERE name = 'held'")
            let error = await #expect(throws: DatabaseError.self) {
                try await database.write { try $0.add(1, to: "held") }
            }
            #expect(error?.kind == .busy && error?.isRetryable == true && error?.mayHaveCommitted == false)
            try other.run("ROLLBACK")
            try await database.write { try $0.add(1, to: "held") }
            #expect(try await database.read { try $0.amount(of: "held") } == 2)
        }
    }

    @Test("A table that a migration changed under prepared statements is read again")
    func stalePlans() async throws {
        try await Store.withOpen(connections: 1) { database, store in
            try await database.write { try $0.add(1, to: "p") }
            let read: @Sendable (any Connection) throws -> Int64? = { connection in
                try connection.first("SELECT * FROM counters WHERE name = ?1", [.text("p")]) { $0.integer("amount") }
            }
            for column in ["one", "two"] {
                #expect(try await database.write(read) == 1)
                #expect(try await database.read(read) == 1)
                try store.session().run("ALTER TABLE counters ADD COLUMN \(column) BIGINT")
                #expect(try await database.write(read) == 1)
                #expect(try await database.read(read) == 1)
            }
        }
    }

    @Test("While no server can be reached, calls fail at once, without the password, and may be repeated")
    func unreachable() async throws {
        let address = "postgres://till:s3cret@127.0.0.1:1/till"
        let error = #expect(throws: DatabaseError.self) {
            try PostgresDatabase.open(address: address, role: .server, options: .init(Store.schema))
        }
        #expect(error?.kind == .unreachable && error?.isRetryable == true)
        #expect(error?.detail.contains("s3cret") == false && error?.detail.contains("127.0.0.1") == true)
    }

    @Test("Calls after close fail, and waiting ones are answered")
    func close() async throws {
        try await Store.withOpen { database, _ in
            async let waiting: Void = withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 { group.addTask { try await database.write { try $0.add(1, to: "c\(number)") } } }
                try await group.waitForAll()
            }
            try await waiting
            await database.close()
            await database.close()
            let error = await #expect(throws: DatabaseError.self) {
                try await database.write { try $0.add(1, to: "x") }
            }
            #expect(error?.kind == .closed)
        }
    }
}
