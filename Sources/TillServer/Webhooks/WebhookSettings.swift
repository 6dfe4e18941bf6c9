import TillBilling
import TillCrypto

/// Where events are pushed to.
public struct WebhookSettings: Sendable {
    public var endpoints: [WebhookEndpoint] = []
    /// Whether an endpoint may be in a network of our own, where plain http will do. Who sends must hold to it too.
    public var allowsPrivate = false

    public init() {}

    func endpoint(_ id: String) -> WebhookEndpoint? { endpoints.first { $0.id.hasSameBytes(as: id) } }
}

/// One of the places that events are pushed to.
public struct WebhookEndpoint: Sendable {
    /// Its name in histories: all that was sent is remembered under it.
    public let id: String
    public let url: WebhookURL
    /// The one in use first, then those that receivers may still check with while they take up the new one.
    public let secrets: [WebhookSecret]
    /// What it wants to hear of; nil means everything.
    public var types: Set<String>?
    /// Nothing is sent to it, and nothing is forgotten.
    public var isDisabled = false
    /// An endpoint that was never seen before gets what happened since then; since the server started, if nil.
    public var start: Instant?

    /// - Parameter secrets: at least one.
    public init(id: String, url: WebhookURL, secrets: [WebhookSecret]) {
        precondition(!secrets.isEmpty, "nothing is sent unsigned")
        self.id = id
        self.url = url
        self.secrets = secrets
    }

    func wants(_ type: String) -> Bool { types?.contains(type) ?? true }
}

/// A secret as Standard Webhooks writes it: `whsec_` and 24 to 64 bytes in base64.
public struct WebhookSecret: Sendable {
    public static let prefix = "whsec_"
    let bytes: [UInt8]

    /// Nil for anything else.
    public init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Base64.decode(text.dropFirst(Self.prefix.count)),
            (24...64).contains(bytes.count)
        else { return nil }
        self.bytes = bytes
    }
}

/// An endpoint's address, checked as far as it can be without asking anybody. Where the name leads is looked at when
/// a connection is made, by whoever makes it.
public struct WebhookURL: Sendable, Hashable, CustomStringConvertible {
    public enum Fault: String, Error, Sendable, CaseIterable {
        /// More than 2048 bytes, or what is not printable ASCII.
        case form
        case scheme
        /// Plain http, and networks of our own are not allowed.
        case plain
        /// A user or a password in it, which would end up in histories.
        case credentials
        case host
        case port
        /// A `#`, which never reaches a server.
        case fragment
    }

    public let description: String

    public init(_ text: String, allowsPlain: Bool) throws(Fault) {
        // Readers of URLs differ about backslashes, so none gets to see one.
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

    private static func check(_ authority: Substring) throws(Fault) {
        let port: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw .host }
            let address = authority[authority.index(after: authority.startIndex)..<end]
            // A zone (`%eth0`) is for addresses of one link, which no endpoint has.
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
