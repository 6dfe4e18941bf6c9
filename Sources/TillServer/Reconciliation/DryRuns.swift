import TillAppStore
import TillBilling
import TillCrypto

/// Comparisons that change nothing, and so have no row in the ledger: they live in memory, and a restart forgets them.
final class DryRunDesk: Sendable {
    static let capacity = 8

    struct DryRun: Sendable {
        let id: UniqueID
        let caller: String
        let since: Instant?
        let beganAt: Instant
        var comparison = BookComparison()
        var endedAt: Instant?
        /// Why it failed.
        var failure: String?
    }

    private let runs = Locked<[DryRun]>([])

    /// - Throws: `too_many_requests` while as many wait already.
    func open(_ run: DryRun) throws {
        try runs.withLock { runs in
            if runs.count >= Self.capacity {
                guard let over = runs.firstIndex(where: { $0.endedAt != nil }) else { throw Refused(.tooManyRequests) }
                runs.remove(at: over)
            }
            runs.append(run)
        }
    }

    func find(_ id: UniqueID) -> DryRun? { runs.withLock { $0.first { $0.id == id } } }

    fileprivate func next() -> DryRun? { runs.withLock { $0.first { $0.endedAt == nil } } }

    fileprivate func update(_ id: UniqueID, _ change: (inout DryRun) -> Void) {
        runs.withLock { runs in
            guard let place = runs.firstIndex(where: { $0.id == id }) else { return }
            change(&runs[place])
        }
    }
}

/// Carries out the dry runs that were asked for.
public struct DryRuns: Sendable {
    private let server: Server

    public init(_ server: Server) { self.server = server }

    /// One after the other, until none is left.
    public func runAll() async throws {
        while let run = server.dryRuns.next() {
            let desk = server.dryRuns
            var failure: String?
            do {
                let comparison = try await server.compareWithApple(
                    since: run.since,
                    onProgress: { progress in desk.update(run.id) { $0.comparison = progress } })
                desk.update(run.id) { $0.comparison = comparison }
            } catch let fault as ServerAPIFault {
                if Task.isCancelled { throw CancellationError() }
                failure = "\(fault.kind): \(fault.sentence.en)"
            } catch {
                failure = "the ledger can't be read: \(error)"
            }
            let (ending, now) = (failure, server.clock())
            desk.update(run.id) { run in
                run.failure = ending
                run.endedAt = now
            }
        }
    }
}
