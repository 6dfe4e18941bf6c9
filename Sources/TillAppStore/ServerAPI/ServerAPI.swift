import TillBilling
import TillCrypto

/// The App Store Server API of one app (facts/server-api): reads purchases from Apple, and sends Apple the app's
/// statements about them.
///
/// Apple's responses are signed and arrive unverified: `SignedTransaction` and the related types reveal their content
/// only through a `SignedDataVerifier`. Every request waits for a slot in the app's budget. A single call is sent once;
/// use `retrying` to repeat it.
///
/// If the environment of a transaction is unknown, production is asked first, and the sandbox if production does not
/// know the id (4040010), as for receipts (facts/server-api §1). The result names the environment that answered.
public struct ServerAPI: Sendable {
    let bundleID: String
    let hosts: AppleHosts
    /// Production first.
    let environments: [StoreEnvironment]
    let effects: AppleEffects
    package let budget: RequestBudget
    private let tokens: BearerTokens
    private(set) var caller = RequestCaller.buyer
    /// Whether this client has already waited for the slot of its next request.
    private var isReserved = false

    /// Whether the app has been released on the App Store. Developers report that production answers a bare 401 before
    /// an app's first release; Apple does not document it. If false, such a 401 sends a request with an unknown
    /// environment on to the sandbox, and is thrown unless the sandbox has an answer.
    public var isReleased = true

    /// - Parameters:
    ///   - environments: the environments that may be asked, from configuration.
    ///   - budget: the app's one budget; every client of the app shares it.
    public init(
        key: InAppPurchaseKey, bundleID: String, hosts: AppleHosts = .apple,
        environments: Set<StoreEnvironment> = [.production, .sandbox], effects: AppleEffects, budget: RequestBudget
    ) {
        self.bundleID = bundleID
        self.hosts = hosts
        self.environments = [.production, .sandbox].filter(environments.contains)
        self.effects = effects
        self.budget = budget
        tokens = BearerTokens(key: key, bundleID: bundleID)
    }

    /// The same client on behalf of another caller, which the budget charges.
    public func calling(as caller: RequestCaller) -> ServerAPI {
        var other = self
        other.caller = caller
        return other
    }

    /// Waits for a slot, and returns a client that uses it for its next request. Between the two, the caller can check
    /// whether the request is still needed.
    public func reserving(
        for endpoint: Endpoint, in environment: StoreEnvironment
    ) async throws(ServerAPIError) -> ServerAPI {
        if environments.contains(environment) { try await budget.acquire(endpoint, in: environment, for: caller) }
        var other = self
        other.isReserved = true
        return other
    }

    /// The token of requests at this time.
    func bearerToken(at now: Instant) throws(SigningError) -> String { try tokens.token(at: now) }

    // MARK: - Requests

    typealias Reading<Value> = (ResponseFields) throws(ServerAPIError) -> Value

    /// Sends a request to one environment, and reads the JSON of the response.
    func ask<Value>(
        _ call: ServerAPICall, in environment: StoreEnvironment, _ read: Reading<Value>
    ) async throws(ServerAPIError) -> Value {
        let answer = try await send(call, in: environment)
        return try read(ResponseReader(call).fields(of: answer, from: environment))
    }

    /// Sends a request whose response is empty.
    func perform(_ call: ServerAPICall, in environment: StoreEnvironment) async throws(ServerAPIError) {
        let answer = try await send(call, in: environment)
        try ResponseReader(call).expectEmpty(in: answer, from: environment)
    }

    /// Sends a request to the given environment, or to each environment that may know the id.
    func find<Value>(
        in environment: StoreEnvironment?, _ ask: (StoreEnvironment) async throws(ServerAPIError) -> Value
    ) async throws(ServerAPIError) -> EnvironmentResult<Value> {
        if let environment { return EnvironmentResult(try await ask(environment), from: environment) }
        guard let first = environments.first else { throw .invalid(InvalidRequestError("environment", .missing)) }
        do throws(ServerAPIError) {
            return EnvironmentResult(try await ask(first), from: first)
        } catch {
            guard let second = environments.dropFirst().first else { throw error }
            if error.code == .transactionIDNotFound { return EnvironmentResult(try await ask(second), from: second) }
            guard case .unauthorized = error, !isReleased else { throw error }
            do throws(ServerAPIError) {
                return EnvironmentResult(try await ask(second), from: second)
            } catch let another {
                // The sandbox's "not found" means nothing while production refuses our token.
                throw another.isRetryable ? another : error
            }
        }
    }

    private func send(_ call: ServerAPICall, in environment: StoreEnvironment) async throws(ServerAPIError)
        -> AppleResponse
    {
        guard environments.contains(environment), let host = hosts.serverAPI[environment] else {
            throw .invalid(InvalidRequestError("environment", .environmentNotAsked))
        }
        if !isReserved { try await budget.acquire(call.endpoint, in: environment, for: caller) }
        let request = try request(call, host: host)
        let answer: AppleResponse
        do throws(AppleConnectionError) {
            answer = try await effects.exchange(request)
        } catch {
            throw .outage(error)
        }
        guard answer.body.count <= call.responseLimit else {
            throw .outage(AppleConnectionError(.responseTooLarge, "\(answer.body.count) bytes"))
        }
        if answer.status == 429 {
            let until = RetryAfter.instant(answer.header("Retry-After"), now: effects.clock())
            budget.close(call.endpoint, in: environment, until: until)
            throw .rateLimited(until: until)
        }
        return answer
    }

    private func request(_ call: ServerAPICall, host: String) throws(ServerAPIError) -> AppleRequest {
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
            call.method, host + call.target, headers: headers, body: call.body.map { $0.encodedBytes() } ?? [],
            responseLimit: call.responseLimit)
    }
}

/// Creates a call, or throws the rule that forbids it.
func valid<Value>(_ make: () throws(InvalidRequestError) -> Value) throws(ServerAPIError) -> Value {
    do { return try make() } catch { throw .invalid(error) }
}
