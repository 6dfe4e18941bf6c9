import TillBilling
import TillCrypto
import TillJSON

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

/// Where Apple's services are asked, for each environment. URLs without a final `/`.
public struct AppleHosts: Sendable, Hashable {
    /// What the paths `/inApps/v1/…` and `/inApps/v2/…` are put behind.
    public let serverAPI: [Environment: String]
    /// The whole URL of verifyReceipt.
    public let verifyReceipt: [Environment: String]

    init(serverAPI: [Environment: String], verifyReceipt: [Environment: String]) {
        self.serverAPI = serverAPI
        self.verifyReceipt = verifyReceipt
    }

    /// Apple's (facts/server-api §1, facts/verify-receipt §1): the API's names since May 2026.
    public static let apple = AppleHosts(
        serverAPI: [
            .production: "https://api.storekit.apple.com", .sandbox: "https://api.storekit-sandbox.apple.com",
        ],
        verifyReceipt: [
            .production: "https://buy.itunes.apple.com/verifyReceipt",
            .sandbox: "https://sandbox.itunes.apple.com/verifyReceipt",
        ])

    /// An emulated App Store: one origin (`http://127.0.0.1:8788`) that plays both environments.
    public static func emulator(at origin: String) -> AppleHosts {
        AppleHosts(
            serverAPI: [.production: origin, .sandbox: origin],
            verifyReceipt: [
                .production: origin + "/production/verifyReceipt", .sandbox: origin + "/sandbox/verifyReceipt",
            ])
    }
}

/// The "In-App Purchase" key of App Store Connect: it signs the bearer tokens of the App Store Server API
/// (facts/server-api §2) and the offers that an app may show (facts/business-rules §9).
public struct InAppPurchaseKey: Sendable {
    /// A UUID's text: the account that the key belongs to.
    public let issuerID: String
    /// Ten letters and digits, like `2X9R4HXF34`.
    public let keyID: String
    /// On P-256: the `.p8` file that can be downloaded once.
    public let privateKey: PrivateKey

    /// - Throws: if the key is not on P-256: ES256 wants no other.
    public init(issuerID: String, keyID: String, privateKey: PrivateKey) throws(IssuingFault) {
        guard privateKey.kind == .p256 else {
            throw IssuingFault("an In-App Purchase key is on P-256, this one is \(privateKey.kind.rawValue)")
        }
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKey = privateKey
    }

    /// A JWT of these claims in compact serialization: `{"alg":"ES256","kid":…,"typ":"JWT"}`, signed by this key.
    func token(claims: [String: JSONValue]) throws(IssuingFault) -> String {
        let header: JSONValue = ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"]
        let message = [header, .object(claims)].map { Base64.encode(Array($0.encoded().utf8), .url) }
            .joined(separator: ".")
        return message + "." + Base64.encode(try privateKey.signES256(Array(message.utf8)), .url)
    }
}
