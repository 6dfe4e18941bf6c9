import TillBilling
import TillCrypto
import TillHTTP

/// Finds out who is calling from `Authorization: Bearer …` (CONTRACT §2).
struct Authentication: Sendable {
    private let secretKeys: [SecretKey]
    private let userTokens: [UserTokenKey]
    private let clock: Server.Clock

    /// Longest credential that is looked at, in bytes.
    static let maximumLength = 8_192

    init(configuration: ServerConfiguration, clock: @escaping Server.Clock) {
        secretKeys = configuration.secretKeys
        userTokens = configuration.userTokens
        self.clock = clock
    }

    func credential(of request: HTTPRequest) throws -> Credential {
        guard let header = request.headers["Authorization"], header.utf8.count <= Self.maximumLength else {
            throw Refused(.unauthorized)
        }
        let parts = header.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Refused(.unauthorized) }
        return try credential(bearer: String(parts[1]))
    }

    func credential(bearer text: String) throws -> Credential {
        if let token = CompactToken(text) { return .user(try user(of: token)) }
        let digest = Digest.sha256.hash(text.utf8)
        for key in secretKeys where constantTimeEqual(key.sha256, digest) {
            return .backend(keyID: key.id)
        }
        throw Refused(.unauthorized)
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
        let iss: String?
        let aud: Audience?
    }

    /// `aud` may be one text or a list (RFC 7519 §4.1.3).
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

    private func user(of token: CompactToken) throws -> UserID {
        guard let headerBytes = token.header,
            let header = try? JSONText.decode(Header.self, from: headerBytes), header.crit == nil
        else { throw Refused(.unauthorized) }
        let candidates = userTokens.filter { header.kid == nil || $0.id == header.kid }
        guard let key = candidates.first(where: { isSigned(token, header, by: $0) }),
            let claims = try? JSONText.decode(Claims.self, from: token.payload)
        else { throw Refused(.unauthorized) }
        let now = Double(clock().milliseconds) / 1_000
        guard claims.exp > now else { throw Refused(.unauthorized, "exp: the token has expired") }
        if let start = claims.nbf, start > now { throw Refused(.unauthorized, "nbf: the token isn't valid yet") }
        if let issuer = key.issuer, claims.iss != issuer { throw Refused(.unauthorized, "iss: not as configured") }
        if let audience = key.audience, claims.aud?.all.contains(audience) != true {
            throw Refused(.unauthorized, "aud: not as configured")
        }
        return try Bounds.user(claims.sub)
    }

    /// The key decides the algorithm; a token that names another is nobody's.
    private func isSigned(_ token: CompactToken, _ header: Header, by key: UserTokenKey) -> Bool {
        switch key.algorithm {
        case .hs256(let secret): header.alg == "HS256" && token.isAuthenticated(by: secret)
        case .es256(let publicKey): header.alg == "ES256" && token.isSigned(by: publicKey)
        }
    }
}
