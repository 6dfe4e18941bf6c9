/// Which handler answers which method and path. Built once, then only read.
///
/// A pattern is a path whose segments may be parameters: `/v1/orders/{id}`. A literal segment wins over a parameter.
public struct Router: Sendable {
    public typealias Handler = @Sendable (HTTPRequest, PathParameters) async -> HTTPResponse

    /// One row of the table, as OpenAPI and tests want to see it.
    public struct Route: Sendable {
        public let method: HTTPMethod
        public let pattern: String
        /// Largest body in bytes; a longer one is answered 413 before it is read.
        public let bodyLimit: Int
        let segments: [Segment]
        let handler: Handler
    }

    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
    }

    public private(set) var routes: [Route] = []

    /// Makes the response for a path nobody serves (404), or a method nobody serves there (405, with the methods
    /// that are served).
    public typealias Refuse = @Sendable (HTTPRequest, _ status: Int, _ allowed: [HTTPMethod]) -> HTTPResponse
    private let refuse: Refuse

    public init(refuse: @escaping Refuse) { self.refuse = refuse }

    /// - Parameter bodyLimit: bytes; 1 MiB unless told (CONTRACT §2).
    public mutating func on(
        _ method: HTTPMethod, _ pattern: String, bodyLimit: Int = 1 << 20, _ handler: @escaping Handler
    ) {
        let segments: [Segment] = pattern.split(separator: "/").map { part in
            part.hasPrefix("{") && part.hasSuffix("}")
                ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
        precondition(
            !routes.contains { $0.method == method && $0.pattern == pattern },
            "\(method.rawValue) \(pattern) is served twice")
        routes.append(
            Route(method: method, pattern: pattern, bodyLimit: bodyLimit, segments: segments, handler: handler))
    }

    /// How long a body may be for this request; 0 where nothing is served, so that nothing is read for nobody.
    public func bodyLimit(method: HTTPMethod, path: String) -> Int {
        match(method: method, path: path).found?.route.bodyLimit ?? 0
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let (found, allowed) = match(method: request.method, path: request.path)
        guard let found else { return refuse(request, allowed.isEmpty ? 404 : 405, allowed) }
        return await found.route.handler(request, found.parameters)
    }

    private func match(
        method: HTTPMethod, path: String
    ) -> (found: (route: Route, parameters: PathParameters)?, allowed: [HTTPMethod]) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        var best: (route: Route, parameters: PathParameters, literals: Int)?
        var allowed: [HTTPMethod] = []
        for route in routes where route.segments.count == parts.count {
            var values: [(String, String)] = []
            var literals = 0
            var matches = true
            for (segment, part) in zip(route.segments, parts) {
                switch segment {
                case .literal(let text):
                    if text != part { matches = false }
                    literals += 1
                case .parameter(let name): values.append((name, String(part)))
                }
                if !matches { break }
            }
            guard matches else { continue }
            let serves = route.method == method || (method == .head && route.method == .get)
            if !serves {
                if !allowed.contains(route.method) { allowed.append(route.method) }
            } else if best == nil || literals > best!.literals {
                best = (route, PathParameters(values), literals)
            }
        }
        return (best.map { ($0.route, $0.parameters) }, allowed)
    }
}

/// The values of a pattern's `{names}`.
public struct PathParameters: Sendable {
    private let values: [(name: String, value: String)]
    init(_ values: [(String, String)]) { self.values = values }

    public subscript(name: String) -> String {
        guard let found = values.first(where: { $0.name == name }) else {
            preconditionFailure("the pattern has no {\(name)}")
        }
        return found.value
    }
}
