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

    public let all: [Job]
    private let server: Server
    private let pause: @Sendable (Int64) async -> Void

    /// Create this before the server answers its first request: a new webhook endpoint gets the events from then on.
    ///
    /// - Parameters:
    ///   - schema: the schema that the ledger was opened with; its backfills become a job.
    ///   - pause: returns after that many milliseconds, or at once when the calling task is cancelled.
    public init(_ server: Server, schema: DatabaseSchema = .ledger, pause: @escaping @Sendable (Int64) async -> Void) {
        let webhooks = WebhookDeliveries(server)
        all =
            Self.usual + [Job(name: "webhooks", interval: 1_000) { _ in _ = try await webhooks.deliverAll() }]
            + (schema.hasBackfills ? [BackfillJob.job(of: schema)] : [])
        self.server = server
        self.pause = pause
    }

    /// Runs until the task is cancelled. A pass that fails is repeated after the job's interval.
    public func run() async {
        for job in all where job.interval != nil { server.jobHistory.succeeded(job.name, at: server.clock()) }
        await withTaskGroup(of: Void.self) { jobs in
            for job in all { jobs.addTask { await keepUp(job) } }
        }
    }

    private func keepUp(_ job: Job) async {
        while !Task.isCancelled {
            let start = server.clock()
            do {
                try await job.walk(server)
                let end = server.clock()
                if job.interval != nil { server.jobHistory.succeeded(job.name, at: end) }
                let spent = max(0, end.milliseconds - start.milliseconds)
                server.log.write(.jobRun, ["job": .text(job.name), "ms": .integer(spent)])
            } catch {
                // A pass that the stop interrupts has not failed.
                if !Task.isCancelled {
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
    private let times = Locked<[String: Instant]>([:])

    /// By name; the start of the server for a job that has not succeeded yet.
    var lastSuccesses: [(name: String, at: Instant)] {
        times.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func succeeded(_ name: String, at now: Instant) { times.withLock { $0[name] = now } }
}
