import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillSQL
import TillTestDatabases
import TillThreads

@testable import TillServer

@Suite("Several servers on one ledger: the lease of the jobs")
struct JobLeaseTests {
    private func server(
        on ledger: any Database, _ time: StandingClock, log: Log = .none
    ) throws -> Server {
        try Server(
            configuration: ServerConfiguration(
                catalog: Catalog(products: []),
                apple: AppleTrust(bundleID: "com.example", appAppleID: nil, environments: [.sandbox]), secretKeys: []),
            database: ledger, clock: { time.now }, entropy: RandomBytes.make, log: log)
    }

    private func lease(_ ledger: any Database) async throws -> Lease? {
        try await ledger.read { try LeaseTable($0).find(JobLease.name) }
    }

    private func beat(_ database: any Database, _ number: Int64) async throws {
        try await database.write(locking: [.ledger("heartbeat")]) {
            try HeartbeatTable($0).beat(at: Instant(milliseconds: number))
        }
    }

    private func lastBeat(_ ledger: any Database) async throws -> Int64? {
        try await ledger.read { try $0.first("SELECT at FROM heartbeat", []) { $0.integer("at") } }
    }

    @Test("One server holds it, and the next takes it at once when it is given up", arguments: LedgerDatabase.each)
    func givenUp(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let (shared, time) = (SharedLedger(ledger), StandingClock())
            let (first, second) = (try server(on: shared, time), try server(on: shared, time))
            let held = try #require(await first.jobLease.take(for: first))
            #expect(await second.jobLease.take(for: second) == nil)
            #expect(first.jobLease.isHeld(at: time.now) && !second.jobLease.isHeld(at: time.now))
            await first.jobLease.end(for: first)
            let next = try #require(await second.jobLease.take(for: second))
            #expect(next.term == held.term + 1 && next.server != held.server)
            #expect(!first.jobLease.isHeld(at: time.now))
        }
    }

    @Test(
        "A server that stopped renewing loses it after fifteen seconds, and its late writes commit nothing",
        arguments: LedgerDatabase.each)
    func frozen(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let (shared, time) = (SharedLedger(ledger), StandingClock())
            let (frozen, next) = (try server(on: shared, time), try server(on: shared, time))
            let lease = try #require(await frozen.jobLease.take(for: frozen))
            let working = frozen.under(lease)
            try await beat(working.database, 1)
            #expect(await next.jobLease.take(for: next) == nil)
            time.advance(seconds: 14)
            #expect(frozen.jobLease.isHeld(at: time.now))
            #expect(await next.jobLease.take(for: next) == nil)
            time.advance(seconds: 1)
            #expect(!frozen.jobLease.isHeld(at: time.now), "it stops by itself")
            let taken = try #require(await next.jobLease.take(for: next))
            #expect(taken.term == lease.term + 1)
            await #expect(throws: LeaseLostError.self) { try await beat(working.database, 2) }
            #expect(try await lastBeat(ledger) == 1)
            try await beat(next.under(taken).database, 3)
            #expect(try await lastBeat(ledger) == 3)
            // Neither a late renewal nor a late end touches the new holder's lease.
            await frozen.jobLease.renew(for: frozen)
            await frozen.jobLease.end(for: frozen)
            #expect(try await self.lease(ledger)?.server == taken.server)
        }
    }

    @Test("A lease that is renewed stays, whatever the other server's clock shows")
    func renewed() async throws {
        try await withLedger { ledger in
            let (shared, time, fast) = (SharedLedger(ledger), StandingClock(), StandingClock())
            fast.advance(seconds: 40)
            let (first, second) = (try server(on: shared, time), try server(on: shared, fast))
            _ = try #require(await first.jobLease.take(for: first))
            for _ in 0..<10 {
                time.advance(seconds: 5)
                fast.advance(seconds: 5)
                await first.jobLease.renew(for: first)
                #expect(await second.jobLease.take(for: second) == nil)
            }
            #expect(first.jobLease.isHeld(at: time.now))
        }
    }

    @Test("A takeover waits for a write under the lease that has begun, on a database whose bodies run at once")
    func takeoverWaits() async throws {
        guard LedgerDatabase.each.contains(.postgres) else { return }
        try await withLedger(on: .postgres) { ledger in
            let time = StandingClock()
            let (old, next) = (try server(on: ledger, time), try server(on: ledger, time))
            let lease = try #require(await old.jobLease.take(for: old))
            #expect(await next.jobLease.take(for: next) == nil)
            time.advance(seconds: 16)
            let working = old.under(lease).database
            let hasTaken = Locked(false)
            let (begun, begin) = AsyncStream<Void>.makeStream()
            async let write: Bool = working.write(locking: []) { connection in
                begin.yield()
                let isTakenMeanwhile = Self.wait(for: hasTaken)
                try HeartbeatTable(connection).beat(at: Instant(milliseconds: 5))
                return isTakenMeanwhile
            }
            for await _ in begun { break }
            _ = try #require(await next.jobLease.take(for: next))
            hasTaken.withLock { $0 = true }
            #expect(try await !write, "the takeover ended only after the commit")
            #expect(try await lastBeat(ledger) == 5)
        }
    }

    /// Blocks the database's thread as a slow body does.
    private static func wait(for flag: Locked<Bool>) -> Bool {
        let end = ContinuousClock.now.advanced(by: .milliseconds(300))
        while ContinuousClock.now < end { if flag.withLock({ $0 }) { return true } }
        return false
    }

    @Test("Only the holder runs the jobs of the ledger; the other goes on when it stops")
    func jobs() async throws {
        try await withLedger { ledger in
            let (shared, time) = (SharedLedger(ledger), StandingClock())
            let lines = Locked<[LogEvent]>([])
            let log = Log(isWritten: { _ in true }, sink: { line in lines.withLock { $0.append(line.event) } })
            let servers = [try server(on: shared, time, log: log), try server(on: shared, time, log: log)]
            let runs = servers.map { server in
                Task { await BackgroundJobs(server) { _ in try? await Task.sleep(for: .milliseconds(5)) }.run() }
            }
            func leaders() -> [Int] { servers.indices.filter { servers[$0].jobLease.isHeld(at: time.now) } }
            try await eventually { leaders().count == 1 }
            let first = try #require(leaders().first)
            let other = 1 - first
            try await eventually { Self.hasRun("reminders", servers[first], at: time.now) }
            #expect(!Self.hasRun("reminders", servers[other], at: time.now))
            #expect(Self.hasRun("dryRuns", servers[other], at: time.now), "a job of each server")
            #expect(
                servers[other].jobHistory.frozen(at: time.now.adding(seconds: 86_400)).allSatisfy {
                    ["catalog", "dryRuns"].contains($0)
                })
            runs[first].cancel()
            await runs[first].value
            try await eventually { leaders() == [other] }
            try await eventually { Self.hasRun("reminders", servers[other], at: time.now) }
            #expect(!Self.hasRun("reminders", servers[first], at: time.now))
            runs[other].cancel()
            await runs[other].value
            let written = lines.withLock { $0 }
            #expect(written.filter { $0 == .leaseTaken }.count == 2)
            #expect(written.filter { $0 == .leaseReleased }.count == 2)
            #expect(!written.contains(.jobFailed))
        }
    }

    /// Whether the metrics know an age.
    private static func hasRun(_ job: String, _ server: Server, at now: Instant) -> Bool {
        let ages = server.jobHistory.metrics(at: now).first { $0.definition == .jobSuccessAge }
        return ages?.samples.contains { $0.labels.first?.value == job && !$0.value.isNaN } ?? false
    }

    private func eventually(_ condition: () -> Bool) async throws {
        for _ in 0..<2_000 where !condition() { try await Task.sleep(for: .milliseconds(5)) }
        #expect(condition())
    }

    @Test("The metrics name the leader and the lease's age, and are NaN where one server has the ledger alone")
    func metrics() async throws {
        try await withLedger { ledger in
            let (shared, time) = (SharedLedger(ledger), StandingClock())
            let (first, second) = (try server(on: shared, time), try server(on: shared, time))
            _ = try #require(await first.jobLease.take(for: first))
            _ = await second.jobLease.take(for: second)
            time.advance(seconds: 4)
            func values(_ server: Server, isShared: Bool = true) -> [Double] {
                server.jobLease.metrics(isShared: isShared, at: time.now).map { $0.samples[0].value }
            }
            #expect(values(first) == [1, 4] && values(second) == [0, 4])
            time.advance(seconds: 20)
            #expect(values(first) == [0, 24] && values(second) == [0, 24])
            let alone = values(first, isShared: false)
            #expect(alone.count == 2 && alone.allSatisfy { $0.isNaN })
        }
    }

    @Test("A server without its lease sends no event")
    func sends() async throws {
        try await withLedger { ledger in
            let (shared, time) = (SharedLedger(ledger), StandingClock())
            let sent = Locked(0)
            let base = try server(on: shared, time)
            let server = base.with(shared) { (_: String, _: HTTPRequest) async throws(HTTPError) -> HTTPResponse in
                sent.withLock { $0 += 1 }
                return HTTPResponse(status: 200)
            }
            let lease = try #require(await server.jobLease.take(for: server))
            let send = try #require(server.under(lease).webhookSend)
            _ = try await send("https://example.com", HTTPRequest(method: .post, path: "/"))
            time.advance(seconds: 15)
            await #expect(throws: HTTPError.self) {
                try await send("https://example.com", HTTPRequest(method: .post, path: "/"))
            }
            #expect(sent.withLock { $0 } == 1)
        }
    }
}

/// A ledger that several servers of a test share, on any database.
struct SharedLedger: Database {
    private let base: any Database
    init(_ base: any Database) { self.base = base }

    var isShared: Bool { true }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await base.write(locking: keys(), body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await base.read(body)
    }

    func close() async { await base.close() }
}
