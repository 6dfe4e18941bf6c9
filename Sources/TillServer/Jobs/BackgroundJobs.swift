import TillBilling
import TillLedger
import TillSQL
import TillThreads

/// Everything that a server does besides answering requests. Each job processes whatever is due; work that a crash
/// interrupts is still due at the next pass.
public struct BackgroundJobs: Sendable {
    /// One background job.
    public struct Job: Sendable {
        public let name: String
        /// Milliseconds between the end of one pass and the next; nil runs the job once at the start.
        public let interval: Int64?
        let walk: @Sendable (Server) async throws -> Void
    }

    private static let usual: [Job] =
        [
            Job(name: "catalog", interval: 60_000) { try await $0.ledger.recordCatalog() },
            Job(name: "notifications", interval: 60_000) { _ = try await PendingNotifications($0.ledger).processAll() },
            Job(name: "savedProofs", interval: 1_000) { _ = try await SavedProofs($0.ledger).processAll() },
            Job(name: "claims", interval: 15_000) { _ = try await WaitingClaims($0).askAll() },
            Job(name: "consumption", interval: 30_000) { _ = try await ConsumptionAnswers($0.ledger).answerAll() },
            Job(name: "reconciliation", interval: 5_000) { _ = try await Reconciliations($0.ledger).advance() },
            Job(name: "dryRuns", interval: 2_000) { try await DryRuns($0.ledger).runAll() },
            Job(name: "reminders", interval: 30_000) { _ = try await DueReminders($0.ledger).recordAll() },
            Job(name: "pruning", interval: 600_000) { try await $0.prune() },
            Job(name: "walletCheck", interval: 30_000) {
                try await $0.walletCheck.advance($0.database, clock: $0.clock)
            },
        ] + ofEachEnvironment

    /// One job per environment, so that a slow answer from Apple's sandbox does not delay production.
    private static let ofEachEnvironment: [Job] = [StoreEnvironment.production, .sandbox].flatMap { environment in
        func name(_ name: String) -> String {
            environment == .production ? name : "sandbox" + name.prefix(1).uppercased() + name.dropFirst()
        }
        return [
            Job(name: name("receipts"), interval: 5_000) {
                _ = try await WaitingReceipts($0.ledger).askAll(in: environment)
            },
            Job(name: name("receiptConfirmations"), interval: 60_000) {
                _ = try await ReceiptConfirmations($0.ledger).askAll(in: environment)
            },
            Job(name: name("apple tasks"), interval: 15_000) {
                _ = try await AppleTaskRuns($0.ledger).runAll(in: environment)
            },
        ]
    }

    private static let webhooks = "webhooks"
    private static let webhookInterval: Int64 = 1_000

    /// The jobs of every server, with the milliseconds between two runs.
    static let intervals: [(name: String, interval: Int64)] =
        usual.compactMap { job in job.interval.map { (job.name, $0) } } + [(webhooks, webhookInterval)]

    public let all: [Job]
    /// The server as it is configured now.
    private let current: @Sendable () -> Server
    private let pause: @Sendable (Int64) async -> Void

    /// Create this before the server answers its first request: a new webhook endpoint gets the events from then on.
    ///
    /// - Parameters:
    ///   - schema: the schema that the ledger was opened with; its backfills become a job.
    ///   - pause: returns after that many milliseconds, or at once when the calling task is cancelled.
    public init(_ server: Server, schema: DatabaseSchema = .ledger, pause: @escaping @Sendable (Int64) async -> Void) {
        self.init(current: { server }, schema: schema, pause: pause)
    }

    /// For a server whose configuration changes without a restart.
    ///
    /// - Parameter current: the server as it is configured now. Each pass asks once, and ends with the same answer.
    public init(
        current: @escaping @Sendable () -> Server, schema: DatabaseSchema = .ledger,
        pause: @escaping @Sendable (Int64) async -> Void
    ) {
        let startedAt = current().clock()
        let deliveries = Job(name: Self.webhooks, interval: Self.webhookInterval) { server in
            _ = try await WebhookDeliveries(server, startedAt: server.changedAt ?? startedAt).deliverAll()
        }
        all = Self.usual + [deliveries] + (schema.hasBackfills ? [BackfillJob.job(of: schema)] : [])
        current().jobHistory.expect(all.compactMap { job in job.interval.map { (job.name, $0) } })
        self.current = current
        self.pause = pause
    }

