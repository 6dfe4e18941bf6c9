import TillHTTP

extension SimulatedWorld {
    /// The request as a listener would have read it.
    static func request(_ request: HTTPRequest, to url: String) -> HTTPRequest {
        var request = request
        let rest = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).dropFirst(2).first ?? ""
        let parts = rest.split(separator: "?", maxSplits: 1)
        request.path = "/" + (parts.first.flatMap { try? PercentEncoding.decode($0.utf8) } ?? "")
        request.query = parts.count > 1 ? (try? PercentEncoding.items(parts[1].utf8)) ?? [] : []
        return request
    }
}
