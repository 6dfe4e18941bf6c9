import TillBilling
import TillCrypto
import TillDashboard
import TillHTTP
import TillLedger
import TillPages

/// Authenticates operators and chooses their language.
///
/// Three checks protect the pages for operators. The `Host` header must name this server; otherwise a web page could
/// point its own name at the server and read the pages (DNS rebinding). The visitor must be logged in or show an
/// operator token. Every form must carry a token that only the server's own pages know, and must come from one of them.
struct OperatorAuthentication: Sendable {
    static let sessionCookie = "till_session"
    static let loginCookie = "till_login"
    static let languageCookie = "till_language"
    /// Maximum length of an operator token, in bytes.
    static let tokenLimit = 1_024

    let sessions = OperatorSessions()
    /// In place of `sessions`, where several servers share the ledger.
    let shared: SharedSessions?
    private let attempts = LoginAttempts()
    private var operators: [SecretKey]
    private var hosts: Set<String>
    private let clock: Server.Clock
    private let entropy: Server.Entropy
    private let log: Log
    /// The key of login forms on a ledger with one server. It lives as long as the process.
    private let formKey: [UInt8]
    private let uses: KeyUses

    init(
        configuration: ServerConfiguration, clock: @escaping Server.Clock, entropy: @escaping Server.Entropy,
        log: Log = .none, uses: KeyUses = KeyUses(), isShared: Bool = false
    ) {
        shared = isShared ? SharedSessions() : nil
        self.log = log
        operators = configuration.operators
        hosts = Self.hosts(configuration)
        self.clock = clock
        self.entropy = entropy
        self.uses = uses
        formKey = entropy(32)
    }

    /// The same login under another configuration. Operators who stay keep their sessions; those whose token was
    /// removed or replaced lose them at once.
    func changed(to configuration: ServerConfiguration) -> OperatorAuthentication {
        var changed = self
        changed.operators = configuration.operators
        changed.hosts = Self.hosts(configuration)
        let now = clock()
        sessions.endAll { changed.accepts($0, at: now) }
        if let shared {
            for token in operators where !changed.accepts(token, at: now) { shared.end(of: token, at: now) }
        }
        return changed
    }

    private static func hosts(_ configuration: ServerConfiguration) -> Set<String> {
        Set(["127.0.0.1", "localhost", "[::1]"] + configuration.dashboardHosts.map { $0.lowercased() })
    }

    /// Whether a session that this token opened goes on. A changed expiry date is no other token.
    private func accepts(_ key: SecretKey, at now: Instant) -> Bool {
        operators.contains { $0.id == key.id && $0.sha256 == key.sha256 && $0.validity.state(at: now) == .valid }
    }

    var hasOperators: Bool { !operators.isEmpty }

    // MARK: Visitor and language

    /// Whether the request names this server as its host, with any port.
    func isAddressedHere(_ request: HTTPRequest) -> Bool {
        guard let host = request.headers["Host"]?.lowercased(), host.utf8.count <= 255 else { return false }
        return hosts.contains(host) || hosts.contains(PageProtection.name(ofHost: host))
    }

    /// The language chosen with the switch, or the browser's language.
    func language(of request: HTTPRequest) -> Language {
        request.cookie(Self.languageCookie).flatMap(Language.init(rawValue:))
            ?? Language(preference: request.headers["Accept-Language"] ?? "")
    }

