import TillHTTP
import TillLedger

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
