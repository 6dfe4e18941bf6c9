import TillBilling
import TillCrypto
import TillHTTP
import TillStorage

/// `Idempotency-Key`: a repeated POST is answered as the first one was, without doing anything again (CONTRACT §2).
/// What is not final (202, 429 and 5xx) is never kept, so a retry gets its chance.
struct Idempotency: Sendable {
    private let database: any Database
    private let clock: Server.Clock
    private let underWay = Locked<Set<IdempotencyTable.Scope>>([])

    init(database: any Database, clock: @escaping Server.Clock) {
        self.database = database
        self.clock = clock
    }

    func once(_ call: Call, _ action: (Call) async -> HTTPResponse) async throws -> HTTPResponse {
        guard let key = call.request.headers["Idempotency-Key"] else { return await action(call) }
        guard (1...255).contains(key.utf8.count) else {
            throw Refused(.invalidField, "Idempotency-Key: 1 to 255 bytes")
        }
        let scope = IdempotencyTable.Scope(
            credential: call.credential.name, route: "\(call.request.method.rawValue) \(call.request.path)", key: key)
        guard underWay.withLock({ $0.insert(scope).inserted }) else { throw Refused(.idempotencyInFlight) }
        defer { underWay.withLock { _ = $0.remove(scope) } }

        let digest = Digest.sha256.hash(call.request.body)
        if let known = try await database.read({ try IdempotencyTable($0).find(scope) }) {
            guard known.digest == digest else { throw Refused(.idempotencyKeyReused) }
            return Self.response(known)
        }
        var repeatable = call
        repeatable.repeatableID = Self.id(for: scope)
        let response = await action(repeatable)
        guard response.status != 202, response.status != 429, response.status < 500 else { return response }
        let answer = IdempotencyTable.Answer(digest: digest, status: response.status, body: response.body)
        let now = clock()
        try await database.write { try IdempotencyTable($0).insert(scope, answer, at: now) }
        return response
    }

    /// The same id for every repetition, so that even a crash between the order and this answer makes no second one.
    private static func id(for scope: IdempotencyTable.Scope) -> UniqueID {
        let text = "\(scope.credential)\n\(scope.route)\n\(scope.key)"
        return UniqueID(random: Array(Digest.sha256.hash(text.utf8).prefix(16)))
    }

    private static func response(_ answer: IdempotencyTable.Answer) -> HTTPResponse {
        let type = answer.status < 400 ? "application/json" : "application/problem+json"
        return HTTPResponse(
            status: answer.status, headers: HTTPHeaders([("Content-Type", type), ("Idempotency-Replayed", "true")]),
            body: answer.body)
    }
}
