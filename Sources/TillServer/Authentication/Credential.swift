import TillBilling
import TillLedger

/// Who is calling.
enum Credential: Sendable, Hashable {
    case nobody
    /// An app's backend, by its secret key.
    case backend(keyID: String)
    /// An app's user, by a user token.
    case user(UserID)

    /// As it stands in evidence and idempotency scopes.
    var name: String {
        switch self {
        case .nobody: "nobody"
        case .backend(let keyID): "key:\(keyID)"
        case .user(let user): "user:\(user)"
        }
    }

    /// A backend acts for everybody, a user for nobody else.
    func mayActFor(_ user: UserID) throws {
        switch self {
        case .backend: return
        case .user(user): return
        #if PLANTED_MISTAKES
            case .user(let twin) where PlantedMistake.comparesCanonically.isPlanted && twin.text == user.text: return
        #endif
        case .user, .nobody: throw Refused(.forbidden)
        }
    }

    func requireBackend() throws {
        guard case .backend = self else { throw Refused(.forbidden) }
    }

    /// The user a request is for: a token's own; or whoever a backend names, which it then must.
    func buyer(naming named: String?) throws -> UserID {
        switch self {
        case .user(let user):
            if let named, UserID(named) != user { throw Refused(.forbidden, "userId: not the token's own user") }
            return user
        case .backend:
            guard let named else { throw Refused(.invalidField, "userId: missing") }
            return try Bounds.user(named)
        case .nobody: throw Refused(.unauthorized)
        }
    }
}

/// A credential, and what kind of customer its token speaks of.
struct Bearer: Sendable {
    let credential: Credential
    /// Nil for a backend.
    let kind: CustomerKind?
}
