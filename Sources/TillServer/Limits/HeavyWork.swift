import TillHTTP
import TillLedger

/// Where long computations run: receipts, chains of certificates never seen before, bodies over 64 KiB. Not on a
/// connection's thread and not on the few that all tasks share, where purchases would wait behind them.
///
/// Passed in like every thread. Nil leaves work where its caller is, as in tests and in the simulation.
public struct HeavyWork: Sendable {
    /// For callers whose credential is good.
    public var signedIn: (any TaskExecutor)?
    /// For everybody else. Its own, so that no customer waits behind a stranger.
    public var strangers: (any TaskExecutor)?

    public init(signedIn: (any TaskExecutor)? = nil, strangers: (any TaskExecutor)? = nil) {
        self.signedIn = signedIn
        self.strangers = strangers
    }
}

/// Lets so much heavy work go on at once and answers 503 to the rest.
struct HeavyDesk: Sendable {
    private let work: HeavyWork
    /// A backend brings the proofs of all its users, and as many at once as it has connections: after a start, when no
    /// chain is known yet, all of them come here.
    private let backends = Quota(Quota.Limits(count: 1_024, countPerSource: 1_024))
    private let users = Quota(Quota.Limits(count: 1_024, countPerSource: 32))
    private let strangers = Quota(Quota.Limits(count: 64, countPerSource: 32))

    init(_ work: HeavyWork) { self.work = work }

    /// Whether this task is counted and in its place already.
    @TaskLocal private static var isUnderWay = false

    /// Runs work of a caller whose credential is good.
    func run<Value: Sendable>(
        for credential: Credential, _ body: () async throws -> Value
    ) async throws -> Value {
        let quota = if case .backend = credential { backends } else { users }
        return try await run(in: quota, on: work.signedIn, from: credential.name, body)
    }

    /// Runs work of a caller who has shown nothing.
    func run<Value: Sendable>(
        forStranger request: HTTPRequest, _ body: () async throws -> Value
    ) async throws -> Value {
        try await run(in: strangers, on: work.strangers, from: request.clientNetwork, body)
    }

    static let refusal = Refused(.unavailable, "too much is being worked on; try again shortly")

    private func run<Value: Sendable>(
        in quota: Quota, on executor: (any TaskExecutor)?, from source: String, _ body: () async throws -> Value
    ) async throws -> Value {
        if Self.isUnderWay { return try await body() }
        guard let share = quota.take(from: source) else {
            throw Self.refusal
        }
        defer { withExtendedLifetime(share) {} }
        return try await Self.$isUnderWay.withValue(true) {
            try await withTaskExecutorPreference(executor) { try await body() }
        }
    }
}
