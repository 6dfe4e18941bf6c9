import TillBilling
import TillCrypto
import TillDashboard
import TillThreads

/// The sessions of logged-in operators. In memory only: a restart ends all sessions, and the disk stores none.
final class OperatorSessions: Sendable {
    static let lifetimeSeconds: Int64 = 12 * 3_600
    static let capacity = 1_000

    private struct Entry {
        let session: DashboardSession
        /// The token that opened it.
        let key: SecretKey
        let expires: Instant
    }

    /// Keyed by the hash of the cookie's value, so that the time of a lookup reveals nothing about the value.
    private let sessions = Locked<[[UInt8]: Entry]>([:])

    /// - Returns: the value of the cookie.
    func begin(for key: SecretKey, now: Instant, entropy: Server.Entropy) -> String {
        let cookie = Base64.encode(entropy(32), .url)
        let entry = Entry(
            session: DashboardSession(operatorID: key.id, formToken: Base64.encode(entropy(32), .url)), key: key,
            expires: now.adding(seconds: Self.lifetimeSeconds))
        sessions.withLock { sessions in
            sessions = sessions.filter { $0.value.expires > now }
            if sessions.count >= Self.capacity, let oldest = sessions.min(by: { $0.value.expires < $1.value.expires }) {
                sessions[oldest.key] = nil
            }
            sessions[Digest.sha256.hash(cookie.utf8)] = entry
        }
        return cookie
    }

    /// - Parameter isAccepted: whether the token that opened the session is still accepted. If not, the session ends.
    func find(
        _ cookie: String, now: Instant, whose isAccepted: (SecretKey) -> Bool
    ) -> DashboardSession? {
        let key = Digest.sha256.hash(cookie.utf8)
        return sessions.withLock { sessions in
            guard let entry = sessions[key] else { return nil }
            guard entry.expires > now, isAccepted(entry.key) else {
                sessions[key] = nil
                return nil
            }
            return entry.session
        }
    }

    /// Ends every session whose token is no longer accepted.
    func endAll(except isAccepted: (SecretKey) -> Bool) {
        sessions.withLock { sessions in sessions = sessions.filter { isAccepted($0.value.key) } }
    }

    func end(_ cookie: String) {
        let key = Digest.sha256.hash(cookie.utf8)
        sessions.withLock { $0[key] = nil }
    }
}

/// Counts wrong tokens per client: after ten within a minute, the next wrong one gets `too_many_requests`. The right
/// token passes regardless, so no other client can lock an operator out.
final class LoginAttempts: Sendable {
    static let limit = 10
    static let windowSeconds: Int64 = 60
    /// Clients that are counted. If that many fail within one minute, a new client gets `too_many_requests` at once.
    static let capacity = 4_096

    private struct Window {
        let start: Instant
        var failures: Int
    }

    private let windows = Locked<[String: Window]>([:])

    /// Counts a wrong token.
    ///
    /// - Returns: the seconds until the client may try again, if it exceeds the limit.
    func wait(of client: String, now: Instant) -> Int64? {
        windows.withLock { windows in
            if let window = windows[client], window.start.adding(seconds: Self.windowSeconds) <= now {
                windows[client] = nil
            }
            guard windows[client] != nil || windows.count < Self.capacity || Self.forget(&windows, now) else {
                return Self.wait(since: windows.values.map(\.start).min() ?? now, now)
            }
            let failures = windows[client, default: Window(start: now, failures: 0)].failures
            // Not counted further: the client waits until the minute of its first failure is over.
            guard failures < Self.limit else { return Self.wait(since: windows[client]?.start ?? now, now) }
            windows[client, default: Window(start: now, failures: 0)].failures = failures + 1
            return nil
        }
    }

    /// The seconds that a window has left, rounded up.
    private static func wait(since start: Instant, _ now: Instant) -> Int64 {
        let left = start.adding(seconds: windowSeconds).milliseconds - now.milliseconds
        return min(max(1, (left + 999) / 1_000), windowSeconds)
    }

    /// Removes windows that have ended; returns whether that made room.
    private static func forget(_ windows: inout [String: Window], _ now: Instant) -> Bool {
        windows = windows.filter { $0.value.start.adding(seconds: windowSeconds) > now }
        return windows.count < capacity
    }
}
