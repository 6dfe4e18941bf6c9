import Foundation
import Testing
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillPostgres

@Suite("Bodies that share a commit", .enabled(if: PostgresCluster.isInstalled, "PostgreSQL 15 is not installed"))
struct SharedCommitTests {
    @Test("Bodies without a common key share the statements of their commit, and see what they have to see")
    func sharedStatements() async throws {
        let inserts = Locked(0)
        let step: @Sendable (Int32, String) -> Void = { _, statement in
            if statement.hasPrefix("INSERT INTO counters") { inserts.withLock { $0 += 1 } }
        }
        try await Store.withOpen(connections: 1, { $0.step = step }) { database, _ in
            let waiting = WaitingBody()
            await withThrowingTaskGroup(of: Void.self) { group in
                // The first body holds the connection until the others wait for it.
                group.addTask { try await database.write(locking: [], waiting.body) }
                await waiting.begins()
                for number in 0..<48 {
                    group.addTask {
                        let name = number < 40 ? "n\(number)" : "common"
                        try await database.write(locking: [LockKey("counter", name)]) { connection in
                            try connection.add(1, to: name)
                            try connection.write(
                                """
                                INSERT INTO entries (note, number) VALUES (?1, (SELECT amount FROM counters \
                                WHERE name = ?1))
                                """,
                                [.text(name)])
                        }
                    }
                }
                while database.waitingWrites < 48 { await Task.yield() }
                waiting.end()
            }
            let rows = try await database.read { connection in
                try connection.query("SELECT note, number FROM entries ORDER BY note, number", []) {
                    "\($0.text("note")) \($0.integer("number"))"
                }
            }
            let expected = (0..<40).map { "n\($0) 1" } + (1...8).map { "common \($0)" }
            #expect(rows.sorted() == expected.sorted())
            #expect(inserts.withLock { $0 } < 24)
        }
    }

    @Test("The rows that a body writes into one table one after the other share statements, and keep their order")
    func rowsOfOneBody() async throws {
        let inserts = Locked<[String]>([])
        let step: @Sendable (Int32, String) -> Void = { _, statement in
            if statement.hasPrefix("INSERT INTO entries") { inserts.withLock { $0.append(statement) } }
        }
        try await Store.withOpen(connections: 1, { $0.step = step }) { database, _ in
            try await database.write(locking: []) { connection in
                for number in 0..<39 {
                    try connection.write(
                        "INSERT INTO entries (number, note) VALUES (?1, ?2)",
                        [.integer(Int64(number)), number == 20 ? .null : .text("n")])
                }
                // Each of these counts the rows before it.
                for _ in 0..<5 {
                    try connection.write(
                        "INSERT INTO entries (number) VALUES ((SELECT count(*) FROM entries WHERE number >= ?1))",
                        [.integer(0)])
                }
            }
            let numbers = try await database.read { connection in
                try connection.query("SELECT number FROM entries ORDER BY row_id", []) { $0.integer("number") }
            }
            #expect(numbers == (0..<44).map { Int64($0) })
            // 16, 16, 4, 2 and 1 rows; then 5 statements.
            #expect(inserts.withLock { $0.count } == 10)
        }
    }

    @Test(
        "The queries with which bodies begin are made in one exchange, and a body sees the rows of those it waits for")
    func readingAhead() async throws {
        try await Store.withOpen(connections: 1) { database, _ in
            let waiting = WaitingBody()
            let before = database.figures.exchanges
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await database.write(locking: [], waiting.body) }
                await waiting.begins()
                for number in 0..<16 {
                    group.addTask {
                        let name = number < 14 ? "n\(number)" : "common"
                        let reading = Statement("SELECT amount FROM counters WHERE name = ?1", [.text(name)])
                        try await database.write(locking: [LockKey("counter", name)], reading: { [reading] }) {
                            let now = try $0.first(reading) { $0.integer("amount") } ?? 0
                            try $0.add(1, to: name)
                            try $0.write(
                                "INSERT INTO entries (note, number) VALUES (?1, ?2)", [.text(name), .integer(now)])
                        }
                    }
                }
                while database.waitingWrites < 16 { await Task.yield() }
                waiting.end()
                try await group.waitForAll()
            }
            let exchanges = database.figures.exchanges - before
            let rows = try await database.read { connection in
                try connection.query("SELECT note, number FROM entries", []) {
                    "\($0.text("note")) \($0.integer("number"))"
                }
            }
            #expect(rows.sorted() == ((0..<14).map { "n\($0) 0" } + ["common 0", "common 1"]).sorted())
            // One for the body before, one for the facts, one for the body that shares a key, and one for the rows.
            #expect(exchanges <= 5, "\(exchanges)")
        }
    }

    @Test("A body that finds a key which another body of its commit declared sees that body's rows, and is seen by it")
    func foundAmongOthers() async throws {
        try await Store.withOpen(connections: 1) { database, _ in
            try await database.write { try $0.add(1, to: "common") }
            let waiting = WaitingBody()
            let (key, name) = (LockKey("counter", "common"), "common")
            let reading = Statement("SELECT amount FROM counters WHERE name = ?1", [.text(name)])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await database.write(locking: [], waiting.body) }
                await waiting.begins()
                for number in 0..<15 {
                    group.addTask {
                        let declared = number == 7 ? [key] : [LockKey("counter", "n\(number)")]
                        try await database.write(locking: declared, reading: { [reading] }) {
                            $0.lock([key])
                            try $0.add(1, to: name)
                        }
                    }
                }
                while database.waitingWrites < 15 { await Task.yield() }
                waiting.end()
                try await group.waitForAll()
            }
            #expect(try await database.read { try $0.amount(of: name) } == 16)
        }
    }
}

/// A body that holds its connection, with no other body in its commit, until it is told to end.
private final class WaitingBody: Sendable {
    private let hasBegun = Locked(false)
    private let isOpen = DispatchSemaphore(value: 0)

    var body: @Sendable (any Connection) throws -> Void {
        { [self] _ in
            hasBegun.withLock { $0 = true }
            isOpen.wait()
        }
    }

    /// Waits until the body runs. A connection that is busy may still be so with an earlier body.
    func begins() async { while !hasBegun.withLock({ $0 }) { await Task.yield() } }

    func end() { isOpen.signal() }
}
