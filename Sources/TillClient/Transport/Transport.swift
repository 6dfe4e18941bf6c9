import TillAPI
import TillBilling

/// The HTTP effect of the client: sends one request and brings the whole answer. Redirects are not followed, the
/// answer is bounded (1 MiB is plenty), and there is a time limit for all of it.
package struct Transport: Sendable {
    package var send: @Sendable (TransportRequest) async throws(TransportFault) -> TransportResponse

    package init(send: @escaping @Sendable (TransportRequest) async throws(TransportFault) -> TransportResponse) {
        self.send = send
    }
}

package struct TransportRequest: Hashable, Sendable {
    /// `GET` or `POST`.
    package let method: String
    /// Absolute.
    package let url: String
    package let headers: [String: String]
    package let body: [UInt8]

    package init(method: String, url: String, headers: [String: String], body: [UInt8]) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

package struct TransportResponse: Hashable, Sendable {
    package let status: Int
    /// The value of `Content-Type`; empty if there is none.
    package let contentType: String
    /// The seconds of `Retry-After`, if the answer names any.
    package let retryAfter: Int64?
    /// The value of `ETag`, if there is one.
    package let etag: String?
    package let body: [UInt8]

    package init(
        status: Int, contentType: String, retryAfter: Int64? = nil, etag: String? = nil, body: [UInt8]
    ) {
        self.status = status
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.etag = etag
        self.body = body
    }
}

/// Why no answer came. The server may have acted on the request all the same, so every request can be repeated.
public struct TransportFault: Error, Hashable, Sendable {
    /// What went wrong on the way.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// This device has no network.
        case offline
        /// The server's name is not known on this network.
        case cannotFindServer = "cannot_find_server"
        /// Nobody listens at the server's address.
        case cannotConnect = "cannot_connect"
        /// The answer did not come in time.
        case timedOut = "timed_out"
        /// The connection broke before the answer was whole.
        case connectionLost = "connection_lost"
        /// The connection could not be secured; often a captive portal or a wrong clock.
        case insecure
        /// Anything else; `detail` says what.
        case other = "network_fault"

        /// What a buyer is told who is waiting for a purchase (P3).
        public var sentence: Text {
            switch self {
            case .offline:
                Text(
                    en: "This device is offline. It is tried again by itself when the network is back.",
                    zh: "设备当前无网络连接，恢复后会自动重试。")
            case .timedOut, .connectionLost:
                Text(
                    en: "The network is slow or was interrupted. It is tried again by itself.",
                    zh: "网络缓慢或已中断，系统会自动重试。")
            case .insecure:
                Text(
                    en: "No secure connection could be made. Check the device's date, and sign in to the Wi-Fi if it "
                        + "asks for that.",
                    zh: "无法建立安全连接。请检查设备日期；如果 Wi-Fi 需要登录，请先登录。")
            case .cannotFindServer, .cannotConnect, .other:
                Text(
                    en: "The server can't be reached right now. It is tried again by itself.",
                    zh: "暂时无法连接服务器，系统会自动重试。")
            }
        }
    }

    /// What went wrong.
    public let kind: Kind
    /// For logs.
    public let detail: String

    package init(_ kind: Kind, _ detail: String = "") {
        self.kind = kind
        self.detail = detail
    }

    /// Always: the server may answer next time.
    public var isRetryable: Bool { true }
}

