import TillAPI
import TillBilling

/// Sends one HTTP request and returns the complete response. Redirects are not followed, and the size of the response
/// (1 MiB is sufficient) and the total time are limited.
package struct Transport: Sendable {
    package var send: @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse

    package init(send: @escaping @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse) {
        self.send = send
    }
}

package struct TransportRequest: Hashable, Sendable {
    /// `GET`, `POST` or `PUT`.
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
    /// The value of `Content-Type`; empty if it is missing.
    package let contentType: String
    /// The seconds of `Retry-After`, if present.
    package let retryAfter: Int64?
    /// The value of `ETag`, if present.
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

/// The reason why no response arrived. The server may have processed the request, so every request can be repeated.
package struct TransportError: Error, Sendable {
    /// The kind of network error.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// This device has no network connection.
        case offline
        /// The server's name can't be resolved on this network.
        case cannotFindServer = "cannot_find_server"
        /// No program listens at the server's address.
        case cannotConnect = "cannot_connect"
        /// The response didn't arrive in time.
        case timedOut = "timed_out"
        /// The connection was interrupted before the response was complete.
        case connectionLost = "connection_lost"
        /// The connection couldn't be secured, often because of a captive portal or a wrong clock.
        case insecure
        /// Any other error; see `detail`.
        case other = "network_fault"

        /// A message for a buyer who waits for a purchase.
        package var sentence: LocalizedText {
            switch self {
            case .offline:
                LocalizedText(
                    en: "This device is offline. It is tried again by itself when the network is back.",
                    zh: "设备当前无网络连接，恢复后会自动重试。")
            case .timedOut, .connectionLost:
                LocalizedText(
                    en: "The network is slow or was interrupted. It is tried again by itself.",
                    zh: "网络缓慢或已中断，系统会自动重试。")
            case .insecure:
                LocalizedText(
                    en: "No secure connection could be made. Check the device's date, and sign in to the Wi-Fi if it "
                        + "asks for that.",
                    zh: "无法建立安全连接。请检查设备日期；如果 Wi-Fi 需要登录，请先登录。")
            case .cannotFindServer, .cannotConnect, .other:
                LocalizedText(
                    en: "The server can't be reached right now. It is tried again by itself.",
                    zh: "暂时无法连接服务器，系统会自动重试。")
            }
        }
    }

    /// The kind of network error.
    package let kind: Kind
    /// Details for logs.
    package let detail: String
    /// The system's own error, for the app's logs.
    package let underlying: (any Error)?

    package init(_ kind: Kind, _ detail: String = "", underlying: (any Error)? = nil) {
        self.kind = kind
        self.detail = detail
        self.underlying = underlying
    }

    /// Always true: the server may answer the next time.
    package var isRetryable: Bool { true }
}

/// The system's own error isn't compared.
extension TransportError: Hashable {
    package static func == (one: Self, other: Self) -> Bool { one.kind == other.kind && one.detail == other.detail }
    package func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

/// The configured address of the purchase server. It must be `https://`, because proofs and user tokens are sent to it.
/// `http://` is accepted for this machine only (127.0.0.0/8, ::1, localhost), where a developer's server runs.
struct ServerAddress {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether the traffic to the address is protected against reading and modification.
    var isSecure: Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let rest = text[text.index(after: colon)...]
        guard rest.hasPrefix("//") else { return false }
        let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        // A name before "@" is not the host, and parsers disagree about a backslash, so both are refused.
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

    /// The host without the port.
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

/// The reason why the server gave no answer, or refused the request.
package enum ServerError: Error, Hashable, Sendable {
    /// No user is signed in, so nothing was sent.
    case signedOut
    /// No response arrived.
    case noResponse(TransportError)
    /// The response isn't the server's: HTML of a proxy, an empty body, a redirect, or other JSON.
    case unreadable(status: Int, retryAfter: Int64?)
    /// The server refused the request.
    case refused(ServerRefusal)

    /// A stable code.
    package var code: String {
        switch self {
        case .signedOut: PendingReason.signedOut.code
        case .noResponse(let error): error.kind.rawValue
        case .unreadable: PendingReason.unreadableResponse.code
        case .refused(let refusal): refusal.code
        }
    }

    /// A Boolean value that indicates whether the same request may be answered differently later.
    package var isRetryable: Bool {
        switch self {
        case .signedOut, .noResponse, .unreadable: true
        case .refused(let refusal): refusal.isRetryable
        }
    }

    /// The seconds that the server asked to wait; at most a minute if the response isn't the server's.
    package var retryAfter: Int64? {
        switch self {
        case .signedOut, .noResponse: nil
        case .unreadable(_, let seconds): seconds
        case .refused(let refusal): refusal.retryAfter
        }
    }

    /// A message for the buyer.
    package var sentence: LocalizedText {
        if case .refused(let refusal) = self { return refusal.sentence }
        return PendingReason(code: code, isFinal: false).sentence
    }
}

/// A problem that the server reported (RFC 9457). Programs use `code` and `isRetryable`, never the text.
package struct ServerRefusal: Hashable, Sendable {
    /// A stable code; see `refusal`.
    package let code: String
    /// The HTTP status.
    package let status: Int
    /// A Boolean value that indicates whether the same request may be answered differently later.
    package let isRetryable: Bool
    /// The seconds that the server asked to wait.
    package let retryAfter: Int64?
    /// The server's text in the requested language, shown if this version of the app doesn't know the code.
    package let title: String
    /// The request id, for support.
    package let requestID: String

    init(_ problem: ProblemDetails, status: Int, retryAfter: Int64?) {
        code = problem.code
        self.status = status
        // A temporarily unavailable server is recognized by its status, whatever the body contains.
        isRetryable = problem.retryable || status >= 500 || status == 429 || status == 408
        self.retryAfter = retryAfter
        title = String(problem.title.prefix(500))
        requestID = String(problem.requestId.prefix(100))
    }

    /// The refusal, if this version of the app knows the code.
    package var refusal: Refusal? { Refusal(rawValue: code) }

    /// The meaning, for operators of the server.
    package var sentence: LocalizedText { refusal?.sentence ?? LocalizedText(en: title, zh: title) }

    /// Whether this proof can never be granted, as far as this server knows. Other refusals (an expired token, a wrong
    /// configuration, an unknown code) may be answered differently later.
    var isFinalForProof: Bool {
        guard !isRetryable, (400..<500).contains(status) else { return false }
        return switch refusal {
        case .malformed, .missingChain, .chainLength, .badCertificate, .chainUntrusted, .chainExpired, .missingOID,
            .badSignature, .wrongApp, .wrongDevice, .transactionMismatch, .productMismatch, .receiptRefused:
            true
        default: false
        }
    }
}
