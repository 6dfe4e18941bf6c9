import TillBilling
import TillCrypto

/// The JWTs that authorize requests (facts/server-api §2). One serves until a minute before its end: Apple allows an
/// hour, we take five minutes, and a token never leaves this client but in a header.
final class BearerTokens: Sendable {
    private struct Token {
        let text: String
        /// Seconds.
        let issued: Int64
    }

    private let key: InAppPurchaseKey
    private let bundleID: String
    private let newest = Locked<Token?>(nil)

    /// Seconds.
    static let life: Int64 = 300
    static let margin: Int64 = 60

    init(key: InAppPurchaseKey, bundleID: String) {
        self.key = key
        self.bundleID = bundleID
    }

    /// A token that is good at that time. If the clock was set back, a new one: Apple takes none from the future.
    func token(at now: Instant) throws(IssuingFault) -> String {
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
