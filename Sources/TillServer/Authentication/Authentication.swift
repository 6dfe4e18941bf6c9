import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

/// Authenticates a caller by the `Authorization: Bearer …` header.
struct Authentication: Sendable {
    private let secretKeys: [SecretKey]
    private let userTokens: [UserTokenKey]
    private let guests: GuestTerms
    private let clock: Server.Clock

    /// Seconds by which the clock of a token issuer may run ahead of the server's clock.
    static let clockLead = 60.0
    /// Maximum length of a credential, in bytes. A longer one is refused unread.
    static let maximumLength = 8_192

    init(configuration: ServerConfiguration, clock: @escaping Server.Clock) {
        secretKeys = configuration.secretKeys
        userTokens = configuration.userTokens
        guests = configuration.guests
        self.clock = clock
    }

    func credential(of request: HTTPRequest) throws -> Credential { try bearer(of: request).credential }

    func credential(bearer text: String) throws -> Credential { try bearer(text).credential }

    func bearer(of request: HTTPRequest) throws -> Bearer {
        guard let header = request.headers["Authorization"], header.utf8.count <= Self.maximumLength else {
            throw RefusalError(.unauthorized)
        }
        let parts = header.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw RefusalError(.unauthorized) }
        return try bearer(String(parts[1]))
    }

    func bearer(_ text: String) throws -> Bearer {
        if let token = CompactToken(text) {
            let (user, claim) = try user(of: token)
            return Bearer(credential: .user(user), kind: guests.kind(of: user, claim: claim))
        }
        let digest = Digest.sha256.hash(text.utf8)
        for key in secretKeys where constantTimeEqual(key.sha256, digest) {
            return Bearer(credential: .backend(keyID: key.id), kind: nil)
        }
        throw RefusalError(.unauthorized)
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

    private func user(of token: CompactToken) throws -> (UserID, guest: Bool?) {
        guard let headerBytes = token.header,
            let header = try? JSONText.decode(Header.self, from: headerBytes), header.crit == nil
        else { throw RefusalError(.unauthorized) }
        let candidates = userTokens.filter { key in header.kid.map { key.id.hasSameBytes(as: $0) } ?? true }
        guard let key = candidates.first(where: { isSigned(token, header, by: $0) }),
            let claims = try? JSONText.decode(Claims.self, from: token.payload)
        else { throw RefusalError(.unauthorized) }
        let now = Double(clock().milliseconds) / 1_000
        guard claims.exp > now else { throw RefusalError(.unauthorized, "exp: the token has expired", zh: "exp：令牌已过期") }
        if let start = claims.nbf, start > now {
            throw RefusalError(.unauthorized, "nbf: the token isn't valid yet", zh: "nbf：令牌尚未生效")
        }
        if let issued = claims.iat, issued > now + Self.clockLead {
            throw RefusalError(.unauthorized, "iat: must not be in the future", zh: "iat：不能晚于当前时间")
        }
        if let longest = key.maximumLifetime {
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
        if let issuer = key.issuer, claims.iss?.hasSameBytes(as: issuer) != true {
            throw RefusalError(.unauthorized, "iss: differs from the configuration", zh: "iss：与配置不一致")
        }
        if let audience = key.audience, claims.aud?.all.contains(where: { $0.hasSameBytes(as: audience) }) != true {
            throw RefusalError(.unauthorized, "aud: differs from the configuration", zh: "aud：与配置不一致")
        }
        return (try Self.subject(claims.sub), claims.guest)
    }

    /// Refuses a token whose subject is not a valid user id.
    private static func subject(_ text: String) throws -> UserID {
        do {
            return UserID(try InputLimits.string(text, "sub", UserID.maximumLength))
        } catch let refused as RefusalError {
            throw RefusalError(.unauthorized, detail: refused.detail)
        }
    }

    /// The key decides the algorithm: a token that names a different one fails the check.
    private func isSigned(_ token: CompactToken, _ header: Header, by key: UserTokenKey) -> Bool {
        switch key.algorithm {
        case .hs256(let secret): header.alg == "HS256" && token.isAuthenticated(by: secret)
        case .es256(let publicKey): header.alg == "ES256" && token.isSigned(by: publicKey)
        }
    }
}

/// The authenticated caller.
enum Credential: Sendable, Hashable {
    case anonymous
    /// An app's backend, authenticated by its secret key.
    case backend(keyID: String)
    /// An app's user, authenticated by a user token.
    case user(UserID)

    /// The name recorded in evidence and in idempotency scopes.
    var name: String {
        switch self {
        case .anonymous: "anonymous"
        case .backend(let keyID): "key:\(keyID)"
        case .user(let user): "user:\(user)"
        }
    }

    /// A backend may act for every user, a user only for themselves.
    func mayActFor(_ user: UserID) throws {
        switch self {
        case .backend: return
        case .user(user): return
        #if PLANTED_MISTAKES
            case .user(let twin) where PlantedMistake.comparesCanonically.isPlanted && twin.text == user.text: return
        #endif
        case .user, .anonymous: throw RefusalError(.forbidden)
        }
    }

    func requireBackend() throws {
        guard case .backend = self else { throw RefusalError(.forbidden) }
    }

    /// The user a request is for: the user of the token, or the user that a backend names. A backend must name one.
    func buyer(naming named: String?) throws -> UserID {
        switch self {
        case .user(let user):
            if let named, UserID(named) != user {
                throw RefusalError(.forbidden, "userId: must be the token's own user", zh: "userId：必须是令牌所属的用户")
            }
            return user
        case .backend:
            guard let named else { throw RefusalError(.invalidField, "userId: missing", zh: "userId：缺失") }
            return try InputLimits.user(named)
        case .anonymous: throw RefusalError(.unauthorized)
        }
    }
}

/// A credential, and the kind of customer that its token states.
struct Bearer: Sendable {
    let credential: Credential
    /// Nil for a backend.
    let kind: CustomerKind?
}
