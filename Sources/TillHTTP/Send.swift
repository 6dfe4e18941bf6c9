/// The HTTP effect (DESIGN §5): sends one request somewhere and brings the whole answer.
///
/// `url` is absolute, `http` or `https`. Redirects are not followed; the answer's body is bounded by the sender.
public typealias HTTPSend = @Sendable (_ url: String, _ request: HTTPRequest) async throws(HTTPFault) -> HTTPResponse

/// Why no answer came.
public struct HTTPFault: Error, Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case badURL
        case cannotResolve
        case cannotConnect
        /// Its address is none that may be connected to (`AddressRule`).
        case addressRefused
        case timedOut
        case connectionLost
        case tls
        case answerTooLarge
        case stopped
        case other
    }

    public let kind: Kind
    public let detail: String

    public init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// Whether the same request may go through later. The other end may have acted on it all the same.
    public var isRetryable: Bool {
        switch kind {
        case .badURL, .answerTooLarge, .addressRefused: false
        case .cannotResolve, .cannotConnect, .timedOut, .connectionLost, .tls, .stopped, .other: true
        }
    }
}
