import TillAppStore
import TillBilling
import TillHTTP

/// A call of the control API, its body and its query checked against what the route knows.
struct ControlCall: Sendable {
    let request: HTTPRequest
    let body: RequestBody
    /// The values of the pattern's `{names}`.
    let path: PathParameters
    /// The first of them, or empty.
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
    var bodyLimit = 1 << 20
    /// Whether it is a page for people, or a form of one.
    var isPage = false

    /// The pattern's `{names}`, in their order.
    var parameters: [String] {
        pattern.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }.map {
            String($0.dropFirst().dropLast())
        }
    }
}

/// Where the control API's rooms hang their routes: each is served and described in one go.
struct ControlRoutes {
    private(set) var router: Router
    private(set) var described: [ControlRoute] = []

    init(_ router: Router) { self.router = router }

    typealias Action = @Sendable (ControlCall) async throws -> HTTPResponse

    /// Refusals and faults of `action` become problems. Before it is asked, what a browser sends for somebody else's
    /// page, or under a name that is not the store's, is refused, and the query and the body are held to what is
    /// declared of them: names, what is required, kinds, bounds. What lists, maps and objects hold is the action's to
    /// look at.
    ///
    /// - Parameter readsBody: false where the action reads the body by itself, because it may be no JSON.
    mutating func on(
        _ method: HTTPMethod, _ pattern: String, _ summary: Text, query: [ControlMember] = [],
        body: [ControlMember] = [], answer: ControlAnswer? = nil, bodyLimit: Int = 1 << 20,
        readsBody: Bool = true, _ action: @escaping Action
    ) {
        let route = ControlRoute(
            method: method, pattern: pattern, summary: summary, query: query, body: body, answer: answer,
            bodyLimit: bodyLimit)
        described.append(route)
        let (members, parameters) = (body.map(\.name), route.parameters)
        router.on(method, pattern, bodyLimit: bodyLimit) { request, path in
            do {
                if request.isForeign { throw Problem.foreignOrigin }
                guard request.isAddressedToStore else { throw Problem.foreignHost }
                try RequestBody.check(query: request.query, against: query)
                let given = try RequestBody(readsBody ? request.body : [], knowing: members)
                if readsBody { for member in body { try given.check(member) } }
                let call = ControlCall(
                    request: request, body: given, path: path, id: parameters.first.map { path[$0] } ?? "")
                return try await action(call)
            } catch let problem as Problem {
                return problem.response(to: request)
            } catch {
                return Problem(fault: error).response(to: request)
            }
        }
    }

    /// A page, or a file or a form of one.
    mutating func onPage(
        _ method: HTTPMethod, _ pattern: String, _ summary: Text, query: [ControlMember] = [],
        body: [ControlMember] = [], bodyLimit: Int = 1 << 20, _ handler: @escaping Router.Handler
    ) {
        described.append(
            ControlRoute(
                method: method, pattern: pattern, summary: summary, query: query, body: body, answer: nil,
                bodyLimit: bodyLimit, isPage: true))
        router.on(method, pattern, bodyLimit: bodyLimit, handler)
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
