import TillAPI
import TillBilling
import TillHTTP
import TillLedger

/// One request on its way through a handler, with its authenticated caller.
struct Call: Sendable {
    let request: HTTPRequest
    let parameters: PathParameters
    let credential: Credential
    /// The kind of customer that the token states; nil for a backend.
    var kind: CustomerKind?
    /// The operator who calls, on routes open to operators.
    var operatorID: String?
    /// Set by `Idempotency`: an id that a repetition of this call under the same key gets again.
    var repeatableID: UniqueID?

    init(request: HTTPRequest, parameters: PathParameters, credential: Credential) {
        self.request = request
        self.parameters = parameters
        self.credential = credential
    }

    /// The caller's name in records: `key:backend`, `operator:anna`.
    var caller: String { operatorID.map { "operator:\($0)" } ?? credential.name }

    /// The user in the path, if this caller may read and act for that user.
    func userInPath() throws -> UserID {
        let user = try InputLimits.user(parameters["userId"])
        try credential.mayActFor(user)
        return user
    }

    /// The order id in the path. A text that is not a UUID gives `unknown_order`.
    func orderInPath() throws -> OrderID {
        guard let id = OrderID(parameters["id"]) else { throw RefusalError(.unknownOrder) }
        return id
    }

    /// `?environment=`, or the user's usual environment.
    func environment(for user: UserID, _ configuration: ServerConfiguration) throws -> StoreEnvironment {
        guard let asked = request.queryValue("environment") else {
            let seesSandbox = configuration.reviewUsers.contains(user) && !configuration.apple.acceptsXcode
            return seesSandbox ? .sandbox : configuration.usualEnvironment
        }
        return try InputLimits.environment(asked, on: configuration.ledger)
    }

    /// `?limit=`, from 1 to 100; 20 by default.
    func limit() throws -> Int {
        guard let asked = request.queryValue("limit") else { return 20 }
        guard let limit = Int(asked), (1...100).contains(limit) else {
            throw RefusalError(.invalidField, "limit: 1 to 100", zh: "limit：应为 1 到 100")
        }
        return limit
    }
}
