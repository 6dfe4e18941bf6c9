import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

/// Authenticates a caller by the `Authorization: Bearer …` header.
struct Authentication: Sendable {
    private let secretKeys: [SecretKey]
    private let userTokens: UserTokens
    private let guests: GuestTerms
    private let clock: Server.Clock
    private let uses: KeyUses

    /// Maximum length of a credential, in bytes. A longer one is refused unread.
    static let maximumLength = 8_192

    init(configuration: ServerConfiguration, clock: @escaping Server.Clock, uses: KeyUses) {
        secretKeys = configuration.secretKeys
        userTokens = UserTokens(keys: configuration.userTokens)
        guests = configuration.guests
        self.clock = clock
        self.uses = uses
    }

    func credential(of request: HTTPRequest) throws -> Credential { try bearer(of: request).credential }

    func credential(bearer text: String) throws -> Credential { try bearer(text).credential }

    func bearer(of request: HTTPRequest) throws -> Bearer {
        guard let header = request.headers["Authorization"] else {
            throw RefusalError(
                .unauthorized, "the header Authorization is missing", zh: "缺少 Authorization 头")
        }
        // By bytes: a request has this header, and splitting it by characters costs as much as a statement.
        let parts = header.utf8.count <= Self.maximumLength ? header.utf8.split(separator: UInt8(ascii: " ")) : []
        guard parts.count == 2, parts[0].elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else {
            throw RefusalError(
                .unauthorized, "Authorization: must be Bearer and one key or token of at most 8192 bytes",
                zh: "Authorization：应为 Bearer 加一个不超过 8192 字节的密钥或令牌")
        }
        return try bearer(String(Substring(parts[1])))
    }

    func bearer(_ text: String) throws -> Bearer {
        let now = clock()
        if let token = CompactToken(text) {
            let found = try userTokens.verify(token, at: now)
            uses.accepted(found.key.id, of: .userTokens, at: now)
            return Bearer(credential: .user(found.user), kind: guests.kind(of: found.user, claim: found.guest))
        }
        switch secretKeys.find(text, at: now) {
        case .accepted(let key):
            uses.accepted(key.id, of: .secretKeys, at: now)
            return Bearer(credential: .backend(keyID: key.id), kind: nil)
        case .refused(let key): throw key.validity.refusal(of: key.id, at: now)
        case .unknown:
            throw RefusalError(
                .unauthorized, "this is neither a secret key of this server nor a user token (JWT)",
                zh: "这既不是本服务器的后端密钥，也不是用户令牌（JWT）")
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
