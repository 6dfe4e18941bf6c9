import TillBilling
import TillHTTP

/// A call of the control API, its body and its query checked against what the route knows.
struct ControlCall: Sendable {
    let request: HTTPRequest
    let body: RequestBody
    /// The pattern's `{id}`, or empty.
    let id: String

    func query(_ name: String) -> String? { request.queryValue(name) }
}

/// One route of the control API, as OpenAPI tells of it.
struct ControlRoute: Sendable {
    let method: HTTPMethod
    let pattern: String
    /// What it does, in one sentence.
    let summary: Text
    let query: [ControlMember]
    let body: [ControlMember]
    /// Nil: an answer that is no JSON.
    let answer: ControlAnswer?
}

/// Where the control API's rooms hang their routes: each is served and described in one go.
struct ControlRoutes {
    private(set) var router: Router
    private(set) var described: [ControlRoute] = []

    init(_ router: Router) { self.router = router }

    typealias Action = @Sendable (ControlCall) async throws -> HTTPResponse

    /// Refusals and faults of `action` become problems.
    ///
    /// - Parameter readsBody: false for a body that is a file in a form of its own, which the action reads.
    mutating func on(
        _ method: HTTPMethod, _ pattern: String, _ summary: Text, query: [ControlMember] = [],
        body: [ControlMember] = [], answer: ControlAnswer? = nil, bodyLimit: Int = 1 << 20,
        readsBody: Bool = true, _ action: @escaping Action
    ) {
        described.append(
            ControlRoute(
                method: method, pattern: pattern, summary: summary, query: query, body: body, answer: answer))
        let hasID = pattern.contains("{id}")
        let (items, members) = (query.map(\.name), body.map(\.name))
        router.on(method, pattern, bodyLimit: bodyLimit) { request, parameters in
            do {
                // A misspelt name would else be a question about something else.
                try RequestBody.check(request.query.map(\.name), among: items)
                let call = ControlCall(
                    request: request, body: try RequestBody(readsBody ? request.body : [], knowing: members),
                    id: hasID ? parameters["id"] : "")
                return try await action(call)
            } catch let problem as Problem {
                return problem.response(to: request)
            } catch {
                return Problem(fault: error).response(to: request)
            }
        }
    }
}

extension Result where Failure == StoreRefusal {
    /// What was asked for, or the refusal as a problem.
    func answered() throws(Problem) -> Success {
        switch self {
        case .success(let value): return value
        case .failure(let refusal): throw Problem(refusal)
        }
    }
}
