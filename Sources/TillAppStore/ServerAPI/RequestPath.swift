import TillBilling
import TillCrypto
import TillJSON
import TillThreads

/// Builds paths and queries from outside values: a value fills its own place in a URL and cannot change another part
/// (RFC 3986 §2.3: all characters except unreserved ones are escaped).
struct RequestPath {
    private(set) var text: String
    private var hasQuery = false

    /// The longest value in a URL, in bytes. Apple's ids have 16 digits, product ids up to 100 characters; revisions
    /// and page tokens are opaque.
    static let idLimit = 128
    static let tokenLimit = 4_096
    /// The longest path with its query, in bytes.
    static let targetLimit = 8_192

    init(_ path: String) { text = path }

    /// Adds `/` and one segment.
    ///
    /// - Parameter field: Apple's name of the value.
    func segment(_ value: String, _ field: String, limit: Int = idLimit) throws(InvalidRequestError) -> RequestPath {
        // `.` and `..` need no escape, but a URL parser would resolve them as relative steps.
        guard value != ".", value != ".." else { throw InvalidRequestError(field, .badText) }
        var longer = self
        longer.text += "/" + (try Self.escaped(value, field, limit: limit))
        return longer
    }

    /// Adds a literal part of the path.
    func literal(_ path: String) -> RequestPath {
        var longer = self
        longer.text += path
        return longer
    }

    mutating func query(_ name: String, _ value: String?, limit: Int = idLimit) throws(InvalidRequestError) {
        guard let value else { return }
        text += hasQuery ? "&" : "?"
        text += name + "=" + (try Self.escaped(value, name, limit: limit))
        hasQuery = true
        guard text.utf8.count <= Self.targetLimit else { throw InvalidRequestError(name, .tooLong) }
    }

    /// Adds a parameter that may occur several times.
    mutating func query(_ name: String, each values: [String]) throws(InvalidRequestError) {
        for value in values { try query(name, value) }
    }

    private static func escaped(_ value: String, _ field: String, limit: Int) throws(InvalidRequestError) -> String {
        let units = value.utf8
        guard !units.isEmpty else { throw InvalidRequestError(field, .missing) }
        guard units.count <= limit else { throw InvalidRequestError(field, .tooLong) }
        let digits = Array("0123456789ABCDEF".utf8)
        var escaped: [UInt8] = []
        escaped.reserveCapacity(units.count)
        for unit in units {
            guard unit >= 0x20, unit != 0x7F else { throw InvalidRequestError(field, .badText) }
            if isUnreserved(unit) {
                escaped.append(unit)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(unit >> 4)], digits[Int(unit & 15)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func isUnreserved(_ unit: UInt8) -> Bool {
        switch unit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// A request or an offer that Apple would refuse, or that contradicts itself. It is neither sent nor signed.
public struct InvalidRequestError: Error, Sendable, Hashable {
    public enum Rule: String, Sendable {
        case missing
        case tooLong
        /// A character that does not belong there, such as a control character, or a relative step such as `..`.
        case badText
        /// A letter beyond ASCII with a lower-case form: systems map some of them differently, and Apple and Till must
        /// sign the same bytes.
        case ambiguousCase
        case notJSON
        case outOfRange
        /// It contradicts another field.
        case contradiction
        /// Without the customer's consent, no information about the customer is sent (facts/server-api §5).
        case noConsent
        /// This client may not use the environment.
        case environmentNotAsked
        /// Apple answers this request for production only, and this client may not use production.
        case productionOnly
    }

    /// Apple's name of the field.
    public let field: String
    public let rule: Rule

    init(_ field: String, _ rule: Rule) {
        self.field = field
        self.rule = rule
    }
}

extension ServerAPI {
    /// An endpoint of the App Store Server API, the unit of Apple's quotas (facts/server-api §7). An endpoint and its
    /// deprecated version share one case: Apple counts them separately, so the shared quota stays below both.
    public enum Endpoint: String, CaseIterable, Sendable {
        case transactionInfo
        case history
        case subscriptionStatuses
        case orderLookup
        case refundHistory
        case consumption
        case extendRenewal
        case massExtension
        case massExtensionStatus
        case testNotification
        case testNotificationStatus
        case notificationHistory
        case appAccountToken
        case appTransactionInfo
        case finish
    }
}

/// One request, before its environment is chosen.
struct ServerAPICall: Sendable {
    let endpoint: ServerAPI.Endpoint
    let method: AppleRequest.Method
    /// Path and query, percent-encoded.
    let target: String
    var body: JSONValue?
    /// The only status that means success.
    var success = 200
    /// In bytes. A response with twenty tokens has about 140 kB; twenty notifications have three times as much
    /// (facts/limits §3).
    var responseLimit = 1 << 20

    static let pageLimit = 4 << 20

    init(_ endpoint: ServerAPI.Endpoint, _ method: AppleRequest.Method, _ target: String, body: JSONValue? = nil) {
        self.endpoint = endpoint
        self.method = method
        self.target = target
        self.body = body
    }
}

/// The JWTs that authorize requests (facts/server-api §2). A token is reused until a minute before its end: Apple
/// allows a lifetime of an hour, this client uses five minutes. Tokens leave this client only in a header.
package final class BearerTokens: Sendable {
    private struct Token {
        let text: String
        /// In seconds since 1970.
        let issued: Int64
    }

    private let key: InAppPurchaseKey
    private let bundleID: String
    private let newest = Locked<Token?>(nil)

    /// In seconds.
    package static let life: Int64 = 300
    static let margin: Int64 = 60

    init(key: InAppPurchaseKey, bundleID: String) {
        self.key = key
        self.bundleID = bundleID
    }

    /// A token that is valid at this time. After the clock was set back, a new one: Apple refuses tokens from the
    /// future.
    func token(at now: Instant) throws(SigningError) -> String {
        let seconds = now.seconds
        let kept = newest.withLock { $0 }
        if let kept, kept.issued <= seconds, seconds < kept.issued + Self.life - Self.margin { return kept.text }
        let text = try key.token(claims: [
            "iss": .string(key.issuerID), "iat": .int(seconds), "exp": .int(seconds + Self.life),
            "aud": "appstoreconnect-v1", "bid": .string(bundleID),
        ])
        newest.withLock { $0 = Token(text: text, issued: seconds) }
        return text
    }
}
