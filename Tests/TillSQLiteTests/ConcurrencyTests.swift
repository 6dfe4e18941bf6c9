import Foundation
import Testing
import TillSQL

@testable import TillSQLite

@Suite("Concurrent requests")
struct ConcurrencyTests {
    let directory = TemporaryDirectory()

    private func open(_ change: (inout SQLiteDatabase.Options) -> Void = { _ in }) throws -> SQLiteDatabase {
        try SQLiteDatabase.open(path: directory.database, role: .server, options: Ledger.options(change))
    }

    @Test("Each of 256 requesters gets its own answer, once, and reads its write at once")
    func requesters() async throws {
        let database = try open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for requester in Int64(0)..<256 {
                group.addTask {
                    for round in Int64(0)..<10 {
                        let id = requester * 100 + round
                        let back = try await database.write { try Ledger.grant(id, points: id + 1, in: $0) }
                        #expect(back == id)
                        let points = try await database.read { connection in
                            try connection.first("SELECT points FROM grants WHERE id = ?", [.integer(id)]) {
                                $0.integer("points")
                            }
                        }
                        #expect(points == id + 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.read(Ledger.granted).count == 2_560)
        await database.close()
    }

    @Test("A violated rule of the schema is the fault of one body, deferred rules included")
    func constraints() async throws {
        let database = try open()
        _ = try await database.write { try Ledger.grant(0, in: $0) }
        let kinds = await withTaskGroup(of: (Int64, DatabaseError.Kind?).self) { group in
            for id in Int64(1)...200 {
                group.addTask {
                    let found = await thrownError {
                        try await database.write { try Self.breakRule(id, in: $0) }
                    }
                    return (id, found?.kind)
                }
            }
            return await group.reduce(into: [Int64: DatabaseError.Kind?]()) { $0[$1.0] = .some($1.1) }
        }
        #expect(kinds.count == 200)
        for (id, kind) in kinds { #expect(kind == (id % 4 == 0 ? nil : .constraint), "\(id)") }
        #expect(try await database.read(Ledger.granted) == (Int64(0)...200).filter { $0 % 4 == 0 })
        await database.close()
    }

    private static func breakRule(_ id: Int64, in connection: any Connection) throws {
        switch id % 4 {
        case 1: try Ledger.grant(0, in: connection)
        case 2: try Ledger.grant(id, points: 0, in: connection)
        case 3:
            // Its order never exists: the rule is checked only at the end.
            try connection.execute(
                "INSERT INTO grants (id, \"order\", points) VALUES (?, ?, 1)", [.integer(id), .integer(-id)])
        default: try Ledger.grant(id, in: connection)
        }
    }

    @Test("A body may catch a violated rule and continue; its earlier writes stand")
    func caughtConstraint() async throws {
        let database = try open()
        _ = try await database.write { try Ledger.grant(1, in: $0) }
        try await database.write { connection in
            try connection.execute("INSERT INTO orders (id) VALUES (2)", [])
            #expect(throws: DatabaseError.self) { try connection.execute("INSERT INTO orders (id) VALUES (1)", []) }
            try connection.execute("INSERT INTO orders (id) VALUES (3)", [])
        }
        let orders = try await database.read {
            try $0.query("SELECT id FROM orders ORDER BY id", []) { $0.integer("id") }
        }
        #expect(orders == [1, 2, 3])
        await database.close()
    }

    @Test("close runs every accepted call and answers each caller; later calls get a fault")
    func closeLosesNothing() async throws {
        let database = try open()
        let answered = await withTaskGroup(of: (Int64, DatabaseError?).self) { group in
            for id in Int64(0)..<2_000 {
                group.addTask {
                    if id == 1_000 { await database.close() }
                    return (id, await thrownError { try await database.write { try Ledger.grant(id, in: $0) } })
                }
            }
            return await group.reduce(into: [Int64: DatabaseError?]()) { $0[$1.0] = .some($1.1) }
        }
        #expect(answered.count == 2_000)
        var granted: Set<Int64> = []
        for (id, error) in answered {
            if let error { #expect(error.kind == .closed && error.isRetryable) } else { granted.insert(id) }
        }
        await database.close()
        #expect(await thrownError { try await database.read(Ledger.granted) }?.kind == .closed)
        let again = try open()
        #expect(Set(try await again.read(Ledger.granted)) == granted)
        #expect(!granted.isEmpty && granted.count < 2_000)
        await again.close()
    }

    @Test("Waiting writes beyond the limit are refused as busy, and memory stays bounded")
    func queueLimit() async throws {
        let database = try open { $0.queueLimit = 8 }
        let gate = Gate()
        let outcomes = await withTaskGroup(of: DatabaseError?.self) { group in
            group.addTask {
                await thrownError { try await database.write { _ in gate.wait() } }
            }
            gate.waitUntilTaken()
            // Eight wait, and later ones are refused at once; the gate opens after four refusals.
            for id in Int64(0)..<12 {
                group.addTask {
                    let found = await thrownError { try await database.write { try Ledger.grant(id, in: $0) } }
                    if found != nil { gate.count(openAt: 4) }
                    return found
                }
            }
            return await group.reduce(into: [DatabaseError?]()) { $0.append($1) }
        }
        let refused = outcomes.compactMap { $0 }
        #expect(refused.count == 4)
        #expect(refused.allSatisfy { $0.kind == .busy && $0.isRetryable })
        #expect(try await database.read(Ledger.granted).count == 8)
        await database.close()
    }

    private func grantMany(_ rounds: Range<Int64>, _ database: SQLiteDatabase) async throws -> Int {
        let proof = [UInt8](repeating: 7, count: 8_000)
        var largest = 0
        for round in rounds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in Int64(0)..<32 {
                    group.addTask {
                        _ = try await database.write { try Ledger.grant(round * 32 + id, proof: proof, in: $0) }
                    }
                }
                try await group.waitForAll()
            }
            largest = max(largest, try logSize())
        }
        return largest
    }

    private func logSize() throws -> Int {
        try FileManager.default.attributesOfItem(atPath: directory.database + "-wal")[.size] as? Int ?? 0
    }

    @Test("Under continuous load the log stays bounded")
    func boundedLog() async throws {
        let limit = 1 << 20
        let database = try open { $0.logLimitBytes = limit }
        // 60 × 32 × 8 kB are 15 MB.
        let largest = try await grantMany(0..<60, database)
        #expect(largest > 0 && largest < 3 * limit, "\(largest)")
        #expect(try await database.read(Ledger.granted).count == 1_920)
        await database.close()
    }

    @Test("A log that grew during a long query is truncated after the query, and the query saw one state")
    func logAfterLongQuery() async throws {
        let limit = 1 << 20
        let database = try open { $0.logLimitBytes = limit }
        _ = try await grantMany(0..<1, database)
        let gate = Gate()
        async let counts = database.read { connection in
            let before = try Ledger.granted(in: connection).count
            gate.wait()
            return [before, try Ledger.granted(in: connection).count]
        }
        gate.waitUntilTaken()
        let whileReading = try await grantMany(1..<21, database)
        #expect(whileReading > 4 * limit, "\(whileReading)")
        gate.count(openAt: 1)
        #expect(try await counts == [32, 32])
        _ = try await grantMany(21..<61, database)
        #expect(try logSize() < 3 * limit)
        #expect(try await database.read(Ledger.granted).count == 61 * 32)
        await database.close()
    }
}

/// Unchecked because every access is under the lock.
final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0
    var value: Int { lock.withLock { count } }
    func add() { lock.withLock { count += 1 } }
}

/// Holds the writer's thread until enough others have been counted.
private final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var isTaken = false
    private var isOpen = false
    private var counted = 0

    func wait() {
        condition.withLock {
            isTaken = true
            condition.broadcast()
            while !isOpen { condition.wait() }
        }
    }

    func waitUntilTaken() { condition.withLock { while !isTaken { condition.wait() } } }

    func count(openAt enough: Int) {
        condition.withLock {
            counted += 1
            if counted == enough { isOpen = true }
            condition.broadcast()
        }
    }
}
