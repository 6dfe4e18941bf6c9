import TillBilling
import TillCrypto

/// The App Store Server API of one app (facts/server-api): it asks what Apple knows about purchases, and tells Apple
/// what it wants to be told.
///
/// What Apple answers is signed and comes unverified: `SignedTransaction` and its kin give their content only to a
/// `SignedDataVerifier`. Every request waits for its turn in the app's budget; none is repeated by itself, but
/// `retrying` repeats.
///
/// Where the environment of a transaction is not known, production is asked first, and the sandbox if production does
/// not know the id (4040010), as for receipts (facts/server-api §1). The answer names the environment that gave it.
public struct ServerAPI: Sendable {
    let bundleID: String
    let hosts: AppleHosts
    /// Production first.
    let environments: [Environment]
    let effects: AppleEffects
    let budget: RequestBudget
    private let tokens: BearerTokens
    private(set) var caller = RequestCaller.buyer
    /// Whether the turn for the next request was waited for already.
    private var hasTurn = false

    /// Whether the app is in the App Store yet. Developers report that production answers a bare 401 before an app's
    /// first release; Apple documents nothing about it. If false, such a 401 sends a request whose environment is
    /// not known on to the sandbox, and counts all the same unless the sandbox has an answer.
    public var isReleased = true

    /// - Parameters:
    ///   - environments: what may be asked at all, from configuration (DESIGN §4, invariant 7).
    ///   - budget: the app's one budget; every client of the same app is given the same.
    public init(
        key: InAppPurchaseKey, bundleID: String, hosts: AppleHosts = .apple,
        environments: Set<Environment> = [.production, .sandbox], effects: AppleEffects, budget: RequestBudget
    ) {
        self.bundleID = bundleID
        self.hosts = hosts
        self.environments = [.production, .sandbox].filter(environments.contains)
        self.effects = effects
        self.budget = budget
        tokens = BearerTokens(key: key, bundleID: bundleID)
    }

    /// The same client, asking in another's name: that is whom the budget counts.
    public func asking(as caller: RequestCaller) -> ServerAPI {
        var other = self
        other.caller = caller
        return other
    }

    /// The same client for one request of that endpoint whose turn has come: this waits for it. Between the turn and
    /// the request there is time to see whether somebody else was faster.
    public func inTurn(
        for endpoint: Endpoint, in environment: Environment
    ) async throws(ServerAPIFault) -> ServerAPI {
        if environments.contains(environment) { try await budget.turn(endpoint, in: environment, for: caller) }
        var other = self
        other.hasTurn = true
        return other
    }

    /// The token that requests carry at that time.
    func bearerToken(at now: Instant) throws(IssuingFault) -> String { try tokens.token(at: now) }

    // MARK: - Asking

    typealias Reading<Value> = (AnswerFields) throws(AnswerMalformation) -> Value

    /// Asks the one environment, and reads the JSON of its answer.
    func ask<Value>(
        _ call: ServerAPICall, in environment: Environment, _ read: Reading<Value>
    ) async throws(ServerAPIFault) -> Value {
        let answer = try await send(call, in: environment)
        let fields = try AnswerReading(call).fields(of: answer, from: environment)
        do {
            return try read(fields)
        } catch {
            throw .unreadable(UnreadableAnswer(.malformed, status: answer.status, error.detail))
        }
    }

    /// Asks for something whose answer is empty.
    func tell(_ call: ServerAPICall, in environment: Environment) async throws(ServerAPIFault) {
        let answer = try await send(call, in: environment)
        try AnswerReading(call).nothing(in: answer, from: environment)
    }

    /// Asks the environment that is named, or the ones that may know.
    func find<Value>(
        in environment: Environment?, _ ask: (Environment) async throws(ServerAPIFault) -> Value
    ) async throws(ServerAPIFault) -> Answered<Value> {
        if let environment { return Answered(try await ask(environment), from: environment) }
        guard let first = environments.first else { throw .invalid(InvalidRequest("environment", .missing)) }
        do throws(ServerAPIFault) {
            return Answered(try await ask(first), from: first)
        } catch {
            guard let second = environments.dropFirst().first else { throw error }
            if error.code == .transactionIDNotFound { return Answered(try await ask(second), from: second) }
            guard case .unauthorized = error, !isReleased else { throw error }
            do throws(ServerAPIFault) {
                return Answered(try await ask(second), from: second)
            } catch let another {
                // That the sandbox doesn't know it says nothing while production doesn't talk to us.
                throw another.isRetryable ? another : error
            }
        }
    }

    private func send(_ call: ServerAPICall, in environment: Environment) async throws(ServerAPIFault) -> AppleAnswer {
        guard environments.contains(environment), let host = hosts.serverAPI[environment] else {
            throw .invalid(InvalidRequest("environment", .environmentNotAsked))
        }
        if !hasTurn { try await budget.turn(call.endpoint, in: environment, for: caller) }
        let request = try request(call, host: host)
        let answer: AppleAnswer
        do throws(AppleOutage) {
            answer = try await effects.exchange(request)
        } catch {
            throw .outage(error)
        }
        guard answer.body.count <= call.answerLimit else {
            throw .outage(AppleOutage(.answerTooLarge, "\(answer.body.count) bytes"))
        }
        if answer.status == 429 {
            let until = RetryAfter.instant(answer.header("Retry-After"), now: effects.clock())
            budget.close(call.endpoint, in: environment, until: until)
            throw .rateLimited(until: until)
        }
        return answer
    }

    private func request(_ call: ServerAPICall, host: String) throws(ServerAPIFault) -> AppleRequest {
        let token: String
        do {
            token = try bearerToken(at: effects.clock())
        } catch {
            throw .signing(error)
        }
        var headers: [AppleRequest.Header] = [
            .init("Authorization", "Bearer \(token)"), .init("Accept", "application/json"), .init("User-Agent", "till"),
        ]
        if call.body != nil { headers.append(.init("Content-Type", "application/json")) }
        return AppleRequest(
            call.method, host + call.target, headers: headers, body: call.body.map { Array($0.encoded().utf8) } ?? [],
            answerLimit: call.answerLimit)
    }
}

/// Makes a call, or says which rule forbids it.
func valid<Value>(_ make: () throws(InvalidRequest) -> Value) throws(ServerAPIFault) -> Value {
    do { return try make() } catch { throw .invalid(error) }
}