    private var server: Server { current() }

    /// Runs until the task is cancelled. A pass that fails is repeated after the job's interval.
    public func run() async {
        for job in all where job.interval != nil { server.jobHistory.succeeded(job.name, at: server.machineClock()) }
        await withTaskGroup(of: Void.self) { jobs in
            for job in all { jobs.addTask { await keepUp(job) } }
            jobs.addTask { await watch() }
        }
    }

    /// A job that waits forever writes no line of its own.
    private func watch() async {
        while !Task.isCancelled {
            await pause(60_000)
            let server = current()
            for name in server.jobHistory.frozen(at: server.machineClock()) {
                server.log.write(.jobFrozen, ["job": .text(name)])
            }
        }
    }

    private func keepUp(_ job: Job) async {
        while !Task.isCancelled {
            let start = server.machineClock()
            server.jobHistory.began(job.name, at: start)
            do {
                try await job.walk(server)
                let end = server.machineClock()
                if job.interval != nil { server.jobHistory.succeeded(job.name, at: end) }
                let spent = max(0, end.milliseconds - start.milliseconds)
                server.log.write(.jobRun, ["job": .text(job.name), "ms": .integer(spent)])
            } catch {
                // A pass that the stop interrupts has not failed.
                if !Task.isCancelled {
                    server.jobHistory.failed(job.name)
                    server.log.write(.jobFailed, ["job": .text(job.name), "cause": .cause(error)])
                }
            }
            guard let interval = job.interval else { return }
            await pause(interval)
        }
    }
}

/// When each job last succeeded.
final class JobHistory: Sendable {
    private struct State {
        var intervals = BackgroundJobs.intervals
        var succeeded: [String: Instant] = [:]
        var running: [String: Instant] = [:]
        var failures: [String: Int64] = [:]
    }

    private let state = Locked(State())

    /// The jobs that run, where they are not those of every server.
    func expect(_ jobs: [(name: String, interval: Int64)]) { state.withLock { $0.intervals = jobs } }

    func began(_ name: String, at now: Instant) { state.withLock { $0.running[name] = now } }

    func succeeded(_ name: String, at now: Instant) {
        state.withLock { state in
            state.succeeded[name] = now
            state.running[name] = nil
        }
    }

    func failed(_ name: String) {
        state.withLock { state in
            state.failures[name, default: 0] += 1
            state.running[name] = nil
        }
    }

    /// Jobs that wait for no other system: they are frozen after a minute, the others after half an hour. The alert
    /// `TillJobFrozen` has the same limits.
    static let quick: Set<String> = ["catalog", "notifications", "reminders", "walletCheck", "webhooks"]

    /// The jobs that have not ended well for too long.
    func frozen(at now: Instant) -> [String] {
        let state = state.withLock { $0 }
        return state.intervals.compactMap { name, interval in
            guard let last = state.succeeded[name] else { return nil }
            let limit: Int64 = Self.quick.contains(name) ? 60_000 : 1_800_000
            return now.milliseconds - last.milliseconds > limit + 2 * interval ? name : nil
        }
    }

    /// The ages are NaN before the jobs start.
    func metrics(at now: Instant) -> [Metric] {
        let state = state.withLock { $0 }
        func samples(_ value: (_ name: String, _ interval: Int64) -> Double) -> [Metric.Sample] {
            state.intervals.map {
                Metric.Sample(value($0.name, $0.interval), (name: "background_job", value: $0.name))
            }
        }
        func age(_ since: Instant) -> Double { max(0, Double(now.milliseconds - since.milliseconds) / 1_000) }
        return [
            Metric(.jobSuccessAge, samples { name, _ in state.succeeded[name].map(age) ?? .nan }),
            Metric(.jobInterval, samples { _, interval in Double(interval) / 1_000 }),
            Metric(
                .jobRunning,
                samples { name, _ in state.succeeded[name] == nil ? .nan : state.running[name].map(age) ?? 0 }),
            Metric(.jobFailures, samples { name, _ in Double(state.failures[name] ?? 0) }),
        ]
    }
}
