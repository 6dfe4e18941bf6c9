import TillAppStore
import TillHTTP

/// Returns the effect that sends requests to Apple's services through an HTTP client.
public func appleExchange(over send: @escaping HTTPSend) -> AppleSend {
    { (request) async throws(AppleConnectionError) -> AppleResponse in
        let method: HTTPMethod =
            switch request.method {
            case .get: .get
            case .post: .post
            case .put: .put
            }
        let headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
        // The destination comes from the URL alone; `HTTPSend` ignores the request's path.
        let message = HTTPRequest(method: method, path: "/", headers: headers, body: request.body)
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await send(request.url, message)
        } catch {
            throw AppleConnectionError(error)
        }
        guard response.body.count <= request.responseLimit else {
            throw AppleConnectionError(
                .responseTooLarge, "\(response.body.count) bytes, \(request.responseLimit) at most")
        }
        let fields = response.headers.fields.map { AppleRequest.Header($0.name, $0.value) }
        return AppleResponse(status: response.status, headers: fields, body: response.body)
    }
}

extension AppleConnectionError {
    init(_ error: HTTPError) {
        let reason: Reason =
            switch error.kind {
            case .badURL, .cannotResolve, .cannotConnect, .addressRefused, .tls, .other: .unreachable
            case .timedOut: .timedOut
            case .connectionLost: .connectionLost
            case .responseTooLarge: .responseTooLarge
            case .stopped: .stopped
            }
        self.init(reason, error.detail)
    }
}