/// The address of the purchase server, as an app states it. Proofs and user tokens go there, so it is `https://`.
/// `http://` goes to this machine only (127.0.0.0/8, ::1, localhost), where a developer's server runs.
struct ServerAddress {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether nobody on the network between can read or change what is sent there.
    var isSecure: Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let rest = text[text.index(after: colon)...]
        guard rest.hasPrefix("//") else { return false }
        let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        // A name before "@" is not the host, and parsers differ about a backslash: neither belongs here.
        guard !authority.isEmpty, authority.utf8.allSatisfy(Self.isOfHostOrPort) else { return false }
        switch text[..<colon].lowercased() {
        case "https": return true
        case "http": return Self.isThisMachine(Self.host(of: authority))
        default: return false
        }
    }

    private static func isOfHostOrPort(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "@") && byte != UInt8(ascii: "\\")
            && byte != UInt8(ascii: "%")
    }

    /// Without the port.
    private static func host(of authority: Substring) -> String {
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return "" }
            let rest = authority[authority.index(after: end)...]
            return rest.isEmpty || rest.hasPrefix(":") ? String(authority[...end]).lowercased() : ""
        }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return parts[0].lowercased()
    }

    private static func isThisMachine(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "127" else { return false }
        return parts.allSatisfy { part in
            guard let number = UInt8(part) else { return false }
            return String(number) == part
        }
    }
}

/// Why the server's word did not come, or what it refused.
public enum ServerFault: Error, Hashable, Sendable {
    /// Nobody is signed in, so nothing was sent.
    case signedOut
    /// No answer came.
    case noAnswer(TransportFault)
    /// An answer that is not the server's: HTML of a proxy, an empty body, a redirect, JSON of somebody else (P11).
    case unreadable(status: Int, retryAfter: Int64?)
    /// The server said no.
    case refused(ServerRefusal)

    /// Stable.
    public var code: String {
        switch self {
        case .signedOut: Trouble.signedOut.code
        case .noAnswer(let fault): fault.kind.rawValue
        case .unreadable: Trouble.unreadableAnswer.code
        case .refused(let refusal): refusal.code
        }
    }

    /// Whether the very same request may be answered differently later.
    public var isRetryable: Bool {
        switch self {
        case .signedOut, .noAnswer, .unreadable: true
        case .refused(let refusal): refusal.isRetryable
        }
    }

    /// Seconds the server asked to wait; at most a minute if the answer is not the server's.
    public var retryAfter: Int64? {
        switch self {
        case .signedOut, .noAnswer: nil
        case .unreadable(_, let seconds): seconds
        case .refused(let refusal): refusal.retryAfter
        }
    }

    /// What the buyer is told.
    public var sentence: Text {
        if case .refused(let refusal) = self { return refusal.sentence }
        return Trouble(code: code, isFinal: false).sentence
    }
}

/// A problem the server told (RFC 9457). What it means is decided by code and `retryable`, never by its words.
public struct ServerRefusal: Hashable, Sendable {
    /// Stable; see `refusal`.
    public let code: String
    /// The HTTP status.
    public let status: Int
    /// Whether the same request may be answered differently later.
    public let isRetryable: Bool
    /// Seconds the server asked to wait.
    public let retryAfter: Int64?
    /// In the language that was asked for; shown when this version of the app does not know the code.
    public let title: String
    /// For support.
    public let requestID: String

    init(_ problem: Problem, status: Int, retryAfter: Int64?) {
        code = problem.code
        self.status = status
        // A server that is down for a moment says so by its status, whatever the body says.
        isRetryable = problem.retryable || status >= 500 || status == 429 || status == 408
        self.retryAfter = retryAfter
        title = String(problem.title.prefix(500))
        requestID = String(problem.requestId.prefix(100))
    }

    /// The refusal, if this version of the app knows it.
    public var refusal: Refusal? { Refusal(rawValue: code) }

    /// What it means, for those who run the server.
    public var sentence: Text { refusal?.sentence ?? Text(en: title, zh: title) }

    /// Whether this proof can never be granted, as far as the server that said so knows. Everything else (a token that
    /// ran out, a wrong configuration, a code this version does not know) may be answered differently one day.
    var isFinalForProof: Bool {
        guard !isRetryable, (400..<500).contains(status) else { return false }
        return switch refusal {
        case .malformed, .missingChain, .chainLength, .badCertificate, .chainUntrusted, .chainExpired, .missingOID,
            .badSignature, .wrongApp, .wrongDevice, .transactionMismatch, .productMismatch:
            true
        default: false
        }
    }
}
