import TillAppStore
import TillBilling
import TillSQL

/// Compares the ledger with Apple's books, and settles what differs (U3): once a day, and when the server was away.
///
/// A run is a row of the ledger. It goes on after a crash or an outage where it was, also in another process. What it
/// brings is verified and settled like everything else, so it may bring what is known, and overlap with the last one.
/// Nobody can ask Apple for a list of its customers: one all of whose notifications are older than 180 days, and of
/// whom the ledger has no transaction, is not found.
public struct Reconciliations: Sendable {
    private let ledger: Ledger
    private let api: ServerAPI?

    /// Milliseconds until a run that could not go on is taken up again: the first time, and at most.
    private static let pauses: (first: Int64, longest: Int64) = (30_000, 3_600_000)
    /// Milliseconds after a run that failed until another one is begun.
    private static let pauseAfterFailure: Int64 = 3_600_000
    /// Milliseconds after which it is noted again that somebody is at work.
    private static let presence: Int64 = 60_000

    /// - Parameter api: who is asked, if not whom the server asks otherwise.
    public init(_ ledger: Ledger, asking api: ServerAPI? = nil) {
        self.ledger = ledger
        self.api = api ?? ledger.serverAPI
    }

    /// Begins a run if one is due, and takes the one that is under way as far as Apple lets it. Without a key to ask
    /// Apple by it does nothing.
    ///
    /// - Returns: the run as it stands then; nil if there is none under way.
    /// - Throws: `DatabaseError`, or `CancellationError` if the task was cancelled; the next call goes on.
    @discardableResult
    public func advance() async throws -> ReconciliationTable.Run? {
        guard let api, let run = try await beginIfDue() else { return nil }
        if let wait = run.wait, ledger.clock() < wait.until { return run }
        guard run.environments.isSubset(of: ledger.settings.apple.environments) else {
            let (now, ending) = (
                ledger.clock(), "the accepted environments in the configuration changed after the start of the run"
            )
            try await ledger.database.write(locking: [.ledger("reconciliation")]) { connection in
                try ReconciliationTable(connection).end(run.sequence, .failed, ending: ending, at: now)
            }
            return try await ledger.database.read { try ReconciliationTable($0).find(run.sequence) }
        }
        var walk = ReconciliationWalk(run, ledger: ledger, api: api)
        do {
            try await walk.finish()
        } catch let fault as ServerAPIFault {
            if Task.isCancelled { throw CancellationError() }
            try await stop(run, walk.failures, fault)
        }
        return try await ledger.database.read { try ReconciliationTable($0).find(run.sequence) }
    }

    /// Asks for a run now. If one is under way it is that one.
    ///
    /// - Parameters:
    ///   - caller: as it stands on record: `key:backend`, `operator:anna`, `till`.
    ///   - start: from when on notifications are read, and all histories whole; nil goes on after the last run.
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
            (try PresenceTable(connection).last(), try ReconciliationTable(connection).running())
        }
        if let running { return running }
        let settings = ledger.settings.reconciliation
        guard let interval = settings.interval else { return nil }
        return try await ledger.database.write(locking: [.ledger("reconciliation")]) { [ledger] connection in
            let table = ReconciliationTable(connection)
            if let running = try table.running() { return running }
            let reason = Self.reason(try table.list(before: .max, limit: 1).first, present, interval, settings, now)
            if reason != nil || present.map({ Self.distance($0, now) >= Self.presence }) ?? true {
                try PresenceTable(connection).note(at: now)
            }
            return try reason.map {
                try Self.begin(ledger, reason: $0, caller: "till", since: nil, at: now, connection)
            }
        }
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

    /// A clock that was set back must not put off the next run for years.
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
        _ run: ReconciliationTable.Run, _ failures: Int64, _ fault: ServerAPIFault
    ) async throws {
        let now = ledger.clock()
        let reason = "\(fault.kind): \(fault.sentence.en)"
        guard fault.isRetryable else {
            try await ledger.database.write(locking: [.ledger("reconciliation")]) { connection in
                try ReconciliationTable(connection).end(run.sequence, .failed, ending: reason, at: now)
            }
            return
        }
        let pause = min(Self.pauses.first << min(failures, 10), Self.pauses.longest)
        let wait = ReconciliationTable.Wait(
            until: max(fault.retryAfter ?? now, now.adding(milliseconds: pause)), reason: reason)
        try await ledger.database.write(locking: [.ledger("reconciliation")]) { connection in
            try ReconciliationTable(connection).postpone(run.sequence, wait)
        }
    }
}
