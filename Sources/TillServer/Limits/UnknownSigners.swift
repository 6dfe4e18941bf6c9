import TillBilling
import TillLedger
import TillThreads

/// How many tokens under certificates that were never seen before are judged. A forger makes certificates as fast as
/// we can look at them, and each costs as much as ten signatures that we know; Apple changes its own every year or two.
/// One good token makes its signer known, and known signers are not counted.
final class UnknownSigners: Sendable {
    /// For one customer or address; all strangers together have four times as many.
    static let pace = Pace(burst: 40, interval: 100)
    static let strangersFactor: Int64 = 4
    /// Sources that are remembered; if so many are busy at once, no further one is judged.
    static let capacity = 4_096

    /// No token that is shorter holds certificates: it is refused at a glance, and not counted.
    static let shortestToken = 512

    private struct State {
        var strangers = Pace.Use()
        var sources: [String: Pace.Use] = [:]
    }

    private let state = Locked(State())

    /// Whether one more token of this caller is judged now. Backends are trusted with their number.
    func mayJudge(_ token: String, for credential: Credential, now: Instant) -> Bool {
        if case .backend = credential { return true }
        guard token.utf8.count >= Self.shortestToken else { return true }
        return state.withLock { Self.take(credential.name, &$0, now) }
    }

    /// The same for a stranger.
    /// - Parameter network: `HTTPRequest.clientNetwork`.
    func mayJudge(_ token: String, forStranger network: String, now: Instant) -> Bool {
        guard token.utf8.count >= Self.shortestToken else { return true }
        return state.withLock { state in
            Self.take("stranger \(network)", &state, now)
                && state.strangers.take(Self.pace.times(Self.strangersFactor), now: now)
        }
    }

    private static func take(_ name: String, _ state: inout State, _ now: Instant) -> Bool {
        if state.sources[name] == nil, state.sources.count >= capacity {
            state.sources = state.sources.filter { !$0.value.isFull(at: now) }
            if state.sources.count >= capacity { return false }
        }
        return state.sources[name, default: Pace.Use()].take(pace, now: now)
    }
}
