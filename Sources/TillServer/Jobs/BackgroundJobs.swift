/// Everything that a server does beside answering requests. Each job is a walk over what is due, which a crash at any
/// moment leaves to the next walk.
public struct BackgroundJobs: Sendable {
    /// One of them.
    public struct Job: Sendable {
        public let name: String
        /// Milliseconds between the end of one walk and the next; nil: once at the start.
        public let interval: Int64?
        let walk: @Sendable (Server) async throws -> Void
    }

    private static let usual: [Job] = [
        Job(name: "catalog", interval: 60_000) { try await $0.recordCatalog() },
        Job(name: "terms", interval: nil) { _ = try await UnreadTerms($0).readAll() },
        Job(name: "notifications", interval: 60_000) { _ = try await PendingNotifications($0).settleAll() },
        Job(name: "receipts", interval: 5_000) { _ = try await WaitingReceipts($0).askAll() },
        Job(name: "receiptConfirmations", interval: 60_000) { _ = try await ReceiptConfirmations($0).askAll() },
        Job(name: "savedProofs", interval: 1_000) { _ = try await SavedProofs($0).settleAll() },
        Job(name: "errands", interval: 15_000) { _ = try await AppleErrands($0).runAll() },
        Job(name: "claims", interval: 15_000) { _ = try await WaitingClaims($0).askAll() },
        Job(name: "consumption", interval: 30_000) { _ = try await ConsumptionAnswers($0).answerAll() },
        Job(name: "reconciliation", interval: 5_000) { _ = try await Reconciliations($0).advance() },
        Job(name: "dryRuns", interval: 2_000) { try await DryRuns($0).runAll() },
        Job(name: "reminders", interval: 30_000) { _ = try await DueReminders($0).tellAll() },
    ]

    public let all: [Job]
    private let server: Server
    private let pause: @Sendable (Int64) async -> Void

    /// To be made before the first request is answered: a webhook endpoint that is new gets what happens from then on.
    ///
    /// - Parameter pause: comes back after that many milliseconds, or at once when the calling task is cancelled.
    public init(_ server: Server, pause: @escaping @Sendable (Int64) async -> Void) {
        let webhooks = WebhookDeliveries(server)
        all = Self.usual + [Job(name: "webhooks", interval: 1_000) { _ in _ = try await webhooks.deliverAll() }]
        self.server = server
        self.pause = pause
    }

    /// Until the task is cancelled. A walk that fails is taken up again with the next.
    public func run() async {
        await withTaskGroup(of: Void.self) { jobs in
            for job in all { jobs.addTask { await keepUp(job) } }
        }
    }

    private func keepUp(_ job: Job) async {
        while !Task.isCancelled {
            try? await job.walk(server)
            guard let interval = job.interval else { return }
            await pause(interval)
        }
    }
}
