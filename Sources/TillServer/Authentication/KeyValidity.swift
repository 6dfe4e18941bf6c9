import TillBilling
import TillCrypto
import TillLedger

/// When a key is accepted: from `notBefore` on, and until the moment `expires`, at which it is refused.
public struct KeyValidity: Sendable, Hashable {
    public var notBefore: Instant?
    public var expires: Instant?

    public static let always = KeyValidity()

    public init(notBefore: Instant? = nil, expires: Instant? = nil) {
        self.notBefore = notBefore
        self.expires = expires
    }

    public enum State: String, Sendable {
        case notYetValid
        case valid
        case expired
    }

    public func state(at now: Instant) -> State {
        if let expires, expires <= now { return .expired }
        if let notBefore, now < notBefore { return .notYetValid }
        return .valid
    }

    /// For a caller who has proved to hold the key at a time when it is not accepted.
    func refusal(of id: String, at now: Instant) -> RefusalError {
        if let notBefore, state(at: now) == .notYetValid {
            return RefusalError(
                .unauthorized, "the key \(id) is accepted from \(notBefore) on", zh: "密钥 \(id) 从 \(notBefore) 起才有效")
        }
        let since = expires.map { "\($0)" } ?? ""
        return RefusalError(.unauthorized, "the key \(id) expired at \(since)", zh: "密钥 \(id) 已于 \(since) 到期")
    }
}

/// A key of the configuration, without its secret.
public struct ConfiguredKey: Sendable, Hashable {
    public let name: KeyUses.Key
    public let validity: KeyValidity

    /// The keys of the three lists, in the order of the configuration.
    public static func all(
        _ secretKeys: [SecretKey], _ userTokens: [UserTokenKey], _ operators: [SecretKey]
    ) -> [ConfiguredKey] {
        func named(_ kind: KeyUses.Kind, _ id: String, _ validity: KeyValidity) -> ConfiguredKey {
            ConfiguredKey(name: KeyUses.Key(kind: kind, id: id), validity: validity)
        }
        return secretKeys.map { named(.secretKeys, $0.id, $0.validity) }
            + userTokens.map { named(.userTokens, $0.id, $0.validity) }
            + operators.map { named(.operators, $0.id, $0.validity) }
    }
}

extension [SecretKey] {
    enum Finding {
        case accepted(SecretKey)
        /// It is the text of this key, at a time when it is not accepted.
        case refused(SecretKey)
        case unknown
    }

    /// The key with this text. Every entry is compared, so the time of the answer says nothing about the keys.
    func find(_ text: String, at now: Instant) -> Finding {
        let digest = Digest.sha256.hash(text.utf8)
        let found = filter { constantTimeEqual($0.sha256, digest) }
        if let key = found.first(where: { $0.validity.state(at: now) == .valid }) { return .accepted(key) }
        return found.first.map { .refused($0) } ?? .unknown
    }
}
