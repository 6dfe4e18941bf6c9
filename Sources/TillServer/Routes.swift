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
        case .anyone: open(action, crowded: endpoint.crowded)
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
    private func open(_ action: @escaping Action, crowded: HTTPResponse?) -> Router.Service {
        Router.Service(admission: anonymousAdmission(crowded: crowded)) { request, parameters in
            await answering(request) {
                try await action(Call(request: request, parameters: parameters, credential: .anonymous))
            }
        }
    }

    /// For callers with a key or a token. Handles the `Idempotency-Key` where the endpoint takes one.
    private func signedIn(_ endpoint: Endpoint, _ action: @escaping Action) -> Router.Service {
        let (recordsCustomer, takesKey) = (endpoint.recordsCustomer, endpoint.takesIdempotencyKey)
        return Router.Service(admission: signedInOnly) { request, parameters in
            await answering(request) {
                let bearer = try authentication.bearer(of: request)
                RequestTrace.current?.note(caller: bearer.credential.name)
                if recordsCustomer { try await record(bearer) }
                var made = Call(request: request, parameters: parameters, credential: bearer.credential)
                made.kind = bearer.kind
                let call = made
                guard takesKey else { return try await runHeavyWork(call) { try await action(call) } }
                let response = await answering(request) {
                    try await runHeavyWork(call) {
                        try await idempotency.once(call) { call in
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
        Router.Service(admission: admit { head in _ = try operatorOrBackend(head) }) { request, parameters in
            await answering(request) {
                let (credential, operatorID) = try operatorOrBackend(request)
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
        Router.Service(admission: anonymousAdmission()) { request, parameters in
            await answering(request) {
                guard request.headers["Authorization"] != nil || operators.isAddressedHere(request),
                    let visitor = try operators.visitor(request)
                else { throw RefusalError(.unauthorized) }
                var call = Call(request: request, parameters: parameters, credential: .anonymous)
                call.operatorID = visitor.session.operatorID
                RequestTrace.current?.note(caller: call.caller)
                return try await action(call)
            }
        }
    }

    private func operatorOrBackend(_ request: HTTPRequest) throws -> (Credential, operatorID: String?) {
        // Checked first, so that a secret key does not count as a wrong operator token.
        if let credential = try? authentication.credential(of: request) {
            try credential.requireBackend()
            return (credential, nil)
        }
        guard request.headers["Authorization"] != nil, let visitor = try operators.visitor(request) else {
            throw RefusalError(.unauthorized)
        }
        return (.anonymous, visitor.session.operatorID)
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
}
