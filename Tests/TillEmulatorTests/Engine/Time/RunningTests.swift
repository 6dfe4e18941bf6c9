import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillSQL
import TillSQLite
import TillThreads

@testable import TillEmulator

@Suite("The store's own activity")
struct RunningTests {
    private let start = EmulatedWorld.start

    /// Wakes `run` until `isThere`, for at most two seconds.
    private func waking(_ world: TimedWorld, until isThere: () async throws -> Bool) async throws -> Bool {
        for _ in 0..<1_000 {
            try world.emulator.wake()
            if try await isThere() { return true }
            try await Task.sleep(nanoseconds: 2_000_000)
        }
        return false
    }

    @Test("While it runs, due changes happen without a request, and retries are made on time")
    func running() async throws {
        let world = try await TimedWorld { _, _ in 503 }
        await world.tellServer()
        try await world.buy()
        try await world.plan([1: start.adding(seconds: 10), 2: start.adding(seconds: 3_700)])
        let emulator = try world.emulator
        let run = Task { await emulator.run() }
        #expect(try await waking(world) { world.attempts.count == 1 })
        #expect(try await world.planned() == [1, 2])
        world.passes(10_000)
        #expect(try await waking(world) { try await world.planned() == [2] })
        #expect(world.attempts.count == 1)
        world.passes(3_590_000)
        #expect(try await waking(world) { world.attempts.count == 2 })
        world.passes(100_000)
        #expect(try await waking(world) { try await world.planned() == [] })
        #expect(world.attempts.map(\.at) == [start, start.adding(seconds: 3_600)])
        // A clock advance and `run` do not send the same notification twice.
        #expect(await world.advance("30d").status == 200)
        #expect(world.attempts.count == 6)
        run.cancel()
        await run.value
        await world.remove()
    }

    @Test("A failing database is not retried before the next wake, and is used again when it works")
    func faults() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let inner = try Emulator.openDatabase(path: directory.appendingPathComponent("emulator.sqlite").path)
        let database = FailingDatabase(inner)
        let sent = Locked(0)
        let time = Locked(start)
        var configuration = EmulatorConfiguration()
        configuration.keys = EmulatedWorld.keys
        let emulator = try await Emulator(
            configuration: configuration, database: database, clock: { time.withLock { $0 } },
            entropy: { RandomBytes.make($0) },
            send: { _, _ throws(HTTPError) in
                sent.withLock { $0 += 1 }
                return HTTPResponse(status: 200)
            })
        try await emulator.store.setNotificationURL("http://127.0.0.1:9/")
        _ = try await emulator.store.sendTestNotification(bundleID: "com.example.learnpoints")
        try await inner.write { try Schedule.set(.subscription, 1, at: EmulatedWorld.start.adding(seconds: 1), $0) }
        database.fails.withLock { $0 = true }
        time.withLock { $0 = $0.adding(seconds: 2) }
        let run = Task { await emulator.run() }
        for _ in 0..<20 {
            emulator.wake()
            try await Task.sleep(nanoseconds: 3_000_000)
        }
        let calls = database.calls.withLock { $0 }
        #expect((1...100).contains(calls), "\(calls) calls for 21 wakings")
        try await Task.sleep(nanoseconds: 20_000_000)
        #expect(database.calls.withLock { $0 } == calls, "it did not wake")
        #expect(sent.withLock { $0 } == 0)
        database.fails.withLock { $0 = false }
        for _ in 0..<1_000 where sent.withLock({ $0 }) == 0 {
            emulator.wake()
            try await Task.sleep(nanoseconds: 2_000_000)
        }
        #expect(sent.withLock { $0 } == 1)
        #expect(try await inner.read { try Schedule.next(by: .init(milliseconds: .max), $0) } == nil)
        run.cancel()
        await run.value
        await inner.close()
        try FileManager.default.removeItem(at: directory)
    }

    @Test("An advance with a failing database reports it, keeps the moment reached, and can be repeated")
    func faultOnTheWay() async throws {
        let world = try await TimedWorld { _, _ in 503 }
        await world.tellServer()
        try await world.buy()
        // The store refuses the third attempt's record.
        _ = try await world.database.write { connection in
            try connection.execute(
                """
                CREATE TRIGGER broken BEFORE INSERT ON send_attempts WHEN new.attempt = 3 BEGIN
                    SELECT raise(ABORT, 'broken');
                END
                """, [])
        }
        #expect(await world.advance("30d").status == 500)
        #expect(try world.emulator.store.now == start.adding(seconds: 13 * 3_600))
        #expect(world.attempts.count == 3)
        _ = try await world.database.write { try $0.execute("DROP TRIGGER broken", []) }
        #expect(await world.advance("30d").status == 200)
        let hours = [0, 1, 13, 13, 37, 85, 157] as [Int64]
        #expect(world.attempts.map(\.at) == hours.map { start.adding(seconds: $0 * 3_600) })
        await world.remove()
    }

    @Test("Notifications older than 180 days are deleted, test ones after 184; newer and pending ones stay")
    func sweep() async throws {
        let world = try await TimedWorld(EmulatorConfiguration()) { world, _ in
            world.attempts.count.isMultiple(of: 3) ? 500 : 200
        }
        await world.tellServer()
        for _ in 0..<300 { try await world.buy() }
        _ = try await world.emulator.store.sendTestNotification(bundleID: "com.example.learnpoints")
        #expect(await world.advance("90d").status == 200)
        for _ in 0..<3 { try await world.buy() }
        func total() async -> JSONValue? {
            await world.ask(.get, "/emulator/state").json["notifications"]?["total"]
        }
        #expect(await world.advance("90d").status == 200)
        #expect(await total() == 304)
        #expect(await world.advance("1ms").status == 200)
        #expect(await total() == 4)
        #expect(await world.advance("4d").status == 200)
        #expect(await total() == 3)
        #expect(await world.ask(.get, "/emulator/state").json["transactions"]?["total"] == 303)
        let attempts = try await world.database.read { connection in
            try connection.first("SELECT count(*) AS count FROM send_attempts", []) { $0.integer("count") }
        }
        #expect(attempts == 3)
        await world.remove()
    }

    @Test("Notifications that wait for a URL too long are deleted too, and no longer counted")
    func sweepPending() async throws {
        let world = try await TimedWorld()
        await world.tellServer()
        try await world.buy()
        #expect(await world.ask(.put, "/emulator/notifications", ["url": .null]).status == 200)
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["pending"] == 1)
        #expect(await world.advance("181d").status == 200)
        let state = await world.ask(.get, "/emulator/state").json["notifications"]
        #expect(state?["pending"] == 0 && state?["total"] == 0)
        #expect(world.attempts.isEmpty)
        await world.remove()
    }
}

/// A database that fails on demand, and counts its calls.
private final class FailingDatabase: Database {
    let fails = Locked(false)
    let calls = Locked(0)
    private let inner: SQLiteDatabase

    init(_ inner: SQLiteDatabase) { self.inner = inner }

    private func ask() throws {
        guard fails.withLock({ $0 }) else { return }
        calls.withLock { $0 += 1 }
        throw DatabaseError(.inputOutput, "the disk is on fire")
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try ask()
        return try await inner.write(locking: keys(), body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try ask()
        return try await inner.read(body)
    }

    func close() async { await inner.close() }
}
