import Foundation
import Testing
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillPostgres

private struct Refused: Error, Equatable {}

@Suite("Transactions on PostgreSQL", .enabled(if: PostgresCluster.isInstalled, "PostgreSQL 15 is not installed"))
struct TransactionTests {
    private static let samples: [SQLValue] = [
        .integer(0), .integer(-1), .integer(.max), .integer(.min), .text(""), .text("a"), .text("订单 ☕️"),
        .text(String(repeating: "long ", count: 100_000)), .blob([]), .blob([0, 1, 255]),
        .blob([UInt8](repeating: 7, count: 3_000_000)), .null,
    ]

    @Test("Every value is read back unchanged, after a null in its place too")
    func values() async throws {
        try await Store.withOpen { database, _ in
            for sample in Self.samples + Self.samples.reversed() {
                let read = try await database.write { connection in
                    var values: [SQLValue] = [.null, .null, .null]
                    switch sample {
                    case .text: values[0] = sample
                    case .blob: values[1] = sample
                    default: values[2] = sample
                    }
                    let row = try connection.insert(
                        "INSERT INTO entries (note, body, number) VALUES (?1, ?2, ?3)", values)
                    return try connection.run([
                        Statement("SELECT note, body, number FROM entries WHERE row_id = ?1", [.integer(row)])
                    ])[0].first { row in
                        row.isNull("note")
                            ? row.isNull("body")
                                ? row.isNull("number") ? SQLValue.null : .integer(row.integer("number"))
                                : .blob(row.blob("body")) : .text(row.text("note"))
                    }
                }
                #expect(read == sample)
            }
        }
    }

    @Test("PostgreSQL ends a write whose server is silent for ten seconds, before others wait for its locks for long")
    func silentServer() async throws {
        try await Store.withOpen { database, _ in
            let read: @Sendable (any Connection) throws -> String? = { connection in
                try connection.first("SELECT current_setting('idle_in_transaction_session_timeout') AS setting", []) {
                    $0.text("setting")
                }
            }
            let (writing, reading) = (try await database.write(read), try await database.read(read))
            #expect(writing == "10s" && reading == "1min")
        }
    }

