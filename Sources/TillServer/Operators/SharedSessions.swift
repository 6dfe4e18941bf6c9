import TillBilling
import TillCrypto
import TillDashboard
import TillHTTP
import TillLedger
import TillThreads

/// Sessions that every server of a shared ledger accepts: the cookie says whose it is and until when, under a code that
/// needs the ledger's secret and the hash of the operator's token. So neither a copy of the ledger nor the
/// configuration alone is enough to make one, and a retired token ends its sessions.
///
/// A logout leaves a mark in the ledger until the session would have ended.
final class SharedSessions: Sendable {
    /// In place of a server's id in the rows of ended sessions.
    static let endedMark = "ended session"
    private static let purpose = Array("till operator session 1\0".utf8)
    private static let formPurpose = Array("till login form 1\0".utf8)
    private static let nonceBytes = 16
    private static let capacity = 1_000

    private struct State {
        var secret: [UInt8]?
        /// Marks of ended sessions that this server has seen.
        var ended: Set<String> = []
        /// When this server stopped accepting a token, by the token's hash: one that comes back begins anew.
        var refusedAt: [[UInt8]: Instant] = [:]
    }

    private let state = Locked(State())

    /// Whether the ledger's secret is known.
    var isReady: Bool { state.withLock { $0.secret != nil } }

    func prepare(_ secret: [UInt8]) { state.withLock { $0.secret = secret } }

    /// Binds login forms to browsers, on all servers alike; nil before the secret is known.
    var formKey: [UInt8]? {
        state.withLock(\.secret).map { Array(HMACSHA256.code(for: Self.formPurpose, key: $0)) }
    }

    // MARK: Cookies

    /// What a cookie contains: the end of the session, random bytes and the operator's id.
    private struct Content {
        let bytes: [UInt8]
        let expires: Instant
        let operatorID: String

        init(_ operatorID: String, expires: Instant, nonce: [UInt8]) {
            let time = withUnsafeBytes(of: expires.milliseconds.bigEndian) { Array($0) }
            bytes = time + nonce + Array(operatorID.utf8)
            self.expires = expires
            self.operatorID = operatorID
        }

        init?(_ bytes: [UInt8]) {
            guard bytes.count > 8 + SharedSessions.nonceBytes,
                let id = String(validating: bytes.dropFirst(8 + SharedSessions.nonceBytes), as: UTF8.self)
            else { return nil }
            self.bytes = bytes
            expires = Instant(milliseconds: bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) })
            operatorID = id
        }
    }

    private func key(of token: SecretKey, _ secret: [UInt8]) -> [UInt8] {
        Array(HMACSHA256.code(for: Self.purpose + token.sha256, key: secret))
    }

    /// - Returns: the value of the cookie; nil before the secret is known.
    func begin(for token: SecretKey, now: Instant, entropy: Server.Entropy) -> String? {
        guard let secret = state.withLock(\.secret) else { return nil }
        let content = Content(
            token.id, expires: now.adding(seconds: OperatorSessions.lifetimeSeconds), nonce: entropy(Self.nonceBytes))
        let code = HMACSHA256.code(for: content.bytes, key: key(of: token, secret))
        return Base64.encode(content.bytes, .url) + "." + Base64.encode(code, .url)
    }

    /// - Parameter operators: the tokens that are accepted now.
    func find(_ cookie: String, now: Instant, among operators: [SecretKey]) -> DashboardSession? {
        let (secret, isEnded) = state.withLock { ($0.secret, $0.ended.contains(Self.mark(of: cookie))) }
        let parts = cookie.split(separator: ".")
        guard let secret, !isEnded, parts.count == 2, let bytes = Base64.decode(parts[0], .url),
            let content = Content(bytes), content.expires > now, let code = Base64.decode(parts[1], .url),
            let token = operators.first(where: { $0.id == content.operatorID })
        else { return nil }
        let key = key(of: token, secret)
        guard HMACSHA256.isValid(code, for: content.bytes, key: key), !isOlder(content, than: token) else { return nil }
        let form = HMACSHA256.code(for: Self.formPurpose + content.bytes, key: key)
        return DashboardSession(operatorID: token.id, formToken: Base64.encode(form, .url))
    }

    /// Whether the session began before the token was last refused.
    private func isOlder(_ content: Content, than token: SecretKey) -> Bool {
        guard let refused = state.withLock({ $0.refusedAt[token.sha256] }) else { return false }
        return content.expires.adding(seconds: -OperatorSessions.lifetimeSeconds) <= refused
    }

    // MARK: The end

    /// Ends every session of a token that is no longer accepted.
    func end(of token: SecretKey, at now: Instant) { state.withLock { $0.refusedAt[token.sha256] = now } }

    /// The name of an ended session's row.
    static func mark(of cookie: String) -> String {
        "session " + Base64.encode(Digest.sha256.hash(cookie.utf8), .url)
    }

    func note(ended mark: String) {
        state.withLock { state in
            if state.ended.count >= Self.capacity { state.ended = [] }
            state.ended.insert(mark)
        }
    }
}

extension Server {
    /// Reads what the sessions of operators need from a shared ledger: its secret, once, and whether the session of
    /// this request was ended on another server.
    func prepareSession(of request: HTTPRequest? = nil) async throws {
        guard let shared = operators.shared else { return }
        if !shared.isReady {
            let identity = try await ledger.identity()
            // The marks of sessions that ended after a backup are lost with its restore, so the sessions end too.
            shared.prepare(identity.secret + withUnsafeBytes(of: identity.epoch.bigEndian) { Array($0) })
        }
        guard let cookie = request?.cookie(OperatorAuthentication.sessionCookie) else { return }
        let mark = SharedSessions.mark(of: cookie)
        if try await database.read({ try LeaseTable($0).find(mark) }) != nil { shared.note(ended: mark) }
    }

    /// Ends a session on every server.
    func endSession(_ cookie: String) async throws {
        operators.sessions.end(cookie)
        guard let shared = operators.shared else { return }
        let (mark, now) = (SharedSessions.mark(of: cookie), machineClock())
        let end = now.adding(seconds: OperatorSessions.lifetimeSeconds)
        shared.note(ended: mark)
        try await database.write(locking: [.ledger("sessions")]) { connection in
            let leases = LeaseTable(connection)
            _ = try leases.take(mark, after: nil, as: SharedSessions.endedMark, until: end)
            _ = try leases.removeEnded(of: SharedSessions.endedMark, before: now, limit: 50)
        }
    }
}
