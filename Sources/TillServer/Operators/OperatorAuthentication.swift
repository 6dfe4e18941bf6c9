import TillBilling
import TillCrypto
import TillDashboard
import TillHTTP
import TillLedger
import TillPages

/// Who an operator is, and in what language an operator reads.
///
/// Three things guard the pages for operators. The `Host` header must name this server, or a web page could have its
/// own name point here and read along (DNS rebinding). The visitor must be logged in, or show an operator token. And
/// every form carries a token that only a page of ours can know, and must come from a page of ours.
struct OperatorAuthentication: Sendable {
    static let sessionCookie = "till_session"
    static let loginCookie = "till_login"
    static let languageCookie = "till_language"
    /// Longest operator token that is looked at, in bytes.
    static let tokenLimit = 1_024

    let sessions = OperatorSessions()
    private let attempts = LoginAttempts()
    private let operators: [SecretKey]
    private let hosts: Set<String>
    private let clock: Server.Clock
    private let entropy: Server.Entropy
    /// Binds the login form to the browser it was given to. Lives as long as the process.
    private let formKey: [UInt8]

    init(configuration: ServerConfiguration, clock: @escaping Server.Clock, entropy: @escaping Server.Entropy) {
        operators = configuration.operators
        hosts = Set(["127.0.0.1", "localhost", "[::1]"] + configuration.dashboardHosts.map { $0.lowercased() })
        self.clock = clock
        self.entropy = entropy
        formKey = entropy(32)
    }

    var hasOperators: Bool { !operators.isEmpty }

    // MARK: Who and in what language

    /// Whether the request was made under a name of this server, with any port.
    func isAddressedHere(_ request: HTTPRequest) -> Bool {
        guard let host = request.headers["Host"]?.lowercased(), host.utf8.count <= 255 else { return false }
        return hosts.contains(host) || hosts.contains(PageProtection.name(ofHost: host))
    }

    /// The language that was chosen with the switch, or else the browser's.
    func language(of request: HTTPRequest) -> Language {
        request.cookie(Self.languageCookie).flatMap(Language.init(rawValue:))
            ?? Language(preference: request.headers["Accept-Language"] ?? "")
    }

    /// - Throws: `unauthorized` for a wrong token, `too_many_requests` for a wrong one after ten.
    /// - Returns: nil for somebody who isn't logged in and shows nothing.
    func visitor(_ request: HTTPRequest) throws -> Visitor? {
        if let header = request.headers["Authorization"] {
            let parts = header.utf8.count <= Self.tokenLimit ? header.split(separator: " ") : []
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Refused(.unauthorized) }
            let found = try operatorID(token: String(parts[1]), from: request.clientNetwork)
            return Visitor(session: DashboardSession(operatorID: found, formToken: nil))
        }
        guard let cookie = request.cookie(Self.sessionCookie), let session = sessions.find(cookie, now: clock()) else {
            return nil
        }
        return Visitor(session: session, cookie: cookie)
    }

    /// An operator, with the session that the pages are made for.
    struct Visitor: Sendable {
        let session: DashboardSession
        /// Of a browser that is logged in; nil for a script.
        var cookie: String?
    }

    // MARK: Logging in

    /// The right token passes however many wrong ones came from the same client: a lock-out would be a stranger's to
    /// cause. A token is 256 random bits, so it is not guessed; waiting keeps the log of failures short.
    func operatorID(token: String, from client: String) throws -> String {
        if token.utf8.count <= Self.tokenLimit {
            let digest = Digest.sha256.hash(token.utf8)
            if let found = operators.first(where: { constantTimeEqual($0.sha256, digest) }) { return found.id }
        }
        guard !attempts.isTooMany(from: client, now: clock()) else { throw Refused(.tooManyRequests) }
        throw Refused(.unauthorized)
    }

    /// - Returns: the value of the session's cookie.
    func begin(operatorID: String) -> String { sessions.begin(operatorID: operatorID, now: clock(), entropy: entropy) }

    /// Binds a login form to a browser, so that another site can't log somebody in as somebody else: the cookie, which
    /// a page already open keeps, and what the form says beside it.
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
    /// The first cookie of that name (RFC 6265 §5.4).
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

    /// Cookies are kept to encrypted connections where the browser's own is one: a proxy in front says so. Plain HTTP
    /// is what a server on this very machine speaks, and there the cookie must come through too.
    var isEncrypted: Bool { headers["X-Forwarded-Proto"]?.lowercased() == "https" }
}
