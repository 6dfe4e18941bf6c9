import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillThreads

extension Server {
    /// `GET /healthz`: 200 while the process answers.
    func readHealth(_ call: Call) async throws -> HTTPResponse {
        JSONText.response(200, ["status": "ok"])
    }

    /// `GET /readyz`: 200 if the ledger can be read and written, otherwise 503 with the fault. A server that is about
    /// to stop answers 503 too, so that balancers send new requests elsewhere. The address needs no credential, so the
    /// check writes to the ledger at most once a second.
    func readReadiness(_ call: Call) async throws -> HTTPResponse {
        struct Readiness: Encodable {
            let status: String
            let database: String
        }
        guard !drain.hasBegun else {
            var response = JSONText.response(503, Readiness(status: "draining", database: "ok"))
            response.headers.add("Retry-After", Server.retryAfter)
            return response
        }
        guard let error = await readiness.fault(at: clock(), checking: { await firstFailure() }) else {
            return JSONText.response(200, Readiness(status: "ready", database: "ok"))
        }
        var response = JSONText.response(503, Readiness(status: "not_ready", database: error))
        response.headers.add("Retry-After", Server.retryAfter)
        return response
    }

    /// The fault of the ledger; nil if it can be read and written.
    private func firstFailure() async -> String? {
        do {
            let now = clock()
            try await database.write(locking: [.ledger("heartbeat")]) { try HeartbeatTable($0).beat(at: now) }
            _ = try await database.read { try OrderTable($0).find(rowID: 1) }
            return nil
        } catch {
            _ = serverError(error)
            return (error as? DatabaseError)?.kind.rawValue ?? "unknown"
        }
    }
}

/// Whether a server is about to stop: it still answers, and says so to balancers.
public final class DrainState: Sendable {
    private let flag = Locked(false)

    public var hasBegun: Bool { flag.withLock { $0 } }

    public func begin() { flag.withLock { $0 = true } }
}

/// Runs one check of the ledger for all callers that ask at the same time. Success is cached for a second; a fault is
/// not cached, so that recovery shows at once.
final class ReadinessCheck: Sendable {
    /// Milliseconds.
    static let memory: Int64 = 1_000

    private struct State {
        var wellAt: Instant?
        var lastFault: String?
        var isChecking = false
        var waiters: [CheckedContinuation<String?, Never>] = []
    }

    private enum Role {
        case checks, waits
        case knows
    }

    private let state = Locked(State())

    /// The fault; nil if the ledger is ready.
    func fault(at now: Instant, checking check: () async -> String?) async -> String? {
        let part = state.withLock { state -> Role in
            if let wellAt = state.wellAt, (0..<Self.memory).contains(now.milliseconds - wellAt.milliseconds) {
                return .knows
            }
            if state.isChecking { return .waits }
            state.isChecking = true
            return .checks
        }
        switch part {
        case .knows: return nil
        case .waits: return await waitForAnswer()
        case .checks:
            let error = await check()
            let waiters = state.withLock { state in
                state.isChecking = false
                state.wellAt = error == nil ? now : nil
                state.lastFault = error
                let waiters = state.waiters
                state.waiters = []
                return waiters
            }
            for waiter in waiters { waiter.resume(returning: error) }
            return error
        }
    }

    private func waitForAnswer() async -> String? {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> String?? in
                // The check may have ended since.
                guard state.isChecking else { return .some(state.lastFault) }
                state.waiters.append(continuation)
                return .none
            }
            if case .some(let error) = answer { continuation.resume(returning: error) }
        }
    }
}
