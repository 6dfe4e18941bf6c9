import TillAPI
import TillBilling

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
