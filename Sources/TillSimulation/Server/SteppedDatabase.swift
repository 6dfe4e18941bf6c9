import TillLedger
import TillSQL

/// The ledger with an await before and after each of its commits, as the driver's own threads have it: at each of them
/// other tasks run, and the server may be killed. Its faults are those of a database with several writers, unless the
/// world's ledger is the file of one server.
final class SteppedDatabase: Database {
    private let inner: any Database
    private let faults: FaultLog
    private let isWritten: IsWritten
    private let pause: @Sendable (Int64) async -> Void
    /// The greatest row id of an event that was committed, and of one that had its position.
    private let feed = FeedProgress()
    private let rowIDs = DrawnRowIDs()
    private let tables: GuardedTables
    private let lateness: Lateness
    /// Whether bodies find a database that several servers may write (`Connection.isShared`).
    private let hasSeveralWriters: Bool

    /// Called after each commit, before its caller continues, with the row ids of the events that it may hold.
    typealias IsWritten = @Sendable (any Database, _ events: [Int64]) async -> Void

    /// With its keys declared a body finds what it found before, and perhaps more.
    private static let mostRuns = 5

    /// - Parameters:
    ///   - hasSeveralWriters: otherwise rows become visible in the order of their ids, and events have their positions
    ///     at once.
    ///   - tables: may be shared by all starts of a server.
    ///   - faults: whether a body runs again, is late, or stays in doubt.
    ///   - pause: waits for milliseconds of virtual time.
    init(
        _ inner: any Database, hasSeveralWriters: Bool, tables: GuardedTables = GuardedTables(), faults: FaultLog,
        lateness: Lateness, pause: @escaping @Sendable (Int64) async -> Void, isWritten: @escaping IsWritten
    ) {
        self.hasSeveralWriters = hasSeveralWriters
        self.tables = tables
        self.lateness = lateness
        self.pause = pause
        self.inner = inner
        self.faults = faults
        self.isWritten = isWritten
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let keys = keys()
        await Task.yield()
        if faults.occurs(.bodyRerun, at: "ledger") { _ = await runAndRollBack(keys, body) }
        var reserved: [String: [Int64]] = [:]
        if hasSeveralWriters, faults.occurs(.rowsLate, at: "ledger") {
            reserved = await runAndRollBack(keys, body)
            await letOthersCommit(after: reserved["outbox"]?.max())
        }
        let attempt = Attempt(keys, rowIDs, reserved)
        let result: Result<Value, any Error>
        do { result = .success(try await run(attempt, body)) } catch { result = .failure(error) }
        let events = attempt.drawn["outbox"] ?? []
        if case .success = result { feed.note(events, isPlacing: keys.contains(.ledger("feed"))) }
        await isWritten(inner, events)
        await Task.yield()
        let value = try result.get()
        if faults.occurs(.commitInDoubt, at: "ledger") {
            throw DatabaseError(.inputOutput, "the connection was lost during COMMIT", mayHaveCommitted: true)
        }
        return value
    }

    /// Until a reader of the feed may have passed the row ids of a body that has not committed.
    private func letOthersCommit(after event: Int64?) async {
        guard let event else {
            for _ in 0..<Lateness.steps { await Task.yield() }
            return
        }
        var waited: Int64 = 0
        while feed.placed <= event, waited < Lateness.most {
            await pause(Lateness.step)
            waited += Lateness.step
        }
        let further = lateness.further()
        if further > 0 { await pause(further) }
    }

    /// Runs a body until it has declared every key that it needs.
    private func run<Value: Sendable>(
        _ attempt: Attempt, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        for _ in 0..<Self.mostRuns {
            attempt.begin()
            let result: Result<Value, any Error>
            do {
                let value = try await inner.write(locking: attempt.keys.sorted()) {
                    [tables, hasSeveralWriters] connection in
                    let keyed = KeyedConnection(connection, attempt, tables, isShared: hasSeveralWriters)
                    let value = try body(keyed)
                    guard attempt.undeclared.isEmpty else { throw RollbackError() }
                    return value
                }
                result = .success(value)
            } catch { result = .failure(error) }
            if attempt.undeclared.isEmpty { return try result.get() }
        }
        preconditionFailure("a body adds other keys in each of \(Self.mostRuns) runs")
    }

