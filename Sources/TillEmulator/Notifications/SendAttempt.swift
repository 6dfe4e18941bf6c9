import TillBilling
import TillHTTP

/// How an attempt to deliver a notification ended, in Apple's words (facts/server-api §4.3).
enum SendAttemptResult: String, Sendable, Hashable, CaseIterable {
    case success = "SUCCESS"
    case timedOut = "TIMED_OUT"
    case tlsIssue = "TLS_ISSUE"
    /// Never here: redirects are not followed, so there is no loop to run into.
    case circularRedirect = "CIRCULAR_REDIRECT"
    case noResponse = "NO_RESPONSE"
    case socketIssue = "SOCKET_ISSUE"
    case unsupportedCharset = "UNSUPPORTED_CHARSET"
    case invalidResponse = "INVALID_RESPONSE"
    case prematureClose = "PREMATURE_CLOSE"
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    case other = "OTHER"

    /// 200 to 206 are a success, whatever the body (facts/notifications §2).
    init(_ response: HTTPResponse) {
        switch response.status {
        case 200...206: self = Self.canRead(response.headers["Content-Type"] ?? "") ? .success : .unsupportedCharset
        case 100...599: self = .unsuccessfulStatus
        default: self = .invalidResponse
        }
    }

    /// Nil if no attempt came to an end: the sender itself is stopping.
    init?(_ fault: HTTPFault) {
        switch fault.kind {
        case .stopped: return nil
        case .timedOut: self = .timedOut
        case .tls: self = .tlsIssue
        case .cannotConnect: self = .socketIssue
        case .connectionLost: self = .prematureClose
        case .cannotResolve: self = .noResponse
        case .answerTooLarge: self = .invalidResponse
        case .badURL, .addressRefused, .other: self = .other
        }
    }

    /// Which character sets Apple reads is not published; these are the ones in use.
    private static let charsets: Set<String> = [
        "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252", "utf-16", "utf-16le", "utf-16be",
        "gbk", "gb2312", "gb18030", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr",
    ]

    private static func canRead(_ contentType: String) -> Bool {
        for parameter in contentType.lowercased().split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ $0 != " " }) == "charset" else { continue }
            return charsets.contains(parts[1].filter { $0 != " " && $0 != "\"" })
        }
        return true
    }
}

/// One attempt to deliver a notification.
struct SendAttempt: Sendable, Hashable {
    var at: Instant
    var result: String
}