    @Test("A body that throws is undone alone, and the bodies of its commit stand")
    func refusal() async throws {
        try await Store.withOpen(connections: 1) { database, _ in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        do {
                            try await database.write(locking: [LockKey("counter", "c\(number)")]) { connection in
                                try connection.add(1, to: "c\(number)")
                                _ = try connection.amount(of: "c\(number)")
                                if number.isMultiple(of: 3) { throw Refused() }
                            }
                            #expect(!number.isMultiple(of: 3))
                        } catch { #expect(error as? Refused == Refused() && number.isMultiple(of: 3)) }
                    }
                }
            }
            let names = try await database.read { connection in
                try connection.query("SELECT name FROM counters ORDER BY row_id", []) { $0.text("name") }
            }
            #expect(Set(names) == Set((0..<40).filter { !$0.isMultiple(of: 3) }.map { "c\($0)" }))
        }
    }

    @Test("A violated rule is the error of one body, also when its statement travels with the commit")
    func violation() async throws {
        try await Store.withOpen(connections: 1) { database, _ in
            let results = await withTaskGroup(of: (Int, DatabaseError?).self) { group in
                for number in 0..<20 {
                    group.addTask {
                        do {
                            try await database.write(locking: [LockKey("counter", "v\(number)")]) { connection in
                                try connection.add(number == 7 ? -1 : 1, to: "v\(number)")
                            }
                            return (number, nil)
                        } catch { return (number, error as? DatabaseError) }
                    }
                }
                return await group.reduce(into: [Int: DatabaseError]()) { $0[$1.0] = $1.1 }
            }
            #expect(results.keys.sorted() == [7] && results[7]?.kind == .constraint)
            #expect(results[7]?.mayHaveCommitted == false)
            let count = try await database.read {
                try $0.first("SELECT count(*) AS n FROM counters", []) { $0.integer("n") }
            }
            #expect(count == 19)
        }
    }

    @Test("Bodies with a key in common run one after the other, on two servers")
    func keys() async throws {
        try await Store.withOpen { first, store in
            let second = try store.open()
            await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let server = number.isMultiple(of: 2) ? first : second
                        try await server.write(locking: [LockKey("counter", "sum")]) { try $0.add(1, to: "sum") }
                    }
                }
            }
            #expect(try await second.read { try $0.amount(of: "sum") } == 200)
            await second.close()
        }
    }

    @Test("A body that finds a key while it runs is undone and runs again with it")
    func foundKeys() async throws {
        try await Store.withOpen { first, store in
            let second = try store.open()
            let runs = Locked(0)
            await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let server = number.isMultiple(of: 2) ? first : second
                        try await server.write(locking: []) { connection in
                            runs.withLock { $0 += 1 }
                            connection.lock([LockKey("counter", "found")])
                            try connection.add(1, to: "found")
                        }
                    }
                }
            }
            #expect(try await second.read { try $0.amount(of: "found") } == 60)
            #expect(runs.withLock { $0 } >= 120)
            await second.close()
        }
    }

    @Test("Two bodies that insert the same row both succeed: the second runs again and finds it")
    func uniqueness() async throws {
        try await Store.withOpen(connections: 4) { database, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 { group.addTask { try await database.write { try $0.add(1, to: "same") } } }
                try await group.waitForAll()
            }
            #expect(try await database.read { try $0.amount(of: "same") } != nil)
        }
    }

    @Test("A deadlock runs the bodies again, and both commit")
    func deadlock() async throws {
        try await Store.withOpen(connections: 2, { $0.batchLimit = 1 }) { database, _ in
            try await database.write { connection in
                try connection.add(1, to: "a")
                try connection.add(1, to: "b")
            }
            let meeting = Meeting(of: 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in [["a", "b"], ["b", "a"]] {
                    group.addTask {
                        try await database.write { connection in
                            for (index, name) in order.enumerated() {
                                // Not declared, so that the rows' own locks meet.
                                let sql: SQL = "UPDATE counters SET amount = amount + 1 WHERE name = ?1"
                                try connection.execute(sql, [.text(name)])
                                if index == 0 { meeting.arrive() }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let amounts = try await database.read { [try $0.amount(of: "a"), try $0.amount(of: "b")] }
            #expect(amounts == [3, 3] && database.figures.reruns >= 1)
        }
    }

    @Test("A statement whose result is not needed travels with the next one; a repeated query is not sent again")
    func exchanges() async throws {
        try await Store.withOpen(connections: 1) { database, _ in
            for _ in 0..<2 {
                let start = database.figures.exchanges
                try await database.write(locking: [LockKey("counter", "x")]) { connection in
                    try connection.prefetch {
                        [Statement("SELECT amount FROM counters WHERE name = ?1", [.text("x")])]
                    }
                    try connection.add(1, to: "x")
                    try connection.write("INSERT INTO entries (number) VALUES (?1)", [.integer(1)])
                    try connection.write("INSERT INTO entries (number) VALUES (?1)", [.integer(2)])
                }
                #expect(database.figures.exchanges - start == 2)
            }
            #expect(try await database.read { try $0.amount(of: "x") } == 2)
            let changed = try await database.write { connection in
                _ = try connection.amount(of: "x")
                try connection.add(5, to: "x")
                return try connection.amount(of: "x")
            }
            #expect(changed == 7)
        }
    }

    @Test("Ids are drawn once each, by all servers together")
    func ids() async throws {
        try await Store.withOpen { first, store in
            let second = try store.open()
            let drawn = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for number in 0..<40 {
                    group.addTask {
                        try await (number.isMultiple(of: 2) ? first : second).write { connection in
                            let ids = try connection.drawIDs(3, of: "entries")
                            for id in ids {
                                try connection.write("INSERT INTO entries (row_id) VALUES (?1)", [.integer(id)])
                            }
                            return ids
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(drawn.count == 120 && Set(drawn).count == 120)
            await second.close()
        }
    }

    @Test("The ids of rows that share a key follow the order of the commits, whatever was drawn in advance")
    func idsInOrder() async throws {
        try await Store.withOpen(connections: 1) { first, store in
            let second = try store.open(connections: 1)
            for round in 0..<30 {
                try await (round.isMultiple(of: 2) ? first : second).write(locking: [LockKey("counter", "k")]) {
                    // Every third body draws nothing of what was drawn for it.
                    if round.isMultiple(of: 3) { return }
                    let id = try $0.drawIDs(1, of: "entries")[0]
                    try $0.write(
                        "INSERT INTO entries (row_id, number) VALUES (?1, ?2)", [.integer(id), .integer(Int64(round))])
                }
            }
            let numbers = try await first.read { connection in
                try connection.query("SELECT number FROM entries ORDER BY row_id", []) { $0.integer("number") }
            }
            #expect(numbers.count == 20 && numbers == numbers.sorted())
            await second.close()
        }
    }

    @Test("A waiting statement that fails with the commit leaves a connection that works")
    func failureWithCommit() async throws {
        try await Store.withOpen(connections: 1) { database, _ in
            for _ in 0..<3 {
                // Nothing is sent before the commit.
                await #expect(throws: DatabaseError.self) {
                    try await database.write { connection in
                        try connection.write("INSERT INTO counters (name, amount) VALUES ('f', -1)", [])
                    }
                }
                let amount = try await database.write { try $0.amount(of: "f") }
                #expect(amount == nil)
            }
            #expect(database.figures.connects <= 2, "the connection was made again")
        }
    }

    @Test("A read sees one state of the data, however many queries it makes")
    func snapshot() async throws {
        try await Store.withOpen { database, store in
            try await database.write { try $0.add(1, to: "s") }
            for _ in 0..<3 {
                let (before, after) = try await database.read { connection in
                    let before = try connection.amount(of: "s")
                    try store.session().run("UPDATE counters SET amount = amount + 1 WHERE name = 's'")
                    let after = try connection.first("SELECT amount FROM counters WHERE name = 's' AND 1 = 1", []) {
                        $0.integer("amount")
                    }
                    return (before, after)
                }
                #expect(before == after)
            }
        }
    }

    @Test("A read can't change anything, and a body can't control its transaction")
    func mistakes() async throws {
        try await Store.withOpen { database, _ in
            for sql: SQL in ["INSERT INTO entries (number) VALUES (1)", "COMMIT", "SELECT no_column FROM entries"] {
                await #expect(throws: DatabaseError.self) {
                    try await database.read { _ = try $0.query(sql, []) { _ in 1 } }
                }
            }
            await #expect(throws: DatabaseError.self) { try await database.write { try $0.execute("ROLLBACK", []) } }
            await #expect(throws: DatabaseError.self) {
                try await database.write { try $0.execute("DELETE FROM entries WHERE row_id = ?1", []) }
            }
            let error = await #expect(throws: DatabaseError.self) {
                try await database.read {
                    try $0.query("SELECT number FROM entries UNION SELECT 1", []) { $0.integer("none") }
                }
            }
            #expect(error?.detail.contains("no column none") == true)
        }
    }
}

/// Bodies wait here for each other, once.
private final class Meeting: Sendable {
    private let monitor = Monitor()
    private let missing: Locked<Int>

    init(of count: Int) { missing = Locked(count) }

    func arrive() {
        monitor.withLock {
            missing.withLock { $0 -= 1 }
            monitor.broadcast()
            // A body that runs again finds the others gone.
            while missing.withLock({ $0 }) > 0 { monitor.wait() }
        }
    }
}
