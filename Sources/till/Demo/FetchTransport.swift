import TillClient
import TillHTTP

extension Transport {
    /// The client kit's way to the server, over libcurl.
    init(_ fetch: Fetch) {
        let send = fetch.send
        self.init { (request) async throws(TransportFault) -> TransportResponse in
            var headers = HTTPHeaders()
            for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) { headers.add(name, value) }
            let method: HTTPMethod = request.method == "GET" ? .get : .post
            let response: HTTPResponse
            do throws(HTTPFault) {
                response = try await send(
                    request.url, HTTPRequest(method: method, path: "", headers: headers, body: request.body))
            } catch {
                throw TransportFault(error)
            }
            return TransportResponse(
                status: response.status, contentType: response.headers["Content-Type"] ?? "",
                retryAfter: response.headers["Retry-After"].flatMap { Int64($0) }, body: response.body)
        }
    }
}

extension TransportFault {
    fileprivate init(_ fault: HTTPFault) {
        let kind: Kind =
            switch fault.kind {
            case .cannotResolve: .cannotFindServer
            case .cannotConnect: .cannotConnect
            case .timedOut: .timedOut
            case .connectionLost: .connectionLost
            case .tls: .insecure
            case .badURL, .answerTooLarge, .stopped, .other: .other
            }
        self.init(kind, fault.detail)
    }
}
