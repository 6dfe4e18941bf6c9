import TillAPI
import TillBilling
import TillHTTP
import TillLedger

/// One request on its way through a handler, with who sent it.
struct Call: Sendable {
    let request: HTTPRequest
    let parameters: PathParameters
    let credential: Credential
    /// What kind of customer the token speaks of; nil for a backend.
    var kind: CustomerKind?
    /// The operator who calls, where operators may.
    var operatorID: String?
    /// Set by `Idempotency`: an id that a repetition of this call under the same key gets again.
    var repeatableID: UniqueID?

    init(request: HTTPRequest, parameters: PathParameters, credential: Credential) {
        self.request = request
        self.parameters = parameters
        self.credential = credential
    }

    /// Who calls, as it stands on record: `key:backend`, `operator:anna`.
    var caller: String { operatorID.map { "operator:\($0)" } ?? credential.name }

    /// The user in the path, if this caller may read and act for that user.
    func userInPath() throws -> UserID {
        let user = try Bounds.user(parameters["userId"])
        try credential.mayActFor(user)
        return user
    }

    /// The order id in the path. One that is no UUID names no order.
    func orderInPath() throws -> OrderID {
        guard let id = OrderID(parameters["id"]) else { throw Refused(.unknownOrder) }
        return id
    }

    /// `?environment=`, or what is usual for that user.
    func environment(for user: UserID, _ configuration: ServerConfiguration) throws -> Environment {
        guard let asked = request.queryValue("environment") else {
            return configuration.reviewUsers.contains(user) ? .sandbox : configuration.usualEnvironment
        }
        switch asked {
        case "production": return .production
        case "sandbox": return .sandbox
        default: throw Refused(.invalidField, "environment: production or sandbox, not \(asked.prefix(40))")
        }
    }

    /// `?limit=`, 1 to 100, 20 if absent.
    func limit() throws -> Int {
        guard let asked = request.queryValue("limit") else { return 20 }
        guard let limit = Int(asked), (1...100).contains(limit) else {
            throw Refused(.invalidField, "limit: 1 to 100")
        }
        return limit
    }

    /// `?cursor=`, as an earlier page gave it.
    func cursor() throws -> Int64 {
        guard let asked = request.queryValue("cursor") else { return Int64.max }
        guard let cursor = Int64(asked), cursor > 0 else {
            throw Refused(.invalidField, "cursor: as nextCursor of an earlier page, unchanged")
        }
        return cursor
    }
}

/// What the strings of outsiders may be.
enum Bounds {
    static func user(_ text: String) throws -> UserID {
        UserID(try string(text, "userId", UserID.maximumLength))
    }

    static func device(_ text: String) throws -> DeviceID { DeviceID(try string(text, "deviceId", 128)) }

    /// What a person writes to a person: 1 to `maximum` UTF-8 bytes without control characters. Marks for the direction
    /// of text belong in it.
    static func prose(_ text: String, _ field: String, _ maximum: Int) throws -> String {
        guard !text.isEmpty, text.utf8.count <= maximum else {
            throw Refused(.invalidField, "\(field): 1 to \(maximum) bytes")
        }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw Refused(.invalidField, "\(field): no control characters")
        }
        return text
    }

    /// An identifier of 1 to `maximum` UTF-8 bytes that a person can read as it is (R10).
    static func string(_ text: String, _ field: String, _ maximum: Int) throws -> String {
        guard !text.isEmpty, text.utf8.count <= maximum else {
            throw Refused(.invalidField, "\(field): 1 to \(maximum) bytes")
        }
        if let scalar = text.firstForbiddenScalar {
            throw Refused(
                .invalidField,
                "\(field): holds \(scalar.codePoint). Control characters, line separators and marks that change the "
                    + "direction of text are not allowed")
        }
        return text
    }
}
