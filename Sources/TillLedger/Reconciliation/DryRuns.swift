import TillAppStore
import TillBilling
import TillThreads

/// Comparisons that change nothing and so have no row in the ledger: they are kept in memory and lost in a restart.
package final class DryRunQueue: Sendable {
    static let capacity = 8

    package struct DryRun: Sendable {
        package let id: UniqueID
        package let caller: String
        package let since: Instant?
        package let beganAt: Instant
        package var comparison = LedgerComparison()
        package var endedAt: Instant?
        /// Why it failed.
        package var failure: String?

        package init(id: UniqueID, caller: String, since: Instant?, beganAt: Instant) {
            self.id = id
            self.caller = caller
            self.since = since
            self.beganAt = beganAt
        }
    }

    private let runs = Locked<[DryRun]>([])

    /// - Throws: `too_many_requests` while `capacity` runs are waiting.
    package func open(_ run: DryRun) throws {
        try runs.withLock { runs in
            if runs.count >= Self.capacity {
                guard let over = runs.firstIndex(where: { $0.endedAt != nil }) else {
                    throw RefusalError(.tooManyRequests)
                }
                runs.remove(at: over)
            }
            runs.append(run)
        }
    }

    package func find(_ id: UniqueID) -> DryRun? { runs.withLock { $0.first { $0.id == id } } }

    fileprivate func next() -> DryRun? { runs.withLock { $0.first { $0.endedAt == nil } } }

    fileprivate func update(_ id: UniqueID, _ change: (inout DryRun) -> Void) {
        runs.withLock { runs in
            guard let progress = runs.firstIndex(where: { $0.id == id }) else { return }
            change(&runs[progress])
        }
    }
}

/// Runs the requested dry runs.
public struct DryRuns: Sendable {
    private let ledger: Ledger

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Runs them one after another, until none is left.
    public func runAll() async throws {
        while let run = ledger.dryRuns.next() {
            let queue = ledger.dryRuns
            var failure: String?
            do {
                let comparison = try await ledger.compareWithApple(
                    since: run.since,
                    onProgress: { progress in queue.update(run.id) { $0.comparison = progress } })
                queue.update(run.id) { $0.comparison = comparison }
            } catch let fault as ServerAPIError {
                if Task.isCancelled { throw CancellationError() }
                failure = "\(fault.kind): \(fault.sentence.en)"
            } catch {
                failure = "the ledger cannot be read: \(error)"
            }
            let (ending, now) = (failure, ledger.clock())
            if let ending {
                ledger.log.write(.reconciliationFailed, ["reason": "dry_run", "cause": .text(ending)])
            }
            queue.update(run.id) { run in
                run.failure = ending
                run.endedAt = now
            }
        }
    }
}