    private struct RollbackError: Error {}

    /// Runs a body and undoes it: what it leaves behind outside of the database would count twice.
    ///
    /// - Returns: the row ids that it drew.
    private func runAndRollBack<Value: Sendable>(
        _ keys: [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async -> [String: [Int64]] {
        let attempt = Attempt(keys, rowIDs)
        do {
            try await run(attempt) { connection in
                _ = try body(connection)
                throw RollbackError()
            }
        } catch {
            // The second run meets the same error, if it was the body's own.
        }
        return attempt.drawn
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        await Task.yield()
        return try await inner.read(body)
    }

    func insertedRows(of table: StaticString) -> [ClosedRange<Int64>]? { inner.insertedRows(of: table) }

    func close() async { await inner.close() }
}

/// How long late bodies stay open.
// @unchecked: all tasks of one simulated world run on one thread.
final class Lateness: @unchecked Sendable {
    /// Milliseconds after which a late body commits, whatever others have done, and how often it looks at that.
    static let most: Int64 = 600_000
    static let step: Int64 = 5_000
    /// How many steps of other tasks a body lets pass whose rows no feed lists.
    static let steps = 60

    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed, stream: "lateness of rows") }

    /// Milliseconds after others have passed the body's rows: sometimes so many that these count as rolled back.
    func further() -> Int64 { random.chance(0.25) ? random.between(60_000, 1_800_000) : 0 }
}

// @unchecked: all tasks of one simulated world run on one thread.
private final class FeedProgress: @unchecked Sendable {
    private var committed: Int64 = 0
    private(set) var placed: Int64 = 0

    func note(_ events: [Int64], isPlacing: Bool) {
        committed = max(committed, events.max() ?? 0)
        if isPlacing { placed = committed }
    }
}

/// Row ids in the order in which bodies draw them, whether they commit or not.
// @unchecked: all tasks of one simulated world run on one thread.
final class DrawnRowIDs: @unchecked Sendable {
    private var last: [String: Int64] = [:]

    /// - Parameter free: the first id that is free in the table.
    func draw(_ count: Int, of table: String, free: Int64) -> [Int64] {
        let first = max(free, last[table, default: 0] + 1)
        last[table] = first + Int64(count) - 1
        return (0..<count).map { first + Int64($0) }
    }
}

/// The runs of one body: the keys that it has declared by now, and the row ids that its last run drew.
// @unchecked: all tasks of one simulated world run on one thread.
final class Attempt: @unchecked Sendable {
    private(set) var keys: Set<LockKey>
    /// What the run under way adds.
    private(set) var undeclared: Set<LockKey> = []
    private(set) var drawn: [String: [Int64]] = [:]
    private var reserved: [String: [Int64]]
    private let earlier: [String: [Int64]]
    private let rowIDs: DrawnRowIDs

    /// - Parameter reserved: ids that were drawn for this body before other bodies drew theirs.
    init(_ keys: [LockKey], _ rowIDs: DrawnRowIDs, _ reserved: [String: [Int64]] = [:]) {
        self.keys = Set(keys)
        self.rowIDs = rowIDs
        self.reserved = reserved
        earlier = reserved
    }

    func begin() {
        keys.formUnion(undeclared)
        undeclared = []
        drawn = [:]
        reserved = earlier
    }

    func lock(_ keys: @autoclosure () -> [LockKey]) { undeclared.formUnion(Set(keys()).subtracting(self.keys)) }

    func draw(_ count: Int, of table: String, _ free: () throws -> Int64) rethrows -> [Int64] {
        var ids = Array((reserved[table] ?? []).prefix(count))
        reserved[table]?.removeFirst(ids.count)
        if ids.count < count { ids += rowIDs.draw(count - ids.count, of: table, free: try free()) }
        drawn[table, default: []] += ids
        return ids
    }
}
