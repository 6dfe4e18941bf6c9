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
    private let attempts = LoginAttempts()
    private let operators: [SecretKey]
    private let hosts: Set<String>
    private let clock: Server.Clock
    private let entropy: Server.Entropy
    private let log: Log
    /// The key that binds a login form to its browser. It lives as long as the process.
    private let formKey: [UInt8]

    init(
        configuration: ServerConfiguration, clock: @escaping Server.Clock, entropy: @escaping Server.Entropy,
        log: Log = .none
    ) {
        self.log = log
        operators = configuration.operators
        hosts = Set(["127.0.0.1", "localhost", "[::1]"] + configuration.dashboardHosts.map { $0.lowercased() })
        self.clock = clock
        self.entropy = entropy
        formKey = entropy(32)
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
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw RefusalError(.unauthorized) }
            let found = try operatorID(token: String(parts[1]), from: request)
            return Visitor(session: DashboardSession(operatorID: found, formToken: nil))
        }
        guard let cookie = request.cookie(Self.sessionCookie), let session = sessions.find(cookie, now: clock()) else {
            return nil
        }
        return Visitor(session: session, cookie: cookie)
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
    func operatorID(token: String, from request: HTTPRequest) throws -> String {
        if token.utf8.count <= Self.tokenLimit {
            let digest = Digest.sha256.hash(token.utf8)
            if let found = operators.first(where: { constantTimeEqual($0.sha256, digest) }) { return found.id }
        }
        let isTooMany = attempts.isTooMany(from: request.clientNetwork, now: clock())
        let refusal: Refusal = isTooMany ? .tooManyRequests : .unauthorized
        log.write(
            .operatorRefused,
            ["code": .text(refusal.rawValue), "network": .text(request.clientNetworkForLogs)])
        throw RefusalError(refusal)
    }

    /// - Returns: the value of the session's cookie.
    func begin(operatorID: String) -> String { sessions.begin(operatorID: operatorID, now: clock(), entropy: entropy) }

    /// Binds a login form to a browser, so that another site can't log the visitor in as a different operator. Returns
    /// the cookie, which a page that is already open keeps, and the matching token for the form.
    func loginForm(for request: HTTPRequest) -> (cookie: String, token: String) {
        let known = request.cookie(Self.loginCookie).flatMap { Base64.decode($0, .url)?.count == 32 ? $0 : nil }
        let cookie = known ?? Base64.encode(entropy(32), .url)
        return (cookie, Base64.encode(HMACSHA256.code(for: cookie.utf8, key: formKey), .url))
    }

    func isLoginForm(_ request: HTTPRequest, token: String) -> Bool {
        guard let cookie = request.cookie(Self.loginCookie), let code = Base64.decode(token, .url) else { return false }
        return HMACSHA256.isValid(code, for: cookie.utf8, key: formKey)
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