    /// - Throws: `unauthorized` for a wrong token, `too_many_requests` for a wrong token after ten others.
    /// - Returns: nil for a visitor who is not logged in and shows no token.
    func visitor(_ request: HTTPRequest) throws -> Visitor? {
        if let header = request.headers["Authorization"] {
            let parts = header.utf8.count <= Self.tokenLimit ? header.split(separator: " ") : []
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Self.missing }
            let found = try key(token: String(parts[1]), from: request)
            return Visitor(session: DashboardSession(operatorID: found.id, formToken: nil))
        }
        let now = clock()
        guard let cookie = request.cookie(Self.sessionCookie), let session = session(cookie, at: now) else {
            return nil
        }
        return Visitor(session: session, cookie: cookie)
    }

    private func session(_ cookie: String, at now: Instant) -> DashboardSession? {
        guard let shared else { return sessions.find(cookie, now: now, whose: { accepts($0, at: now) }) }
        return shared.find(cookie, now: now, among: operators.filter { accepts($0, at: now) })
    }

    /// An operator, with the session that the pages use.
    struct Visitor: Sendable {
        let session: DashboardSession
        /// The cookie of a logged-in browser; nil for a script.
        var cookie: String?
    }

    // MARK: Logging in

    /// The right token passes regardless of earlier wrong ones: with a lock-out, any client could lock operators out. A
    /// token is 256 random bits, so guessing fails; the wait bounds the record of failures.
    func key(token: String, from request: HTTPRequest) throws -> SecretKey {
        let now = clock()
        var refusal = Self.wrong
        if token.utf8.count <= Self.tokenLimit {
            switch operators.find(token, at: now) {
            case .accepted(let key):
                uses.accepted(key.id, of: .operators, at: now)
                return key
            case .refused(let key): refusal = key.validity.refusal(of: key.id, at: now)
            case .unknown: break
            }
        }
        if let wait = attempts.wait(of: request.clientNetwork, now: now) {
            refusal = RefusalError(.tooManyRequests, retryAfter: wait)
        }
        log.write(
            .operatorRefused,
            ["code": .text(refusal.refusal.rawValue), "network": .text(request.clientNetworkForLogs)])
        throw refusal
    }

    /// For a request without a credential.
    static let missing = RefusalError(
        .unauthorized, "send an operator token as \"Authorization: Bearer …\", or log in at /dashboard/login",
        zh: "请以 \"Authorization: Bearer …\" 发送运营令牌，或在 /dashboard/login 登录")
    private static let wrong = RefusalError(
        .unauthorized, "this is not the token of an operator of this server", zh: "这不是本服务器任何运营人员的令牌")

    /// - Returns: the value of the session's cookie.
    func begin(for key: SecretKey) -> String {
        let now = clock()
        return shared?.begin(for: key, now: now, entropy: entropy)
            ?? sessions.begin(for: key, now: now, entropy: entropy)
    }

    /// The key that binds a login form to its browser.
    private var currentFormKey: [UInt8] { shared?.formKey ?? formKey }

    /// Binds a login form to a browser, so that another site can't log the visitor in as a different operator. Returns
    /// the cookie, which a page that is already open keeps, and the matching token for the form.
    func loginForm(for request: HTTPRequest) -> (cookie: String, token: String) {
        let known = request.cookie(Self.loginCookie).flatMap { Base64.decode($0, .url)?.count == 32 ? $0 : nil }
        let cookie = known ?? Base64.encode(entropy(32), .url)
        return (cookie, Base64.encode(HMACSHA256.code(for: cookie.utf8, key: currentFormKey), .url))
    }

    func isLoginForm(_ request: HTTPRequest, token: String) -> Bool {
        guard let cookie = request.cookie(Self.loginCookie), let code = Base64.decode(token, .url) else { return false }
        return HMACSHA256.isValid(code, for: cookie.utf8, key: currentFormKey)
    }
}

extension HTTPRequest {
    /// The first cookie with that name (RFC 6265 §5.4).
    func cookie(_ name: String) -> String? {
        for field in headers.fields where field.name.lowercased() == "cookie" {
            for pair in field.value.split(separator: ";").prefix(50) {
                let trimmed = pair.drop { $0 == " " }
                guard let equals = trimmed.firstIndex(of: "=") else { continue }
                if trimmed[..<equals] == name { return String(trimmed[trimmed.index(after: equals)...]) }
            }
        }
        return nil
    }

    /// Whether the browser's connection is encrypted, as the proxy in front reports. Cookies are then marked `Secure`.
    /// Without a proxy the server speaks plain HTTP on its own machine, and the cookie must work there too.
    var isEncrypted: Bool { headers["X-Forwarded-Proto"]?.lowercased() == "https" }
}
