import TillBilling
import TillCrypto
import TillLedger

/// The endpoints that receive events.
public struct WebhookSettings: Sendable {
    public var endpoints: [WebhookEndpoint] = []
    /// Whether endpoints in private networks are allowed; they may use plain HTTP. The sender must apply the same rule.
    public var allowsPrivate = false

    public init() {}

    func endpoint(_ id: String) -> WebhookEndpoint? { endpoints.first { $0.id.hasSameBytes(as: id) } }
}

/// One endpoint that receives events.
public struct WebhookEndpoint: Sendable, Hashable {
    /// Its name in the delivery history.
    public let id: String
    public let url: WebhookURL
    /// The current secret first, then older ones that receivers may still verify with during a change.
    public let secrets: [WebhookSecret]
    /// The event types that it receives; nil for all.
    public var types: Set<String>?
    /// Nothing is sent to it; its history and its position are kept.
    public var isDisabled = false
    /// A new endpoint gets the events from this instant on; if nil, from the moment when the server learns of it.
    public var start: Instant?

    /// - Parameter secrets: at least one.
    public init(id: String, url: WebhookURL, secrets: [WebhookSecret]) {
        precondition(!secrets.isEmpty, "nothing is sent unsigned")
        self.id = id
        self.url = url
        self.secrets = secrets
    }

    /// A restore concerns every receiver: what it has is newer than the ledger.
    func wants(_ type: String) -> Bool {
        type == EventType.ledgerRestored.rawValue || types?.contains(type) ?? true
    }
}

/// A secret as Standard Webhooks writes it: `whsec_` and 24 to 64 bytes in base64.
public struct WebhookSecret: Sendable, Hashable {
    public static let prefix = "whsec_"
    let bytes: [UInt8]

    /// Nil for any other text.
    public init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Base64.decode(text.dropFirst(Self.prefix.count)),
            (24...64).contains(bytes.count)
        else { return nil }
        self.bytes = bytes
    }
}

/// An endpoint's URL, checked as far as possible without a lookup. The sender checks the resolved address when it opens
/// a connection.
public struct WebhookURL: Sendable, Hashable, CustomStringConvertible {
    public enum FormatError: String, Error, Sendable, CaseIterable {
        /// Longer than 2048 bytes, or contains bytes other than printable ASCII.
        case form
        case scheme
        /// Plain HTTP, although private networks are not allowed.
        case plain
        /// Contains a user or a password, which would end up in histories.
        case credentials
        case host
        case port
        /// Contains a `#`, which is never sent to a server.
        case fragment
    }

    public let description: String

    public init(_ text: String, allowsPlain: Bool) throws(FormatError) {
        // URL parsers treat backslashes differently, so a URL with one is refused.
        guard (1...2_048).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { throw .form }
        let lowered = text.lowercased()
        let isSecure = lowered.hasPrefix("https://")
        guard isSecure || lowered.hasPrefix("http://") else { throw .scheme }
        guard isSecure || allowsPlain else { throw .plain }
        guard !text.contains("#") else { throw .fragment }
        let authority = text.dropFirst(isSecure ? 8 : 7).prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw .credentials }
        try Self.check(authority)
        description = text
    }

    private static func check(_ authority: Substring) throws(FormatError) {
        let port: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw .host }
            let address = authority[authority.index(after: authority.startIndex)..<end]
            // A zone (`%eth0`) belongs to link-local addresses, which no endpoint has.
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                throw .host
            }
            port = authority[authority.index(after: end)...]
        } else {
            let host = authority.prefix { $0 != ":" }
            guard (1...253).contains(host.utf8.count), host != ".",
                host.utf8.allSatisfy({
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || $0 == 0x2D || $0 == 0x2E
                        || $0 == 0x5F
                })
            else { throw .host }
            port = authority[host.endIndex...]
        }
        guard port.isEmpty || port.hasPrefix(":") && (UInt16(port.dropFirst()) ?? 0) > 0 else { throw .port }
    }
}
