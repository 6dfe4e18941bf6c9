import Glibc
import TillTestDatabases
import TillThreads

/// Lets the statements of several servers run one at a time, in an order that a seed chooses.
///
/// A server's thread stops before each statement. When every body stands before a statement or waits for a lock, the
/// stepper lets one of them go on. Whether a body waits for a lock is what PostgreSQL says, never a matter of time.
final class Stepper: @unchecked Sendable {
    // @unchecked: the monitor guards all variables.
    private let monitor = Monitor()
    private let session: PostgresSession
    private var isStepping = false
    private var random = SeededRandom(seed: 0)
    /// Requests that are not answered yet.
    private var requests = 0
    private var operations: [Int: Operation] = [:]
    private var operationCount = 0
    private var paused: [Int32: Paused] = [:]
    private var backends: [pthread_t: Int32] = [:]
    private var names: [pthread_t: String] = [:]
    /// Backends that PostgreSQL has said are waiting, since a transaction last ended.
    private var blocked: Set<Int32> = []
    private var last = ""
    private var trace: [String] = []
    /// How many bodies were seen waiting for a lock.
    private(set) var blockedCount = 0
    private(set) var statementCount = 0
    private(set) var isStuck = false

    /// Chooses a statement outside of a run before which its thread stops, once.
    private var hold: ((Int32, String) -> Bool)?
    private var isHeld = false

    /// The request that a task works on.
    @TaskLocal static var request = ""

    /// One read or write of a request.
    struct Operation {
        let request: String
        /// Nil for a read: there are always enough connections for those.
        let writers: Writers?
        /// The thread that runs its body.
        var thread: pthread_t?
    }

    /// The connections of one server that write. Several bodies may wait for one of them, or share its transaction.
    struct Writers {
        let server: ObjectIdentifier
        let count: Int
        let busy: @Sendable () -> Int
        let waiting: @Sendable () -> Int
    }

    private struct Paused {
        let name: String
        let statement: String
        var isReleased = false
    }

    /// Milliseconds after which a run without any progress is given up.
    private static let patience = 30_000

    init(_ session: PostgresSession) { self.session = session }

    // MARK: Called by the servers' databases

    /// Stops the calling thread until its statement may be sent.
    func step(_ backend: Int32, _ statement: String) {
        let thread = pthread_self()
        monitor.withLock {
            if !isStepping, hold?(backend, statement) == true {
                (hold, isHeld) = (nil, true)
                monitor.broadcast()
                while isHeld { monitor.wait() }
            }
            // A thread without a body connects.
            guard isStepping, let name = names[thread] else { return }
            backends[thread] = backend
            paused[backend] = Paused(name: name, statement: statement)
            monitor.broadcast()
            while isStepping, paused[backend]?.isReleased == false { monitor.wait() }
            paused[backend] = nil
        }
    }

    func begin(_ writers: Writers? = nil) -> Int {
        let request = Self.request
        return monitor.withLock {
            operationCount += 1
            operations[operationCount] = Operation(request: request, writers: writers)
            monitor.broadcast()
            return operationCount
        }
    }

    /// The body of an operation begins on the calling thread, perhaps once more.
    func run(_ operation: Int) {
        let thread = pthread_self()
        monitor.withLock {
            names[thread] = operations[operation]?.request ?? "-"
            operations[operation]?.thread = thread
        }
    }

    func end(_ operation: Int) {
        monitor.withLock {
            operations[operation] = nil
            monitor.broadcast()
        }
    }

    // MARK: One statement that is held

    /// Stops the next transaction that writes an event after its last statement, before its COMMIT.
    func holdNextEvent() {
        var backends: Set<Int32> = []
        monitor.withLock {
            hold = { backend, statement in
                if statement.hasPrefix("INSERT INTO outbox") { backends.insert(backend) }
                return statement == "COMMIT" && backends.contains(backend)
            }
        }
    }

    func isHolding() -> Bool { monitor.withLock { isHeld } }

    func letGo() {
        monitor.withLock {
            (hold, isHeld) = (nil, false)
            monitor.broadcast()
        }
    }

    // MARK: A run

    struct Run: Sendable {
        let trace: [String]
        let statements: Int
        let blocked: Int
        let isStuck: Bool
    }

