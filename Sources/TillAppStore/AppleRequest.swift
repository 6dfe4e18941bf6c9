import TillBilling
import TillCrypto
import TillJSON

/// Sends a request to Apple and returns the response. This module builds requests and reads responses but does no I/O;
/// its user supplies an HTTP client, an emulated store, or a failing network for tests.
public typealias AppleSend = @Sendable (AppleRequest) async throws(AppleConnectionError) -> AppleResponse

/// One request to one of Apple's services.
public struct AppleRequest: Sendable, Equatable {
    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    public var method: Method
    /// Absolute, including the query, percent-encoded.
    public var url: String
    /// In sending order.
    public var headers: [Header]
    public var body: [UInt8]
    /// The maximum body of the response in bytes; a longer one fails with `responseTooLarge`.
    public var responseLimit: Int

    public struct Header: Sendable, Equatable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(
        _ method: Method, _ url: String, headers: [Header] = [], body: [UInt8] = [], responseLimit: Int = 1 << 20
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.responseLimit = responseLimit
    }
}

extension AppleRequest: CustomStringConvertible {
    /// The method and the URL only: headers carry the bearer token, bodies the shared secret.
    public var description: String { "\(method.rawValue) \(url), \(body.count) bytes" }
}

extension AppleRequest.Header: CustomStringConvertible {
    public var description: String { name }
}

/// Apple's response, with any status; not yet verified.
public struct AppleResponse: Sendable {
    /// The HTTP status.
    public let status: Int
    public let headers: [AppleRequest.Header]
    public let body: [UInt8]

    public init(status: Int, headers: [AppleRequest.Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first header of this name; names compare case-insensitively.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// No usable response arrived. This says nothing about the purchase in question, and Apple may have carried out the
/// request.
public struct AppleConnectionError: Error, Sendable, Equatable {
    public enum Reason: String, Sendable {
        /// The name, the connection or TLS failed.
        case unreachable
        case timedOut
        /// The connection was interrupted.
        case connectionLost
        case responseTooLarge
        /// This process is stopping.
        case stopped
    }

    public let reason: Reason
    /// For people, in English. No decision depends on it.
    public let detail: String

    public init(_ reason: Reason, _ detail: String = "") {
        self.reason = reason
        self.detail = detail
    }

    /// Always true: an outage never makes a purchase invalid.
    public var isRetryable: Bool { true }
}

/// The functions through which a client of Apple's services reaches the outside world.
public struct AppleEffects: Sendable {
    public var exchange: AppleSend
    public var clock: @Sendable () -> Instant
    /// Returns the requested number of unpredictable bytes.
    public var entropy: @Sendable (Int) -> [UInt8]
    /// Returns after this many milliseconds, or at once when the calling task is cancelled.
    public var pause: @Sendable (Int64) async -> Void

    public init(
        exchange: @escaping AppleSend, clock: @escaping @Sendable () -> Instant,
        entropy: @escaping @Sendable (Int) -> [UInt8], pause: @escaping @Sendable (Int64) async -> Void
    ) {
        self.exchange = exchange
        self.clock = clock
        self.entropy = entropy
        self.pause = pause
    }
}

/// The addresses of Apple's services for each environment. URLs without a final `/`.
public struct AppleHosts: Sendable, Hashable {
    /// The prefix of the paths `/inApps/v1/…` and `/inApps/v2/…`.
    public let serverAPI: [StoreEnvironment: String]
    /// The complete URL of verifyReceipt.
    public let verifyReceipt: [StoreEnvironment: String]
    /// The origin of an emulated store; nil for Apple.
    public let emulator: String?

    init(
        serverAPI: [StoreEnvironment: String], verifyReceipt: [StoreEnvironment: String], emulator: String? = nil
    ) {
        self.serverAPI = serverAPI
        self.verifyReceipt = verifyReceipt
        self.emulator = emulator
    }

    /// Apple's addresses (facts/server-api §1, facts/verify-receipt §1), with the API's host names since May 2026.
    public static let apple = AppleHosts(
        serverAPI: [
            .production: "https://api.storekit.apple.com", .sandbox: "https://api.storekit-sandbox.apple.com",
        ],
        verifyReceipt: [
            .production: "https://buy.itunes.apple.com/verifyReceipt",
            .sandbox: "https://sandbox.itunes.apple.com/verifyReceipt",
        ])

    /// The addresses of an emulated App Store: one origin (`http://127.0.0.1:8788`) that serves both environments.
    public static func emulator(at origin: String) -> AppleHosts {
        AppleHosts(
            serverAPI: [.production: origin, .sandbox: origin],
            verifyReceipt: [
                .production: origin + "/production/verifyReceipt", .sandbox: origin + "/sandbox/verifyReceipt",
            ], emulator: origin)
    }
}

/// The In-App Purchase Key of App Store Connect. It signs the bearer tokens of the App Store Server API
/// (facts/server-api §2) and the offers that an app shows (facts/business-rules §9).
public struct InAppPurchaseKey: Sendable {
    /// The UUID of the account that the key belongs to.
    public let issuerID: String
    /// Ten letters and digits, such as `2X9R4HXF34`.
    public let keyID: String
    /// A P-256 key, from the `.p8` file that can be downloaded once.
    public let privateKey: PrivateKey

    /// - Throws: if the key is not on P-256, which ES256 requires.
    public init(issuerID: String, keyID: String, privateKey: PrivateKey) throws(SigningError) {
        guard privateKey.kind == .p256 else {
            throw SigningError("an In-App Purchase key is on P-256, this one is \(privateKey.kind.rawValue)")
        }
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKey = privateKey
    }

    /// A JWT with these claims in compact serialization: `{"alg":"ES256","kid":…,"typ":"JWT"}`, signed by this key.
    func token(claims: [String: JSONValue]) throws(SigningError) -> String {
        let header: JSONValue = ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"]
        let message = [header, .object(claims)].map { Base64.encode($0.encodedBytes(), .url) }
            .joined(separator: ".")
        return message + "." + Base64.encode(try privateKey.signES256(Array(message.utf8)), .url)
    }
}
