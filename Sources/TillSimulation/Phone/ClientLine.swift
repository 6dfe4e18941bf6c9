import TillClient
import TillHTTP

// The connection between the client kit and a server in the same process, without a socket.

extension HTTPRequest {
    /// The client kit's request to `till:`, as a listener would have read it.
    package init(_ request: TransportRequest) {
        let headers = HTTPHeaders(request.headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) })
        let parts = request.url.dropFirst("till:".count).split(separator: "?", maxSplits: 1).map(String.init)
        self.init(
            method: HTTPMethod(rawValue: request.method) ?? .post, path: parts.first ?? "",
            query: parts.count == 2 ? (try? PercentEncoding.items(parts[1].utf8)) ?? [] : [], headers: headers,
            body: request.body, peer: "127.0.0.1")
    }
}

extension TransportResponse {
    package init(_ response: HTTPResponse) {
        self.init(
            status: response.status, contentType: response.headers["Content-Type"] ?? "",
            retryAfter: response.headers["Retry-After"].flatMap { Int64($0) }, etag: response.headers["ETag"],
            body: response.body)
    }
}
