import TillAppStore
import TillBilling
import TillSQL

/// Compares the ledger with Apple's records and processes the differences: once a day, and after the server was down.
///
/// A run is a row of the ledger. It continues after a crash or an outage, also in another process. Its answers are
/// verified and processed like every other proof, so it may repeat known data and overlap with the last run. Apple has
/// no request that lists an app's customers: a customer is not found if all of their notifications are older than 180
/// days and the ledger has none of their transactions.
public struct Reconciliations: Sendable {
    private let ledger: Ledger
    private let api: ServerAPI?

    /// Milliseconds until an interrupted run is resumed: the first pause, and the longest.
    private static let pauses: (first: Int64, longest: Int64) = (30_000, 3_600_000)
    /// Milliseconds after a failed run until another one begins.
    private static let pauseAfterFailure: Int64 = 3_600_000
    /// Milliseconds after which the server's presence is recorded again.
    private static let serverActivity: Int64 = 60_000

    /// - Parameter api: the API to read from; the server's own if nil.
    public init(_ ledger: Ledger, asking api: ServerAPI? = nil) {
        self.ledger = ledger
        self.api = api ?? ledger.serverAPI
    }

    /// Begins a run if one is due, and continues the current one as far as Apple answers. Without an In-App Purchase
    /// Key it does nothing.
    ///
    /// - Returns: the run as it then is; nil if none is under way.
    /// - Throws: `DatabaseError`, or `CancellationError` if the task was cancelled; the next call continues.
    @discardableResult
    public func advance() async throws -> ReconciliationTable.Run? {
        guard let api, let run = try await beginIfDue() else { return nil }
        if let wait = run.wait, ledger.clock() < wait.until { return run }
        guard run.environments.isSubset(of: ledger.settings.apple.environments) else {
            let (now, ending) = (
                ledger.clock(), "the accepted environments in the configuration changed after the start of the run"
            )
            try await fail(run, ending, at: now)
            return try await ledger.database.read { try ReconciliationTable($0).find(run.rowID) }
        }
        var runner = ReconciliationRunner(run, ledger: ledger, api: api)
        do {
            try await runner.finish()
        } catch let error as ServerAPIError {
            if Task.isCancelled { throw CancellationError() }
            try await stop(run, runner.failures, error)
        }
        return try await ledger.database.read { try ReconciliationTable($0).find(run.rowID) }
    }

    /// Requests a run now. If one is under way, returns that one.
    ///
    /// - Parameters:
    ///   - caller: as recorded: `key:backend`, `operator:anna`, `till`.
    ///   - start: reads notifications from this moment on, and all histories from their beginning; nil continues after
    ///     the last run.
    public func request(by caller: String, since start: Instant? = nil) async throws -> ReconciliationTable.Run {
        let now = ledger.clock()
        return try await ledger.database.write(locking: [.ledger("reconciliation")]) { [ledger] connection in
            try ReconciliationTable(connection).running()
                ?? Self.begin(ledger, reason: "asked", caller: caller, since: start, at: now, connection)
        }
    }

    // MARK: Beginning

    private func beginIfDue() async throws -> ReconciliationTable.Run? {
        let now = ledger.clock()
        let (present, running) = try await ledger.database.read { connection in
            (try ServerActivityTable(connection).last(), try ReconciliationTable(connection).running())
        }
        if let running { return running }
        let settings = ledger.settings.reconciliation
        guard let interval = settings.interval else { return nil }
        return try await ledger.database.write(locking: [.ledger("reconciliation")]) { [ledger] connection in
            let table = ReconciliationTable(connection)
            if let running = try table.running() { return running }
            let last = try table.list(before: .max, limit: 1).first
            let reason =
                try Self.isRestored(since: last, connection)
                ? "restored" : Self.reason(last, present, interval, settings, now)
            if reason != nil || present.map({ Self.distance($0, now) >= Self.serverActivity }) ?? true {
                try ServerActivityTable(connection).note(at: now)
            }
            return try reason.map {
                try Self.begin(ledger, reason: $0, caller: "till", since: nil, at: now, connection)
            }
        }
    }

    /// Whether the ledger was restored from a backup, and no run has begun since: what Apple sent since the backup is
    /// missing, however short the gap was.
    private static func isRestored(
        since last: ReconciliationTable.Run?, _ connection: any Connection
    ) throws -> Bool {
        guard let last, let restore = try LedgerRestoreTable(connection).last() else { return false }
        return last.rowID <= restore.lastRun
    }

    private static func reason(
        _ last: ReconciliationTable.Run?, _ present: Instant?, _ interval: Int64, _ settings: ReconciliationSettings,
        _ now: Instant
    ) -> String? {
        guard let last else { return "first" }
        if last.state == .failed, let endedAt = last.endedAt {
            return distance(endedAt, now) >= min(interval, pauseAfterFailure) ? "regular" : nil
        }
        if let present, distance(present, now) >= settings.gap { return "gap" }
        return distance(last.beganAt, now) >= interval ? "regular" : nil
    }

    /// The absolute distance, so that a clock that was set back does not delay the next run for years.
    private static func distance(_ one: Instant, _ other: Instant) -> Int64 {
        let (difference, overflows) = other.milliseconds.subtractingReportingOverflow(one.milliseconds)
        return overflows ? .max : abs(difference)
    }

    private static func begin(
        _ ledger: Ledger, reason: String, caller: String, since start: Instant?, at now: Instant,
        _ connection: any Connection
    ) throws -> ReconciliationTable.Run {
        let environments = ledger.settings.apple.environments
        return try ReconciliationTable(connection).insert(
            environments, from: environments.contains(.production) ? .production : .sandbox, reason: reason,
            caller: caller, since: start, at: now)
    }

    // MARK: Stopping

    private func stop(
        _ run: ReconciliationTable.Run, _ failures: Int64, _ error: ServerAPIError
    ) async throws {
        let now = ledger.clock()
        let reason = "\(error.kind): \(error.sentence.en)"
        guard error.isRetryable else {
            return try await fail(run, reason, at: now)
        }
        let pause = min(Self.pauses.first << min(failures, 10), Self.pauses.longest)
        let wait = ReconciliationTable.Wait(
            until: max(error.retryAfter ?? now, now.adding(milliseconds: pause)), reason: reason)
        try await ledger.database.write(locking: [.ledger("reconciliation")]) { connection in
            try ReconciliationTable(connection).postpone(run.rowID, wait)
        }
        var fields = run.logFields(at: now)
        fields.append("code", .text(error.kind))
        fields.append("cause", .text(reason))
        fields.append("nextAt", .text(wait.until.rfc3339))
        ledger.log.write(.reconciliationPostponed, fields)
    }

    private func fail(_ run: ReconciliationTable.Run, _ ending: String, at now: Instant) async throws {
        try await ledger.database.write(locking: [.ledger("reconciliation")]) { connection in
            try ReconciliationTable(connection).end(run.rowID, .failed, ending: ending, at: now)
        }
        var fields = run.logFields(at: now)
        fields.append("cause", .text(ending))
        ledger.log.write(.reconciliationFailed, fields)
    }
}

extension ReconciliationTable.Run {
    /// The run in a log line.
    func logFields(at now: Instant) -> Log.Fields {
        [
            "run": .integer(rowID), "reason": .text(reason),
            "seconds": .integer(max(0, now.milliseconds - beganAt.milliseconds) / 1_000),
        ]
    }
}
