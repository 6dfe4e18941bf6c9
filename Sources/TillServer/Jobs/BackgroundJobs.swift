import TillBilling
import TillLedger
import TillSQL

/// Everything that a server does besides answering requests. Each job processes whatever is due; work that a crash
/// interrupts is still due at the next pass.
public struct BackgroundJobs: Sendable {
    /// One background job.
    public struct Job: Sendable {
        public let name: String
        /// Milliseconds between the end of one pass and the next; nil runs the job once at the start.
        public let interval: Int64?
        /// Whether every server runs it, also where another one does the ledger's work: it concerns this server's own
        /// memory or configuration.
        var isOfEachServer = false
        let walk: @Sendable (Server) async throws -> Void
    }

    private static let usual: [Job] =
        [
            Job(name: "catalog", interval: 60_000, isOfEachServer: true) { try await $0.ledger.recordCatalog() },
            Job(name: "notifications", interval: 60_000) { _ = try await PendingNotifications($0.ledger).processAll() },
            Job(name: "savedProofs", interval: 1_000) { _ = try await SavedProofs($0.ledger).processAll() },
            Job(name: "claims", interval: 15_000) { _ = try await WaitingClaims($0).askAll() },
            Job(name: "consumption", interval: 30_000) { _ = try await ConsumptionAnswers($0.ledger).answerAll() },
            Job(name: "reconciliation", interval: 5_000) { _ = try await Reconciliations($0.ledger).advance() },
            Job(name: "dryRuns", interval: 2_000, isOfEachServer: true) { try await DryRuns($0.ledger).runAll() },
            Job(name: "reminders", interval: 30_000) { _ = try await DueReminders($0.ledger).recordAll() },
            Job(name: "seals", interval: SealJob.interval) { try await $0.sealing.advance($0) },
            Job(name: "erasures", interval: 600_000) { try await $0.ledger.finishErasures() },
            Job(name: "pruning", interval: 600_000) { try await $0.prune() },
            Job(name: "walletCheck", interval: 30_000) {
                try await $0.walletCheck.advance($0.database, clock: $0.clock)
            },
            Job(name: "proofCompression", interval: 10_000) { try await $0.proofCompression.advance($0) },
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
    private let rest: @Sendable (_ job: String, _ milliseconds: Int64) async -> Void

    /// Create this before the server answers its first request: a new webhook endpoint gets the events from then on.
    ///
    /// - Parameters:
    ///   - schema: the schema that the ledger was opened with; its backfills become a job.
    ///   - pause: returns after that many milliseconds, or at once when the calling task is cancelled.
    ///   - rest: the pause of a job between two passes; nil: `pause`.
    public init(
        _ server: Server, schema: DatabaseSchema = .ledger, pause: @escaping @Sendable (Int64) async -> Void,
        rest: (@Sendable (_ job: String, _ milliseconds: Int64) async -> Void)? = nil
    ) {
        self.init(current: { server }, schema: schema, pause: pause, rest: rest)
    }

    /// For a server whose configuration changes without a restart.
    ///
    /// - Parameter current: the server as it is configured now. Each pass asks once, and ends with the same answer.
    public init(
        current: @escaping @Sendable () -> Server, schema: DatabaseSchema = .ledger,
        pause: @escaping @Sendable (Int64) async -> Void,
        rest: (@Sendable (_ job: String, _ milliseconds: Int64) async -> Void)? = nil
    ) {
        let startedAt = current().clock()
        let deliveries = Job(name: Self.webhooks, interval: Self.webhookInterval) { server in
            _ = try await WebhookDeliveries(server, startedAt: server.changedAt ?? startedAt).deliverAll()
        }
        all = Self.usual + [deliveries] + (schema.hasBackfills ? [BackfillJob.job(of: schema)] : [])
        current().jobHistory.expect(all.compactMap { job in job.interval.map { (job.name, $0) } })
        self.current = current
        self.pause = pause
        self.rest = rest ?? { await pause($1) }
    }

    private var server: Server { current() }

    /// Runs until the task is cancelled. A pass that fails is repeated after the job's interval. Where several servers
    /// share the ledger, the one that holds the lease runs the jobs of the ledger (docs/decisions/0073).
    public func run() async {
        let server = server
        guard server.database.isShared else { return await run(all) { self.server } }
        let ofLedger = all.filter { !$0.isOfEachServer }
        server.jobHistory.rest(ofLedger.map(\.name))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await run(all.filter(\.isOfEachServer)) { self.server } }
            group.addTask { await whileLeased { lease in await run(ofLedger) { self.server.under(lease) } } }
        }
    }

    /// Runs jobs until the task is cancelled, each pass with the server as it is then.
    private func run(_ jobs: [Job], _ current: @escaping @Sendable () -> Server) async {
        let server = server
        for job in jobs where job.interval != nil { server.jobHistory.succeeded(job.name, at: server.machineClock()) }
        await withTaskGroup(of: Void.self) { group in
            for job in jobs { group.addTask { await keepUp(job, current) } }
            group.addTask { await watch(jobs.map(\.name)) }
        }
    }

    /// A job that waits forever writes no line of its own.
    private func watch(_ names: [String]) async {
        while !Task.isCancelled {
            await pause(60_000)
            let server = server
            for name in server.jobHistory.frozen(at: server.machineClock()) where names.contains(name) {
                server.log.write(.jobFrozen, ["job": .text(name)])
            }
        }
    }

    private func keepUp(_ job: Job, _ current: @Sendable () -> Server) async {
        while !Task.isCancelled {
            let server = current()
            let start = server.machineClock()
            server.jobHistory.began(job.name, at: start)
            do {
                try await job.walk(server)
                let end = server.machineClock()
                if job.interval != nil { server.jobHistory.succeeded(job.name, at: end) }
                let spent = max(0, end.milliseconds - start.milliseconds)
                server.log.write(.jobRun, ["job": .text(job.name), "ms": .integer(spent)])
            } catch {
                // A pass that the stop interrupts has not failed, nor one that another server goes on with.
                if !Task.isCancelled, !(error is LeaseLostError) {
                    server.jobHistory.failed(job.name)
                    server.log.write(.jobFailed, ["job": .text(job.name), "cause": .cause(error)])
                }
            }
            guard let interval = job.interval else { return }
            await rest(job.name, interval)
        }
    }

    // MARK: The lease

    /// Takes the lease whenever it is free, runs `work` while it is held, and gives it up at the end.
    private func whileLeased(_ work: @escaping @Sendable (Lease) async -> Void) async {
        let holding = server.jobLease
        while !Task.isCancelled {
            let server = server
            guard let lease = await holding.take(for: server) else {
                await pause(JobLease.interval)
                continue
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await work(lease) }
                while !Task.isCancelled, holding.isHeld(at: server.machineClock()) {
                    await pause(JobLease.interval)
                    if !Task.isCancelled { await holding.renew(for: self.server) }
                }
                group.cancelAll()
            }
            server.jobHistory.rest(all.filter { !$0.isOfEachServer }.map(\.name))
            await holding.end(for: server)
        }
    }
}
