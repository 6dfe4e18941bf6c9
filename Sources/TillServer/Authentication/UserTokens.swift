import TillBilling
import TillCrypto
import TillLedger

/// Verifies users' tokens. A refusal says which check failed. Before the signature is verified, it says nothing that
/// the token's sender does not know; the user's name and the claims are read only afterwards.
struct UserTokens: Sendable {
    let keys: [UserTokenKey]

    /// Seconds by which the clock of a token issuer may run ahead of the server's clock.
    static let clockLead = 60.0

    struct Verified: Sendable {
        let user: UserID
        /// Whether the token says that the user is a guest; nil if it says nothing.
        let guest: Bool?
        let key: UserTokenKey
    }

    private struct Header: Decodable {
        let alg: String
        let kid: String?
        let crit: [String]?
    }

    private struct Claims: Decodable {
        let sub: String
        let exp: Double
        let nbf: Double?
        let iat: Double?
        /// Whether the user is a guest. Tokens of accounts omit it.
        let guest: Bool?
        let iss: String?
        let aud: Audience?
    }

    /// `aud` is one text or a list of texts (RFC 7519 §4.1.3).
    private struct Audience: Decodable {
        let all: [String]
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let one = try? container.decode(String.self) {
                all = [one]
            } else {
                all = try container.decode([String].self)
            }
        }
    }

    func verify(_ token: CompactToken, at now: Instant) throws -> Verified {
        let key = try signer(of: token, at: now)
        guard key.validity.state(at: now) == .valid else { throw key.validity.refusal(of: key.id, at: now) }
        guard let claims = try? JSONText.decode(Claims.self, from: token.payload) else {
            throw RefusalError(
                .unauthorized, "the payload must be JSON with the text sub and the number exp; nbf and iat are numbers",
                zh: "载荷应为 JSON：sub 为文本，exp 为数字；nbf 与 iat 也为数字")
        }
        try Self.check(claims, of: key, at: now)
        return Verified(user: try Self.subject(claims.sub), guest: claims.guest, key: key)
    }

    // MARK: Signature

    /// The key that signed the token, a currently valid one first. The key decides the algorithm: a token that names
    /// another one is refused.
    private func signer(of token: CompactToken, at now: Instant) throws -> UserTokenKey {
        guard let bytes = token.header, let header = try? JSONText.decode(Header.self, from: bytes) else {
            throw RefusalError(
                .unauthorized, "the token's header must be JSON with the text alg", zh: "令牌的头部应为 JSON，且 alg 为文本")
        }
        guard header.crit == nil else {
            throw RefusalError(.unauthorized, "crit: not supported", zh: "crit：不支持")
        }
        guard !keys.isEmpty else {
            throw RefusalError(
                .unauthorized, "this server has no key for user tokens (userTokens)", zh: "本服务器没有用户令牌的密钥（userTokens）")
        }
        let candidates = keys.filter { key in header.kid.map { key.id.hasSameBytes(as: $0) } ?? true }
        guard let first = candidates.first else {
            throw RefusalError(
                .unauthorized, "kid: no key for user tokens has this id", zh: "kid：没有这个 id 的用户令牌密钥")
        }
        let suitable = candidates.filter { $0.algorithm.name == header.alg }
        guard !suitable.isEmpty else {
            let names = Set(candidates.map(\.algorithm.name)).sorted().joined(separator: ", ")
            throw RefusalError(
                .unauthorized, "alg: must be \(names) for this key", zh: "alg：此密钥要求 \(names)")
        }
        let (valid, others) = (
            suitable.filter { $0.validity.state(at: now) == .valid },
            suitable.filter { $0.validity.state(at: now) != .valid }
        )
        if let key = (valid + others).first(where: { Self.isSigned(token, by: $0) }) { return key }
        throw candidates.count == 1
            ? RefusalError(
                .unauthorized, "signature: not made with the key \(first.id)", zh: "签名：不是用密钥 \(first.id) 签署的")
            : RefusalError(
                .unauthorized, "signature: not made with any of the server's keys", zh: "签名：不是用本服务器的任何一个密钥签署的")
    }

    private static func isSigned(_ token: CompactToken, by key: UserTokenKey) -> Bool {
        switch key.algorithm {
        case .hs256(let secret): token.isAuthenticated(by: secret)
        case .es256(let publicKey): token.isSigned(by: publicKey)
        }
    }

    // MARK: Claims

    private static func check(_ claims: Claims, of key: UserTokenKey, at instant: Instant) throws {
        let now = Double(instant.milliseconds) / 1_000
        guard claims.exp > now else {
            let since = time(claims.exp)
            throw RefusalError(
                .unauthorized, "exp: the token expired at \(since)", zh: "exp：令牌已于 \(since) 到期")
        }
        if let start = claims.nbf, start > now {
            let from = time(start)
            throw RefusalError(
                .unauthorized, "nbf: the token is valid from \(from) on", zh: "nbf：令牌从 \(from) 起才有效")
        }
        if let issued = claims.iat, issued > now + clockLead {
            throw RefusalError(
                .unauthorized, "iat: must not be in the future; the server's time is \(instant)",
                zh: "iat：不能晚于当前时间；服务器时间为 \(instant)")
        }
        try checkLifetime(claims, of: key)
        if let issuer = key.issuer, claims.iss?.hasSameBytes(as: issuer) != true {
            throw RefusalError(.unauthorized, "iss: differs from the configuration", zh: "iss：与配置不一致")
        }
        if let audience = key.audience, claims.aud?.all.contains(where: { $0.hasSameBytes(as: audience) }) != true {
            throw RefusalError(.unauthorized, "aud: differs from the configuration", zh: "aud：与配置不一致")
        }
    }

    private static func checkLifetime(_ claims: Claims, of key: UserTokenKey) throws {
        guard let longest = key.maximumLifetime else { return }
        guard let issued = claims.iat else {
            throw RefusalError(
                .unauthorized, "iat: missing; tokens of this key must carry it", zh: "iat：缺失；由此密钥签发的令牌必须包含它")
        }
        guard claims.exp - issued <= Double(longest) else {
            throw RefusalError(
                .unauthorized, "exp: tokens of this key are valid for at most \(longest) seconds",
                zh: "exp：由此密钥签发的令牌有效期最长为 \(longest) 秒")
        }
    }

    /// A time of the token; claims are any numbers.
    private static func time(_ seconds: Double) -> String {
        // Years 0 to 9999; other numbers are shown as they are.
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return "\(seconds)" }
        return Instant(milliseconds: Int64(seconds * 1_000)).description
    }

    /// Refuses a token whose subject is not a valid user id.
    private static func subject(_ text: String) throws -> UserID {
        do {
            let user = UserID(try InputLimits.string(text, "sub", UserID.maximumLength))
            guard !user.isPseudonym else {
                throw RefusalError(
                    .unauthorized, "sub: stands for an erased customer", zh: "sub：代表一位已抹除的客户")
            }
            return user
        } catch let refused as RefusalError {
            throw RefusalError(.unauthorized, detail: refused.detail)
        }
    }
}
