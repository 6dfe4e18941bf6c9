import TillHTTP
import TillLedger
import TillThreads

/// Stopping a server without losing what it accepted.
extension RunningServer {
    enum Ending: Sendable {
        /// The server ends: `/readyz` says so first, and then connections are refused.
        case stop
        /// A successor goes on with the socket: connections wait in it.
        case handOver
        /// The server ends, and there is no balancer to tell.
        case demo
    }

    /// What a drain did.
    struct Drained: Sendable {
        /// Requests that were answered 503 because the time was over.
        let cutRequests: Int
        let milliseconds: Int
    }

    /// Milliseconds for which answers close their connections before a hand-over stops accepting: clients in the middle
    /// of their work come back with new connections, which wait for the successor.
    private static let handOverNotice = 300
    /// A hand-over waits for a moment without requests that are older than this, so that new connections do not wait
    /// for one slow answer.
    private static let slowMilliseconds = 100

    /// Answers what was accepted, lets the jobs end at a safe point, then closes the ledger.
    @discardableResult
    func stop(_ ending: Ending) async -> Drained {
        let (clock, settings) = (ContinuousClock(), configuration.drain)
        let (began, limit) = (clock.now, Duration.seconds(settings.seconds))
        server.log.write(.drainBegins, ["requests": .integer(listener.requestsUnderWay)])
        if ending != .handOver { server.drain.begin() }
        listener.closeConnectionsAfterAnswers()
        let jobs = jobRun.withLock { $0 }
        jobs?.cancel()
        switch ending {
        case .stop: try? await clock.sleep(for: .milliseconds(settings.lameDuckMilliseconds))
        case .handOver:
            try? await clock.sleep(for: .milliseconds(Self.handOverNotice))
            await wait(until: began + limit / 2, clock) { [listener] in
                jobs?.hasEnded != false && listener.requests(olderThan: Self.slowMilliseconds) == 0
            }
        case .demo: break
        }
        // The lame-duck time is not part of the time for requests.
        let deadline = (ending == .stop ? clock.now : began) + limit
        let seconds = max(1, Int((deadline - clock.now).components.seconds))
        let cut = ending == .handOver ? await listener.handOver(grace: seconds) : await listener.stop(grace: seconds)
        await wait(until: deadline, clock) { jobs?.hasEnded != false }
        await sealTheRest()
        apple.stop()
        webhookFetch.stop()
        followed?.stop()
        for thread in workThreads { thread.stop() }
        state.writeUses()
        await ledger.close()
        stateLock?.release()
        let spent = (clock.now - began) / .milliseconds(1)
        if cut > 0 {
            server.log.write(.drainCut, ["requests": .integer(cut), "seconds": .integer(settings.seconds)])
        }
        server.log.write(.drainEnded, ["ms": .integer(Int(spent)), "cut": .integer(cut)])
        return Drained(cutRequests: cut, milliseconds: Int(spent))
    }

    /// What the last requests wrote is sealed before the process ends, so that a row without a seal means a crash, or
    /// somebody else. Where servers share a ledger, only one that has sealed knows which rows it found.
    private func sealTheRest() async {
        let server = server
        guard !server.database.isShared || server.hasSealed else { return }
        await server.sealEverything(looks: 5) { try? await Task.sleep(for: .milliseconds(400)) }
    }

    private func wait(
        until deadline: ContinuousClock.Instant, _ clock: ContinuousClock, _ isOver: @Sendable () -> Bool
    ) async {
        while !isOver(), clock.now < deadline { try? await clock.sleep(for: .milliseconds(5)) }
    }
}

/// The background jobs in a task of their own. A job that is cancelled ends after the write or the request that it is
/// in; what it had not recorded is still due at the next start.
final class JobRun: Sendable {
    private let isOver = Locked(false)
    private let task: Task<Void, Never>

    init(_ run: @escaping @Sendable () async -> Void) {
        let isOver = self.isOver
        task = Task {
            await run()
            isOver.withLock { $0 = true }
        }
    }

    var hasEnded: Bool { isOver.withLock { $0 } }

    func cancel() { task.cancel() }
}
