/// Selects the handler for a method and a path. Built once, then only read.
///
/// A pattern is a path whose segments may be parameters: `/v1/orders/{id}`. A literal segment takes precedence over a
/// parameter. Paths arrive percent-decoded; the listener refuses `%2F`, so a decoded `/` never splits a segment. An
/// empty segment (`//`) matches no route; one slash at the end is ignored.
public struct Router: Sendable {
    public typealias Handler = @Sendable (HTTPRequest, PathParameters) async -> HTTPResponse

    /// A handler, and the check for its long bodies.
    public struct Service: Sendable {
        public let admission: Admission.Decide
        public let handler: Handler

        public init(admission: @escaping Admission.Decide, handler: @escaping Handler) {
            self.admission = admission
            self.handler = handler
        }
    }

    /// One row of the table, for OpenAPI and tests. A class, because every request finds its route three times.
    public final class Route: Sendable {
        public let method: HTTPMethod
        public let pattern: String
        /// The maximum body in bytes; a longer one is answered 413 before it is read.
        public let bodyLimit: Int
        let segments: [Segment]
        let service: Service

        init(method: HTTPMethod, pattern: String, bodyLimit: Int, segments: [Segment], service: Service) {
            (self.method, self.pattern, self.bodyLimit) = (method, pattern, bodyLimit)
            (self.segments, self.service) = (segments, service)
        }
    }

    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
    }

    public private(set) var routes: [Route] = []
    /// The routes without parameters, by path. For their paths no other route of the method has more literals.
    private var exact: [String: [HTTPMethod: Int]] = [:]

    /// Makes the response for an unknown path (404), or for a method without a route there (405, with the methods that
    /// have one; the router adds `Allow`).
    public typealias Refuse = @Sendable (HTTPRequest, _ status: Int, _ allowed: [HTTPMethod]) -> HTTPResponse
    private let refuse: Refuse
    /// Adds the headers that every response of this server carries.
    public typealias Complete = @Sendable (HTTPRequest, inout HTTPResponse) -> Void
    private let complete: Complete
    private let surroundings: Surroundings

    /// What surrounds every request, such as its line in a log. `route` is the pattern, or nil without one.
    public struct Surroundings: Sendable {
        public typealias Answer =
            @Sendable (
                _ request: HTTPRequest, _ route: String?, _ answer: () async -> HTTPResponse
            ) async -> HTTPResponse
        public typealias Admit =
            @Sendable (
                _ head: HTTPRequest, _ route: String?, _ admit: () -> Admission
            ) -> Admission

        let answer: Answer
        let admit: Admit

        /// - Parameters:
        ///   - answer: calls what it is given once, and returns the response.
        ///   - admit: the same for the decision about a long body.
        public init(
            answer: @escaping Answer = { _, _, answer in await answer() },
            admit: @escaping Admit = { _, _, admit in admit() }
        ) {
            self.answer = answer
            self.admit = admit
        }
    }

    public init(
        surroundings: Surroundings = Surroundings(), refuse: @escaping Refuse,
        complete: @escaping Complete = { _, _ in }
    ) {
        self.surroundings = surroundings
        self.refuse = refuse
        self.complete = complete
    }

    /// Adds a route whose handler accepts every body.
    ///
    /// - Parameter bodyLimit: the maximum body in bytes; 1 MiB by default.
    public mutating func on(
        _ method: HTTPMethod, _ pattern: String, bodyLimit: Int = 1 << 20, _ handler: @escaping Handler
    ) {
        on(
            method, pattern, bodyLimit: bodyLimit,
            Service(admission: { _, _ in .admitted() }, handler: handler))
    }

    public mutating func on(
        _ method: HTTPMethod, _ pattern: String, bodyLimit: Int = 1 << 20, _ service: Service
    ) {
        let segments: [Segment] = pattern.split(separator: "/").map { part in
            part.hasPrefix("{") && part.hasSuffix("}")
                ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
        precondition(
            !routes.contains { $0.method == method && $0.pattern == pattern },
            "\(method.rawValue) \(pattern) is served twice")
        routes.append(
            Route(method: method, pattern: pattern, bodyLimit: bodyLimit, segments: segments, service: service))
        let isExact = segments.allSatisfy { if case .literal = $0 { true } else { false } }
        if isExact { exact[pattern, default: [:]][method] = routes.count - 1 }
    }

    /// The maximum body of this request; 0 without a route, so that its body is not kept.
    public func bodyLimit(method: HTTPMethod, path: String) -> Int {
        (exactRoute(method, path) ?? match(method: method, parts: Self.parts(path)).route)?.bodyLimit ?? 0
    }

    /// Whether the long body of a request is read, as its route decides.
    public func admission(of head: HTTPRequest, length: Int) -> Admission {
        let found = exactRoute(head.method, head.path) ?? match(method: head.method, parts: Self.parts(head.path)).route
        guard let route = found else { return .admitted() }
        return surroundings.admit(head, route.pattern) {
            switch route.service.admission(head, length) {
            case .admitted(let admissionToken): return .admitted(token: admissionToken)
            case .refused(var response):
                complete(head, &response)
                return .refused(response)
            }
        }
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let exact = exactRoute(request.method, request.path)
        let parts = exact == nil ? Self.parts(request.path) : []
        let (route, allowed) = exact.map { ($0, []) } ?? match(method: request.method, parts: parts)
        return await surroundings.answer(request, route?.pattern) {
            var response = await answer(request, parts, route, allowed)
            complete(request, &response)
            return response
        }
    }

    private func answer(
        _ request: HTTPRequest, _ parts: [Substring], _ route: Route?, _ allowed: [HTTPMethod]
    ) async -> HTTPResponse {
        if let route { return await route.service.handler(request, PathParameters(route.segments, parts)) }
        guard !allowed.isEmpty else { return refuse(request, 404, []) }
        var response = refuse(request, 405, allowed)
        response.headers.set("Allow", allowed.map(\.rawValue).joined(separator: ", "))
        return response
    }

    private func exactRoute(_ method: HTTPMethod, _ path: String) -> Route? { exact[path]?[method].map { routes[$0] } }

    /// The best route for the method, and all methods with a route for the path.
    private func match(method: HTTPMethod, parts: [Substring]) -> (route: Route?, allowed: [HTTPMethod]) {
        var best: (route: Route, literals: Int)?
        var allowed: [HTTPMethod] = []
        for route in routes {
            guard let literals = Self.literals(of: route, matching: parts) else { continue }
            for served in route.method == .get ? [.get, .head] : [route.method] where !allowed.contains(served) {
                allowed.append(served)
            }
            let serves = route.method == method || (method == .head && route.method == .get)
            if serves, literals > best?.literals ?? -1 { best = (route, literals) }
        }
        return (best?.route, allowed)
    }

    /// The number of literal segments in the route, if it matches.
    private static func literals(of route: Route, matching parts: [Substring]) -> Int? {
        guard route.segments.count == parts.count else { return nil }
        var literals = 0
        for index in parts.indices {
            switch route.segments[index] {
            case .literal(let text):
                if text != parts[index] { return nil }
                literals += 1
            case .parameter:
                if parts[index].isEmpty { return nil }
            }
        }
        return literals
    }

    private static func parts(_ path: String) -> [Substring] {
        var rest = path.hasPrefix("/") ? path.dropFirst() : path[...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        return rest.isEmpty ? [] : rest.split(separator: "/", omittingEmptySubsequences: false)
    }
}

/// The values of a pattern's `{names}`.
public struct PathParameters: Sendable {
    private var values: [(name: String, value: String)] = []

    /// The parameters of a path without any.
    public init() {}

    init(_ segments: [Router.Segment], _ parts: [Substring]) {
        for (segment, part) in zip(segments, parts) {
            if case .parameter(let name) = segment { values.append((name, String(part))) }
        }
    }

    public subscript(name: String) -> String {
        guard let found = values.first(where: { $0.name == name }) else {
            preconditionFailure("the pattern has no {\(name)}")
        }
        return found.value
    }
}
