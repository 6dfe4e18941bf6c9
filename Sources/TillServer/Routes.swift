import TillAPI
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// Receipts of frequent buyers reach 4 MiB, and base64 adds a third.
    static let receiptBodyLimit = 8 << 20

    /// Every address that this server answers. Creating the table is cheap enough for tests; a listener should create
    /// it once.
    public var router: Router {
        var router = Router(surroundings: surroundings, refuse: refuse) { _, response in
            // Responses about one customer must not be cached, and browsers must not guess the content type. A handler
            // may set its own `Cache-Control`: the catalog is the same for all callers and is revalidated by its ETag.
            if response.headers["Cache-Control"] == nil { response.headers.add("Cache-Control", "no-store") }
            response.headers.set("X-Content-Type-Options", "nosniff")
        }
        for endpoint in Endpoint.all {
            guard let action = endpoint.action else { continue }
            router.on(endpoint.method, endpoint.path, bodyLimit: endpoint.bodyLimit, service(endpoint, action(self)))
        }
        addDashboard(to: &router)
        return router
    }

    /// The response for an unknown address, or for a method that the address does not allow.
    private func refuse(_ request: HTTPRequest, _ status: Int, _ allowed: [HTTPMethod]) -> HTTPResponse {
        if status == 405, request.path.hasPrefix(Paths.verifyReceipt) { return Self.notPosted }
        do throws(RefusalError) {
            try limiter.takeAddress(of: request)
        } catch {
            return problem(error, for: request)
        }
        var response = problem(status == 404 ? .notFound : .methodNotAllowed, for: request)
        if !allowed.isEmpty {
            let names = allowed.map(\.rawValue) + (allowed.contains(.get) ? ["HEAD"] : [])
            response.headers.add("Allow", names.joined(separator: ", "))
        }
        return response
    }

    private typealias Action = @Sendable (Call) async throws -> HTTPResponse

    private func service(_ endpoint: Endpoint, _ action: @escaping Action) -> Router.Service {
        switch endpoint.caller {
        case .anyone: open(endpoint, action)
        case .app: signedIn(endpoint, action)
        case .backend:
            signedIn(endpoint) { call in
                try call.credential.requireBackend()
                return try await action(call)
            }
        case .operatorOrBackend: operatorOnly(action)
        case .operators: operatorOrMonitoring(action)
        }
    }

    /// For every caller.
    private func open(_ endpoint: Endpoint, _ action: @escaping Action) -> Router.Service {
        let (countsAddress, crowded) = (endpoint.countsAddress, endpoint.crowded)
        let admission = anonymousAdmission(countsAddress: countsAddress, crowded: crowded)
        return Router.Service(admission: admission) { [self] request, parameters in
            await answering(request) {
                do throws(RefusalError) {
                    if countsAddress { try limiter.takeAddress(of: request) }
                } catch {
                    guard let crowded else { throw error }
                    return crowded
                }
                return try await action(Call(request: request, parameters: parameters, credential: .anonymous))
            }
        }
    }

    /// For callers with a key or a token. Handles the `Idempotency-Key` where the endpoint takes one.
    private func signedIn(_ endpoint: Endpoint, _ action: @escaping Action) -> Router.Service {
        let (recordsCustomer, takesKey) = (endpoint.recordsCustomer, endpoint.takesIdempotencyKey)
        return Router.Service(admission: signedInOnly) { [self] request, parameters in
            await answering(request) {
                let bearer = try bearer(of: request)
                RequestTrace.current?.note(caller: bearer.credential.name)
                try limiter.take(bearer.credential)
                if recordsCustomer { try await record(bearer) }
                var made = Call(request: request, parameters: parameters, credential: bearer.credential)
                made.kind = bearer.kind
                let call = made
                guard takesKey else { return try await runHeavyWork(call) { try await action(call) } }
                // Without a key, a request that waits holds the memory of two calls less.
                let response = await answering(request) {
                    guard let key = request.headers["Idempotency-Key"] else {
                        return try await runHeavyWork(call) { try await action(call) }
                    }
                    return try await runHeavyWork(call) {
                        try await idempotency.once(call, under: key) { call in
                            await answering(request) { try await action(call) }
                        }
                    }
                }
                try await record(bearer)
                return response
            }
        }
    }

    /// For an operator with a token, or a backend with its secret key.
    private func operatorOnly(_ action: @escaping Action) -> Router.Service {
        Router.Service(admission: admit { [self] head in _ = try operatorOrBackend(head) }) {
            [self] request, parameters in
            await answering(request) {
                let (credential, operatorID) = try operatorOrBackend(request)
                try limiter.take(credential)
                var call = Call(request: request, parameters: parameters, credential: credential)
                call.operatorID = operatorID
                RequestTrace.current?.note(caller: call.caller)
                return try await action(call)
            }
        }
    }

    /// For operators and their monitoring programs: a token, or a session of the dashboard, which is valid only under
    /// this server's own name.
    private func operatorOrMonitoring(_ action: @escaping Action) -> Router.Service {
        Router.Service(admission: anonymousAdmission()) { [self] request, parameters in
            await answering(request) {
                if request.headers["Authorization"] == nil, operators.isAddressedHere(request) {
                    try await prepareSession(of: request)
                }
                let visitor = try limiter.check(request, isCheap: true) {
                    guard request.headers["Authorization"] != nil || operators.isAddressedHere(request),
                        let visitor = try operators.visitor(request)
                    else { throw OperatorAuthentication.missing }
                    return visitor
                }
                var call = Call(request: request, parameters: parameters, credential: .anonymous)
                call.operatorID = visitor.session.operatorID
                RequestTrace.current?.note(caller: call.caller)
                return try await action(call)
            }
        }
    }

    private func operatorOrBackend(_ request: HTTPRequest) throws -> (Credential, operatorID: String?) {
        // Checked first, so that a secret key does not count as a wrong operator token.
        try limiter.check(request, isCheap: !request.hasUserToken) {
            if let credential = try? authentication.credential(of: request) {
                try credential.requireBackend()
                return (credential, nil)
            }
            guard request.headers["Authorization"] != nil, let visitor = try operators.visitor(request) else {
                throw RefusalError(
                    .unauthorized, "send an operator token or a secret key as \"Authorization: Bearer …\"",
                    zh: "请以 \"Authorization: Bearer …\" 发送运营令牌或后端密钥")
            }
            return (.anonymous, visitor.session.operatorID)
        }
    }

    /// The caller of a route that requires a key or a user token in the header. A wrong one counts for its address.
    func bearer(of request: HTTPRequest) throws -> Bearer {
        try limiter.check(request, isCheap: !request.hasUserToken) { try authentication.bearer(of: request) }
    }

    /// Handles a long body on the executor for heavy work, where no other request waits for it.
    private func runHeavyWork(_ call: Call, _ action: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        guard call.request.isLong else { return try await action() }
        return try await heavy.run(for: call.credential, action)
    }
}

extension HTTPRequest {
    /// Whether reading the body takes more than a fraction of a millisecond.
    var isLong: Bool { body.count > ListenerConfiguration.bodyBeforeAdmission }

    /// Whether the header carries what can only be a user token: a text of three parts, with a signature to check. A
    /// key is compared by one hash.
    var hasUserToken: Bool { headers["Authorization"]?.utf8.count { $0 == UInt8(ascii: ".") } == 2 }
}
