import TillBilling

/// The effect by which these rooms ask Apple: they make requests and read answers, and do no I/O of their own
/// (DESIGN §2). Whoever runs them puts a real HTTP client behind it, an emulated store, or a network that fails.
public typealias AppleExchange = @Sendable (AppleRequest) async throws(AppleOutage) -> AppleAnswer

/// One request to one of Apple's services.
public struct AppleRequest: Sendable, Equatable {
    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    public var method: Method
    /// Absolute, query included, percent-encoded.
    public var url: String
    /// In the order they are sent.
    public var headers: [Header]
    public var body: [UInt8]
    /// The longest body of an answer that is taken, in bytes; a longer one is an outage `answerTooLarge`.
    public var answerLimit: Int

    public struct Header: Sendable, Equatable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(
        _ method: Method, _ url: String, headers: [Header] = [], body: [UInt8] = [], answerLimit: Int = 1 << 20
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.answerLimit = answerLimit
    }
}

extension AppleRequest: CustomStringConvertible {
    /// Where to, and no more: headers carry our token, bodies the shared secret.
    public var description: String { "\(method.rawValue) \(url), \(body.count) bytes" }
}

extension AppleRequest.Header: CustomStringConvertible {
    public var description: String { name }
}

/// What came back, of whatever status; not yet believed.
public struct AppleAnswer: Sendable {
    /// Of HTTP.
    public let status: Int
    public let headers: [AppleRequest.Header]
    public let body: [UInt8]

    public init(status: Int, headers: [AppleRequest.Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first header of that name, which is compared without case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// No answer came, or none that can be used. It says nothing about the purchase that was asked about, and whatever was
/// asked may have been done all the same.
public struct AppleOutage: Error, Sendable, Equatable {
    public enum Reason: String, Sendable {
        /// Nobody there: the name, the connection, TLS.
        case unreachable
        case timedOut
        /// The connection broke off.
        case connectionLost
        case answerTooLarge
        /// This process is stopping.
        case stopped
    }

    public let reason: Reason
    /// For people, in English; nothing is decided by it.
    public let detail: String

    public init(_ reason: Reason, _ detail: String = "") {
        self.reason = reason
        self.detail = detail
    }

    /// Always: an outage never makes a purchase invalid (P2, U7).
    public var isRetryable: Bool { true }
}

/// The effects that a client of Apple's services runs on (DESIGN §5).
public struct AppleEffects: Sendable {
    public var exchange: AppleExchange
    public var clock: @Sendable () -> Instant
    /// As many unpredictable bytes as asked for.
    public var entropy: @Sendable (Int) -> [UInt8]
    /// Comes back after that many milliseconds, or at once when the calling task is cancelled.
    public var pause: @Sendable (Int64) async -> Void

    public init(
        exchange: @escaping AppleExchange, clock: @escaping @Sendable () -> Instant,
        entropy: @escaping @Sendable (Int) -> [UInt8], pause: @escaping @Sendable (Int64) async -> Void
    ) {
        self.exchange = exchange
        self.clock = clock
        self.entropy = entropy
        self.pause = pause
    }
}
