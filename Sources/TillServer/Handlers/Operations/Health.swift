import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillThreads

extension Server {
    /// `GET /healthz`: the process answers.
    func readHealth(_ call: Call) async throws -> HTTPResponse {
        JSONText.response(200, ["status": "ok"])
    }

    /// `GET /readyz`: the ledger can be read and written, or 503 with what can't. Anybody may ask, so the ledger is
    /// written once a second at most.
    func readReadiness(_ call: Call) async throws -> HTTPResponse {
        struct Readiness: Encodable {
            let status: String
            let database: String
        }
        guard let fault = await readiness.fault(at: clock(), checking: { await findFault() }) else {
            return JSONText.response(200, Readiness(status: "ready", database: "ok"))
        }
        var response = JSONText.response(503, Readiness(status: "not_ready", database: fault))
        response.headers.add("Retry-After", Server.retryAfter)
        return response
    }

    /// What is wrong with the ledger; nil if nothing is.
    private func findFault() async -> String? {
        do {
            let now = clock()
            try await database.write(locking: [.ledger("heartbeat")]) { try HeartbeatTable($0).beat(at: now) }
            _ = try await database.read { try OrderTable($0).find(sequence: 1) }
            return nil
        } catch {
            return (error as? DatabaseError)?.kind.rawValue ?? "unknown"
        }
    }
}

/// Whether the ledger can be read and written, asked once for all who want to know at the same time. That it can is
/// remembered for a second; that it can't is not, so that its recovery is seen at once.
final class ReadinessDesk: Sendable {
    /// Milliseconds.
    static let memory: Int64 = 1_000

    private struct State {
        var wellAt: Instant?
        var lastFault: String?
        var isChecking = false
        var waiters: [CheckedContinuation<String?, Never>] = []
    }

    private enum Part {
        case checks, waits
        case knows
    }

    private let state = Locked(State())

    /// What is wrong; nil if nothing is.
    func fault(at now: Instant, checking check: () async -> String?) async -> String? {
        let part = state.withLock { state -> Part in
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
            let fault = await check()
            let waiters = state.withLock { state in
                state.isChecking = false
                state.wellAt = fault == nil ? now : nil
                state.lastFault = fault
                let waiters = state.waiters
                state.waiters = []
                return waiters
            }
            for waiter in waiters { waiter.resume(returning: fault) }
            return fault
        }
    }

    private func waitForAnswer() async -> String? {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> String?? in
                // It may have come since.
                guard state.isChecking else { return .some(state.lastFault) }
                state.waiters.append(continuation)
                return .none
            }
            if case .some(let fault) = answer { continuation.resume(returning: fault) }
        }
    }
}
