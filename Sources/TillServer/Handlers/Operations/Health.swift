import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillThreads

extension Server {
    /// `GET /readyz`: 503 with the fault if the ledger can't be read and written, otherwise 200, with the reasons if
    /// something else that the server needs is missing. A server that is about to stop answers 503 too, so that
    /// balancers send new requests elsewhere. The address needs no credential, so the check writes to the ledger at
    /// most once a second.
    func readReadiness(_ call: Call) async throws -> HTTPResponse {
        struct Readiness: Encodable {
            let status: String
            let database: String
            let reasons: [String]
            var code: String?
        }
        guard !drain.hasBegun else {
            var response = JSONText.response(
                503,
                Readiness(status: "draining", database: "ok", reasons: [], code: Refusal.unavailable.rawValue))
            response.headers.add("Retry-After", Server.retryAfter)
            return response
        }
        let health = await health(at: machineClock())
        let reasons = health.reasons.map(\.rawValue)
        guard let fault = health.fault else {
            let status = reasons.isEmpty ? "ready" : "degraded"
            return JSONText.response(200, Readiness(status: status, database: "ok", reasons: reasons))
        }
        var response = JSONText.response(
            503,
            Readiness(
                status: "not_ready", database: fault, reasons: reasons, code: Refusal.unavailable.rawValue))
        response.headers.add("Retry-After", Server.retryAfter)
        return response
    }

    /// What the server knows about itself at this moment. It waits at most `ReadinessCheck.patience`.
    func health(at now: Instant) async -> Health {
        let (fault, space) = await readiness.result(at: now, within: monitoring.within) { [self] in
            let space = await monitoring.volume()
            return (await firstFailure(), space)
        }
        var reasons: [Health.Reason] = []
        if monitoring.apple.isKeyRefused { reasons.append(.appleRefusesKey) }
        if monitoring.apple.silence(at: now) >= Health.longSilence { reasons.append(.appleUnreachable) }
        if monitoring.apple.skew > Health.tolerableSkew { reasons.append(.clockSkew) }
        if let space, space.free < Health.littleSpace { reasons.append(.diskLow) }
        return Health(fault: fault, reasons: reasons, volume: space)
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

/// Whether a server can serve, and what is missing.
struct Health: Sendable {
    /// The server answers, but a person should look.
    enum Reason: String, Sendable, CaseIterable {
        /// Apple's last answer to the In-App Purchase key was 401.
        case appleRefusesKey = "apple_refuses_key"
        /// A host of Apple's has not answered for five minutes.
        case appleUnreachable = "apple_unreachable"
        /// This server's clock and Apple's differ by more than a minute; Apple refuses tokens from the future.
        case clockSkew = "clock_skew"
        /// Less than 512 MiB are left for the ledger.
        case diskLow = "disk_low"
    }

    /// Milliseconds.
    static let longSilence: Int64 = 300_000
    /// Seconds.
    static let tolerableSkew = 60.0
    /// Bytes.
    static let littleSpace: Int64 = 512 << 20

    /// Why the ledger can't be written: the kind of the database's error, or `stalled`. Nil if it can.
    let fault: String?
    let reasons: [Reason]
    /// Nil if it is unknown.
    let volume: Monitoring.VolumeSpace?
}

/// Runs one check of the ledger for all callers that ask at the same time. Success is cached for a second; a fault is
/// not cached, so that recovery shows at once. A check that does not end in time counts as stalled, and until it ends
/// no other is started.
final class ReadinessCheck: Sendable {
    typealias Result = (fault: String?, volume: Monitoring.VolumeSpace?)

    /// Milliseconds.
    static let memory: Int64 = 1_000
    /// Milliseconds that a caller waits for the disk.
    static let patience: Int64 = 2_000
    static let stalled: Result = ("stalled", nil)

    private struct State {
        var wellAt: Instant?
        var last: Result = (nil, nil)
        var isChecking = false
        var waiters: [CheckedContinuation<Result, Never>] = []
    }

    private enum Role {
        case checks, waits
        case knows(Result)
    }

    private let state = Locked(State())
    private let work = BoundedWork(limit: 1)

    /// The result of a check at most a second ago, of the check under way, or of a new one.
    func result(
        at now: Instant, within: Monitoring.Deadline, checking check: @escaping @Sendable () async -> Result
    ) async -> Result {
        let part = state.withLock { state -> Role in
            if let wellAt = state.wellAt, (0..<Self.memory).contains(now.milliseconds - wellAt.milliseconds) {
                return .knows(state.last)
            }
            if state.isChecking { return .waits }
            state.isChecking = true
            return .checks
        }
        switch part {
        case .knows(let result): return result
        case .waits: return await waitForAnswer()
        case .checks:
            let result = await work.run(Self.patience, within, check) ?? Self.stalled
            let waiters = state.withLock { state in
                state.isChecking = false
                state.wellAt = result.fault == nil ? now : nil
                state.last = result
                let waiters = state.waiters
                state.waiters = []
                return waiters
            }
            for waiter in waiters { waiter.resume(returning: result) }
            return result
        }
    }

    private func waitForAnswer() async -> Result {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Result? in
                // The check may have ended since.
                guard state.isChecking else { return state.last }
                state.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
