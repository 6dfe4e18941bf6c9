import TillBilling
import TillLedger
import TillThreads

/// Limits how many tokens with unknown certificates are verified. A forger makes certificates as fast as the server
/// checks them, and each check costs as much as ten signatures of known signers; Apple's own certificates change every
/// year or two. One valid token makes its signer known, and known signers are not counted.
final class UnknownSigners: Sendable {
    /// The rate for one customer or network; all unauthenticated clients together get four times this rate.
    static let rateLimit = RateLimit(burst: 40, interval: 100)
    static let anonymousFactor: Int64 = 4
    /// Sources that are tracked. If that many are active at the same time, tokens of further sources are not verified.
    static let capacity = 4_096

    /// A shorter token can't contain certificates: it is refused without a check and not counted.
    static let shortestToken = 512

    private struct State {
        var anonymous = RateLimit.Usage()
        var sources: [String: RateLimit.Usage] = [:]
    }

    private let state = Locked(State())

    /// Whether another token of this caller may be verified now. Backends are not limited.
    func mayVerify(_ token: [UInt8], for credential: Credential, now: Instant) -> Bool {
        if case .backend = credential { return true }
        guard token.count >= Self.shortestToken else { return true }
        return state.withLock { Self.take(credential.name, &$0, now) }
    }

    /// The same for an unauthenticated client.
    ///
    /// - Parameter network: `HTTPRequest.clientNetwork`.
    func mayVerify(_ token: [UInt8], forAnonymous network: String, now: Instant) -> Bool {
        guard token.count >= Self.shortestToken else { return true }
        return state.withLock { state in
            Self.take("stranger \(network)", &state, now)
                && state.anonymous.take(Self.rateLimit.times(Self.anonymousFactor), now: now)
        }
    }

    private static func take(_ name: String, _ state: inout State, _ now: Instant) -> Bool {
        if state.sources[name] == nil, state.sources.count >= capacity {
            state.sources = state.sources.filter { !$0.value.isFull(at: now) }
            if state.sources.count >= capacity { return false }
        }
        return state.sources[name, default: RateLimit.Usage()].take(rateLimit, now: now)
    }
}
