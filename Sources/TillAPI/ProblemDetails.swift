import TillBilling

/// RFC 9457 `application/problem+json`. `code` and `retryable` are for programs, `title` and `detail` for people.
public struct ProblemDetails: Codable, Sendable, Hashable {
    public static let contentType = "application/problem+json"

    /// A URI for the kind of problem: `urn:till:problem:wrong_app`.
    public let type: String
    /// One sentence in the reader's language.
    public let title: String
    public let status: Int
    public let code: String
    public let retryable: Bool
    public let requestId: String
    /// Details, if there are any.
    public let detail: String?

    public init(refusal: Refusal, status: Int, language: Language, requestId: String, detail: String? = nil) {
        type = "urn:till:problem:\(refusal.rawValue)"
        title = refusal.sentence[language]
        self.status = status
        code = refusal.rawValue
        retryable = refusal.isRetryable
        self.requestId = requestId
        self.detail = detail
    }

    private init(_ other: ProblemDetails, requestId: String) {
        type = other.type
        title = other.title
        status = other.status
        code = other.code
        retryable = other.retryable
        self.requestId = requestId
        detail = other.detail
    }

    /// The same problem as the answer to another request.
    public func answering(_ requestId: String) -> ProblemDetails { ProblemDetails(self, requestId: requestId) }

    /// The refusal with this code, if this version knows it.
    public var refusal: Refusal? { Refusal(rawValue: code) }
}
