import TillAPI
import TillBilling
import TillHTTP
import TillLedger

/// Addresses for those who run the server: a person with an operator token, or a backend with its secret key.
extension Server {
    func addOperations(to router: inout Router) {
        router.on(.post, Paths.reconciliations, operated(startReconciliation))
        router.on(.get, Paths.reconciliations, operated(listReconciliations))
        router.on(.get, Paths.reconciliation, operated(readReconciliation))
        router.on(.get, Paths.metrics, watched(readMetrics))
    }

    /// - Parameter caller: who it is, as it stands on record: `key:backend`, `operator:anna`.
    typealias OperatedAction = @Sendable (_ call: Call, _ caller: String) async throws -> HTTPResponse

    private func operated(_ action: @escaping OperatedAction) -> Router.Service {
        Router.Service(admission: admit { head in _ = try operatorOrBackend(head) }) { request, parameters in
            await answering(request) {
                let (credential, caller) = try self.operatorOrBackend(request)
                return try await action(
                    Call(request: request, parameters: parameters, credential: credential), caller)
            }
        }
    }

    /// For operators alone, and the programs that watch for them: a token, or a session of the dashboard, which counts
    /// only under this server's own name.
    private func watched(_ action: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) -> Router.Service {
        Router.Service(admission: strangers()) { request, _ in
            await answering(request) {
                guard request.headers["Authorization"] != nil || dashboard.isAddressedHere(request),
                    try dashboard.visitor(request) != nil
                else { throw Refused(.unauthorized) }
                return try await action(request)
            }
        }
    }

    private func operatorOrBackend(_ request: HTTPRequest) throws -> (Credential, String) {
        // A secret key is no failed try to guess an operator's token.
        if let credential = try? authentication.credential(of: request) {
            try credential.requireBackend()
            return (credential, credential.name)
        }
        guard request.headers["Authorization"] != nil, let visitor = try dashboard.visitor(request) else {
            throw Refused(.unauthorized)
        }
        return (.nobody, "operator:\(visitor.operatorID)")
    }
}
