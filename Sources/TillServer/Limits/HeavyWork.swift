import Synchronization
import TillHTTP
import TillLedger
import TillThreads

/// The executors for long computations: receipts, unknown certificate chains, bodies over 64 KiB. On a connection's
/// thread or in the shared task pool they would delay purchases.
///
/// The composition root passes them in, like every thread. Nil runs the work where its caller runs, as in tests and in
/// the simulation.
public struct HeavyWork: Sendable {
    /// For callers with a valid credential.
    public var signedIn: (any TaskExecutor)?
    /// For all other callers. Separate, so that no customer waits behind an unauthenticated client.
    public var anonymous: (any TaskExecutor)?

    public init(signedIn: (any TaskExecutor)? = nil, anonymous: (any TaskExecutor)? = nil) {
        self.signedIn = signedIn
        self.anonymous = anonymous
    }
}

/// Limits how much heavy work runs at the same time, and answers 503 above the limit.
struct HeavyWorkLimiter: Sendable {
    private let work: HeavyWork
    private let log: Log
    /// A backend submits the proofs of all its users over all its connections. After a start no chain is known yet, so
    /// all of those proofs are heavy work.
    private let backends = Quota(Quota.Limits(count: 1_024, countPerSource: 1_024))
    private let users = Quota(Quota.Limits(count: 1_024, countPerSource: 32))
    private let anonymous = Quota(Quota.Limits(count: 64, countPerSource: 32))

    init(_ work: HeavyWork, log: Log) {
        self.work = work
        self.log = log
    }

    /// Whether this task is already counted and on its executor.
    @TaskLocal private static var isUnderWay = false

    /// Runs work for a caller with a valid credential.
    func run<Value: Sendable>(
        for credential: Credential, _ body: () async throws -> Value
    ) async throws -> Value {
        let quota = if case .backend = credential { backends } else { users }
        return try await run(in: quota, on: work.signedIn, from: credential.name, body)
    }

    /// Runs work for a caller without a verified credential.
    func run<Value: Sendable>(
        forAnonymous request: HTTPRequest, _ body: () async throws -> Value
    ) async throws -> Value {
        try await run(in: anonymous, on: work.anonymous, from: request.clientNetwork, body)
    }

    static let refusal = RefusalError(
        .unavailable, "too many requests are being processed; try again shortly", zh: "正在处理的请求过多，请稍后重试")

    private func run<Value: Sendable>(
        in quota: Quota, on executor: (any TaskExecutor)?, from source: String, _ body: () async throws -> Value
    ) async throws -> Value {
        if Self.isUnderWay { return try await body() }
        guard let share = quota.take(from: source) else {
            log.write(.limitReached, ["limit": "heavy_work"])
            throw Self.refusal
        }
        defer { withExtendedLifetime(share) {} }
        return try await Self.$isUnderWay.withValue(true) {
            try await withTaskExecutorPreference(executor) { try await body() }
        }
    }
}

/// Lets a limited number of tasks into a part of the program at the same time. Further ones wait and enter in the order
/// of their arrival.
final class TaskLimit: Sendable {
    private let state: Locked<State>
    private let count: Int

    private struct State {
        var free: Int
        /// The waiting tasks; those before `first` have entered.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var first = 0
    }

    init(_ count: Int) {
        self.count = count
        state = Locked(State(free: count))
    }

    /// How many tasks have a place.
    var inside: Int { state.withLock { count - $0.free } }

    /// How many tasks wait.
    var waiting: Int { state.withLock { $0.waiting.count - $0.first } }

    /// Waits for a place. The task holds it until ``Place/leave()``, or until it releases the place.
    func enter() async -> Place {
        if !state.withLock({ Self.enter(&$0) }) {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if Self.enter(&state) { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isFree { continuation.resume() }
            }
        }
        return Place(self)
    }

    /// The place of one task.
    final class Place: Sendable {
        private let limit: TaskLimit
        private let isHeld = Atomic<Bool>(true)

        fileprivate init(_ limit: TaskLimit) { self.limit = limit }

        deinit { leave() }

        /// Leaves early; later calls do nothing.
        func leave() {
            if isHeld.exchange(false, ordering: .relaxed) { limit.leave() }
        }
    }

    private static func enter(_ state: inout State) -> Bool {
        guard state.free > 0 else { return false }
        state.free -= 1
        return true
    }

    /// Passes the place to the task that has waited longest, so no later one overtakes it.
    fileprivate func leave() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.first < state.waiting.count else {
                state.free += 1
                return nil
            }
            defer {
                state.first += 1
                // Removes those that have entered; half of the list at a time, so that a removal costs little.
                if 2 * state.first >= state.waiting.count {
                    state.waiting.removeFirst(state.first)
                    state.first = 0
                }
            }
            return state.waiting[state.first]
        }
        next?.resume()
    }
}
