import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillSQL
import TillThreads

/// `Idempotency-Key`: a repeated POST gets the first response again without repeating the work. Responses that are not
/// final (202, 429 and 5xx) are not stored, so that a retry can succeed.
struct Idempotency: Sendable {
    private let ledger: Ledger
    /// The environment for requests that name none. After a change of the configuration the same request means another
    /// environment, so the environment is part of the scope.
    private let usualEnvironment: StoreEnvironment
    private let underWay = Locked<Set<IdempotencyTable.Scope>>([])
    /// New keys of each user: a thousand at once and one a minute, so at most 3,880 answers are kept for 48 hours. The
    /// answers of a backend are bounded by `Pruning`.
    static let keysOfUser = TokenBuckets.Rate(interval: 60_000_000, burst: 1_000)
    private let keys: TokenBuckets

    init(ledger: Ledger, usualEnvironment: StoreEnvironment, clock: @escaping Server.Clock) {
        self.ledger = ledger
        self.usualEnvironment = usualEnvironment
        keys = TokenBuckets(Self.keysOfUser, clock: clock)
    }

    func once(
        _ call: Call, under key: String, _ action: (Call) async -> HTTPResponse
    ) async throws -> HTTPResponse {
        guard (1...255).contains(key.utf8.count) else {
            throw RefusalError(.invalidField, "Idempotency-Key: 1 to 255 bytes", zh: "Idempotency-Key：应为 1 到 255 字节")
        }
        let scope = IdempotencyTable.Scope(
            credential: call.credential.name, method: call.request.method.rawValue, path: call.request.path,
            queryDigest: Self.digest(of: call.request), environment: usualEnvironment, key: key)
        guard underWay.withLock({ $0.insert(scope).inserted }) else { throw RefusalError(.idempotencyInFlight) }
        defer { underWay.withLock { _ = $0.remove(scope) } }

        let digest = Digest.sha256.hash(call.request.body)
        let (known, identity) = try await ledger.database.read { connection in
            (try IdempotencyTable(connection).find(scope), try LedgerIdentityTable(connection).find())
        }
        if let known {
            guard known.digest == digest else { throw RefusalError(.idempotencyKeyReused) }
            return replay(known)
        }
        try takeKey(call.credential)
        let mark = try await mark(scope, digest, underneath: key)
        var repeatable = call
        repeatable.repeatableID = Self.id(for: scope, secret: try await secret(of: identity))
        let response = await action(repeatable)
        guard response.status != 202, response.status != 429, response.status < 500 else {
            keys.giveBack(call.credential.name)
            if let mark { await giveUp(scope, mark, underneath: key) }
            return response
        }
        let answer = IdempotencyTable.Answer(digest: digest, status: response.status, body: response.body)
        let now = ledger.clock()
        try await ledger.database.write(locking: [Self.lockKey(scope, key)]) {
            try IdempotencyTable($0).insert(scope, answer, at: now)
        }
        return response
    }

    private static func lockKey(_ scope: IdempotencyTable.Scope, _ key: String) -> LockKey {
        .idempotency("\(scope.credential) \(scope.path) \(key)")
    }

    // MARK: Several servers

    /// Milliseconds after which the mark of a server that died no longer counts: longer than a request takes.
    static let markLength: Int64 = 60_000

    /// Marks the key in the ledger, because another server may get the same request at the same moment. A ledger with
    /// one server keeps the marks in memory.
    ///
    /// - Throws: `idempotency_in_flight`.
    /// - Returns: when the mark ends.
    private func mark(
        _ scope: IdempotencyTable.Scope, _ digest: [UInt8], underneath key: String
    ) async throws -> Instant? {
        guard ledger.database.isShared else { return nil }
        let now = ledger.machineClock()
        let until = now.adding(milliseconds: Self.markLength)
        let isFirst = try await ledger.database.write(locking: [Self.lockKey(scope, key)]) {
            try IdempotencyTable($0).claim(scope, digest: digest, until: until, at: now)
        }
        guard isFirst else { throw RefusalError(.idempotencyInFlight) }
        return until
    }

    /// A mark that can't be removed ends by itself.
    private func giveUp(_ scope: IdempotencyTable.Scope, _ until: Instant, underneath key: String) async {
        do {
            try await ledger.database.write(locking: [Self.lockKey(scope, key)]) {
                try IdempotencyTable($0).giveUp(scope, until: until)
            }
        } catch {
            ledger.log.write(.workFailed, ["work": "idempotency_mark", "cause": .cause(error)])
        }
    }

    private func takeKey(_ credential: Credential) throws {
        guard case .user = credential, let wait = keys.take(credential.name) else { return }
        throw RefusalError(
            .tooManyRequests, "Idempotency-Key: too many new keys of one user",
            zh: "Idempotency-Key：同一用户的新键过多", retryAfter: wait)
    }

    /// Digest of the query's items in any order; empty without a query.
    private static func digest(of request: HTTPRequest) -> [UInt8] {
        guard !request.query.isEmpty else { return [] }
        let items = request.query.map { joined([$0.name, $0.value]) }.sorted { $0.lexicographicallyPrecedes($1) }
        return Digest.sha256.hash(items.flatMap { $0 })
    }

    /// Prefixes each part with its length, so that different lists give different bytes.
    private static func joined(_ parts: [String]) -> [UInt8] {
        parts.flatMap { part in Array("\(part.utf8.count):".utf8) + Array(part.utf8) }
    }

    /// The same id for every repetition, so that a crash between the order and the stored response creates no second
    /// order. It is keyed with the ledger's secret: a caller can neither compute nor choose it.
    private static func id(for scope: IdempotencyTable.Scope, secret: [UInt8]) -> UniqueID {
        let parts = [
            scope.credential.text, scope.method, scope.path.text, Base64.encode(scope.queryDigest),
            scope.environment.rawValue, scope.key.text,
        ]
        let text = joined(parts)
        return UniqueID(random: Array(HMACSHA256.code(for: text, key: secret).prefix(16)))
    }

    private func secret(of known: LedgerIdentity?) async throws -> [UInt8] {
        if let known { return known.secret }
        return try await ledger.identity().secret
    }

    /// A stored problem gets the id of the request that it answers now.
    private func replay(_ answer: IdempotencyTable.Answer) -> HTTPResponse {
        var response = Self.response(answer)
        guard answer.status >= 400, let trace = RequestTrace.current,
            let problem = try? JSONText.decode(ProblemDetails.self, from: answer.body)
        else { return response }
        trace.note(code: problem.code)
        response.body = JSONText.encode(problem.answering(trace.requestID))
        return response
    }

    private static func response(_ answer: IdempotencyTable.Answer) -> HTTPResponse {
        let type = answer.status < 400 ? "application/json" : "application/problem+json"
        return HTTPResponse(
            status: answer.status, headers: HTTPHeaders([("Content-Type", type), ("Idempotency-Replayed", "true")]),
            body: answer.body)
    }
}