    /// Runs the requests at once, and steps the statements of their bodies.
    func run(_ work: [(name: String, body: @Sendable () async -> Void)], seed: UInt64) async -> Run {
        monitor.withLock {
            random = SeededRandom(seed: seed)
            (requests, isStepping, isStuck) = (work.count, true, false)
            (blockedCount, statementCount, trace, blocked) = (0, 0, [], [])
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withCheckedContinuation { continuation in
                    let thread = SystemThread {
                        self.stepAll()
                        continuation.resume()
                    }
                    thread?.detach()
                }
            }
            for (name, body) in work {
                group.addTask {
                    await Self.$request.withValue(name) { await body() }
                    self.monitor.withLock {
                        self.requests -= 1
                        self.monitor.broadcast()
                    }
                }
            }
        }
        return monitor.withLock {
            Run(trace: trace, statements: statementCount, blocked: blockedCount, isStuck: isStuck)
        }
    }

    private func stepAll() {
        // One thing at a time for a while makes other orders likely than a new choice at each statement.
        let stickiness = monitor.withLock { [0, 0.5, 0.8, 0.95][random.below(4)] }
        var idle = 0
        while true {
            var open: [Int32] = []
            let isDone = monitor.withLock { () -> Bool in
                if requests == 0 || idle > Self.patience { return stop() }
                if let busy = busyBackends(), busy.allSatisfy(blocked.contains) {
                    if release(stickiness) {
                        idle = 0
                        return false
                    }
                    // All wait for each other: PostgreSQL ends one of them.
                    blocked = []
                }
                idle += 1
                monitor.wait(milliseconds: 1)
                open = (busyBackends() ?? []).filter { !blocked.contains($0) }
                return false
            }
            if isDone { return }
            if !open.isEmpty { look(at: Set(open)) }
        }
    }

    private func stop() -> Bool {
        (isStuck, isStepping) = (requests > 0, false)
        if isStuck { trace += operations.values.map { "open: \($0)" } + paused.values.map { "at: \($0)" } }
        monitor.broadcast()
        return true
    }

    /// The backends that neither stand before a statement nor are idle; nil while a request computes or a body is
    /// about to begin.
    private func busyBackends() -> [Int32]? {
        guard Set(operations.values.map(\.request)).count >= requests else { return nil }
        var busy: [Int32] = []
        for operation in operations.values {
            guard let thread = operation.thread else {
                guard let writers = operation.writers, waits(for: writers) else { return nil }
                continue
            }
            guard let backend = backends[thread] else { return nil }
            if let paused = paused[backend], !paused.isReleased { continue }
            busy.append(backend)
        }
        return busy
    }

    /// Whether a body that has not begun waits for another one, and not just for its thread: all threads that work on
    /// writes have begun one.
    private func waits(for writers: Writers) -> Bool {
        let threads = operations.values.compactMap { one in
            one.writers?.server == writers.server ? one.thread : nil
        }
        let busy = writers.busy()
        return (writers.waiting() == 0 || busy == writers.count) && Set(threads).count == busy && busy > 0
    }

    private func release(_ stickiness: Double) -> Bool {
        let ready = paused.filter { !$0.value.isReleased }
            .sorted { ($0.value.name, $0.value.statement) < ($1.value.name, $1.value.statement) }
        guard !ready.isEmpty else { return false }
        let same = ready.first { $0.value.name == last }
        let chosen = same.flatMap { random.chance(stickiness) ? $0 : nil } ?? ready[random.below(ready.count)]
        last = chosen.value.name
        paused[chosen.key]?.isReleased = true
        statementCount += 1
        trace.append("\(last.padded(18)) \(chosen.value.statement.prefix(150))")
        // Whatever ends a transaction, or a part of one, may let others go on.
        if ["COMMI", "ROLLB"].contains(chosen.value.statement.prefix(5)) {
            blocked = []
        }
        monitor.broadcast()
        return true
    }

    /// Asks PostgreSQL whether all of the backends wait for locks of others. While one of them runs, it may be about to
    /// end what another waits for.
    private func look(at open: Set<Int32>) {
        let list = open.map(String.init).joined(separator: ",")
        let query =
            "SELECT pid FROM unnest(ARRAY[\(list)]::int[]) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0"
        let found = Result { try session.run(query) }
        monitor.withLock {
            guard case .success(let rows) = found, rows.count == open.count, let busy = busyBackends(),
                Set(busy).subtracting(blocked) == open
            else { return }
            blockedCount += open.count
            blocked.formUnion(open)
            trace.append("\("".padded(18)) (waits for a lock: \(names(of: open)))")
        }
    }

    private func names(of found: Set<Int32>) -> String {
        backends.filter { found.contains($0.value) }.compactMap { names[$0.key] }.sorted().joined(separator: ", ")
    }
}

extension String {
    func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// SplitMix64.
struct SeededRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    mutating func chance(_ probability: Double) -> Bool { Double(next() >> 11) / Double(1 << 53) < probability }
}
