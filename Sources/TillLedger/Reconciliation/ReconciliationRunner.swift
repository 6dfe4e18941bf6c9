import TillAppStore
import TillBilling
import TillSQL

/// One run through its phases. A step is a request to Apple, or a batch of rows, and one commit with its result and the
/// next place. So a run that is interrupted between two steps repeats only its last request.
struct ReconciliationRunner {
    typealias Progress = ReconciliationTable.Progress

    let ledger: Ledger
    let api: ServerAPI
    let run: ReconciliationTable.Run
    var progress: Progress
    /// How many times in a row this step has failed.
    var failures: Int64

    var settings: ReconciliationSettings { ledger.settings.reconciliation }
    var environment: StoreEnvironment { progress.environment }

    /// - Parameter api: used at bulk priority, so that buyers' requests go first.
    init(_ run: ReconciliationTable.Run, ledger: Ledger, api: ServerAPI) {
        self.run = run
        self.ledger = ledger
        self.api = api.calling(as: .bulk("reconciliation"))
        progress = run.progress
        failures = run.attempts
    }

    /// Runs all remaining phases.
    mutating func finish() async throws {
        repeat {
            switch progress.phase {
            case .notifications: try await readNotifications()
            case .candidates: try await markCandidates()
            case .customers: try await readCustomers(.history, atMost: settings.customersPerRun)
            case .refunds: try await readCustomers(.refunds, atMost: settings.refundsPerRun)
            case .quarantine: try await readQuarantine()
            case .orders: try await readOrders()
            }
        } while try await enterNext()
    }

    /// Ends the phase. Returns whether another one follows.
    private mutating func enterNext() async throws -> Bool {
        if let phase = ReconciliationTable.Phase(rawValue: progress.phase.rawValue + 1) {
            try await commit(Progress(phase, in: environment))
            return true
        }
        // Production comes first.
        if environment == .production, run.environments.contains(.sandbox) {
            try await commit(Progress(.notifications, in: .sandbox))
            return true
        }
        let (run, now) = (run.rowID, ledger.clock())
        try await ledger.database.write(locking: [.ledger("reconciliation")]) { connection in
            try ReconciliationTable(connection).end(run, .finished, ending: "reconciled", at: now)
        }
        ledger.log.write(.reconciliationFinished, self.run.logFields(at: now))
        return false
    }

    // MARK: Commits

    /// Counts of one step, by name.
    typealias Counts = [(name: String, count: Int)]

    /// Records the result of a step and the next place.
    ///
    /// - Parameter body: returns the differences that it found.
    mutating func commit(
        _ next: Progress, counting counts: Counts = [],
        _ body: @escaping @Sendable (any Connection) throws -> [Difference] = { _ in [] }
    ) async throws {
        let (run, environment, now) = (run.rowID, environment, ledger.clock())
        try await ledger.database.write(locking: [.ledger("reconciliation")]) { connection in
            let table = ReconciliationTable(connection)
            for count in counts { try table.add(Int64(count.count), to: count.name, of: run, in: environment) }
            for difference in try body(connection) { try Self.record(difference, run, now, connection) }
            try table.move(run, to: next, at: now)
            try ServerActivityTable(connection).note(at: now)
        }
        progress = next
        failures = 0
    }

    /// - Parameters:
    ///   - before: runs in the same commit before the copies are processed; returns the differences that it found.
    ///   - after: runs in the same commit after the copies are processed.
    mutating func process(
        _ answers: VerifiedResponses, next: Progress, counting counts: Counts,
        before: @escaping @Sendable (any Connection) throws -> [Difference] = { _ in [] },
        after: @escaping @Sendable (any Connection) throws -> Void = { _ in }
    ) async throws {
        let processor = ledger.intake.processor
        let inputs = processor.inputs()
        let (copies, refused) = (answers.copies, answers.refused)
        let counts = counts + [("transactions", copies.count), ("undecided", answers.undecided)]
        do {
            try await commit(next, counting: counts) { connection in
                let early = try before(connection)
                let found = try DifferenceRecorder(connection, processor, inputs.begin()).record(copies)
                try after(connection)
                return refused + early + found
            }
            inputs.finish()
        } catch let error as DatabaseError where error.isOfItsBody {
            try await commit(progress, counting: [], before)
            try await processOneByOne(copies)
            try await commit(next, counting: counts) { connection in
                try after(connection)
                return refused
            }
        }
    }

    /// The ledger cannot record one of the copies, so each gets its own commit.
    private mutating func processOneByOne(_ copies: [VerifiedCopy]) async throws {
        let (processor, progress) = (ledger.intake.processor, progress)
        for copy in copies {
            let inputs = processor.inputs()
            do {
                try await commit(progress) { connection in
                    try DifferenceRecorder(connection, processor, inputs.begin()).record([copy])
                }
                inputs.finish()
            } catch let error as DatabaseError where error.isOfItsBody {
                let transaction = copy.transaction
                ledger.log.write(
                    .workFailed,
                    [
                        "work": "reconciled_transaction", "transactionId": .text(transaction.id.text),
                        "cause": .cause(error),
                    ])
                try await commit(progress) { connection in
                    let isKnown = try DifferenceTable(connection).has(
                        .notProcessed, of: transaction.id, in: transaction.environment)
                    return isKnown
                        ? []
                        : [
                            Difference(
                                .notProcessed, in: transaction.environment, transaction: transaction.id,
                                was: error.kind.rawValue)
                        ]
                }
            }
        }
    }

    private static func record(
        _ difference: Difference, _ run: Int64, _ now: Instant, _ connection: any Connection
    ) throws {
        try DifferenceTable(connection).insert(difference, run: run, at: now)
        guard difference.isLateGrant(at: now) else { return }
        try ReconciliationTable(connection).add(1, to: Difference.lateGrants, of: run, in: difference.environment)
    }
}

extension Difference {
    /// The name of the count of purchases that only a reconciliation granted, and late.
    package static let lateGrants = "late_grants"

    /// Whether a purchase that was paid long ago is granted only now.
    func isLateGrant(at now: Instant) -> Bool {
        guard kind == .purchaseMissed || kind == .quarantineResolved, let purchasedAt else { return false }
        return purchasedAt.adding(milliseconds: ReconciliationSettings.lostAfter) <= now
    }
}

extension DatabaseError {
    /// Whether another body could succeed: the cause is not the disk.
    var isOfItsBody: Bool { kind == .constraint || kind == .other }
}
