import TillAppStore
import TillHTTP

/// Returns the effect that sends requests to Apple's services through an HTTP client.
public func appleExchange(over send: @escaping HTTPSend) -> AppleExchange {
    { (request) async throws(AppleOutage) -> AppleAnswer in
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
        do throws(HTTPFault) {
            response = try await send(request.url, message)
        } catch {
            throw AppleOutage(error)
        }
        guard response.body.count <= request.answerLimit else {
            throw AppleOutage(.answerTooLarge, "\(response.body.count) bytes, \(request.answerLimit) at most")
        }
        let fields = response.headers.fields.map { AppleRequest.Header($0.name, $0.value) }
        return AppleAnswer(status: response.status, headers: fields, body: response.body)
    }
}

extension AppleOutage {
    init(_ fault: HTTPFault) {
        let reason: Reason =
            switch fault.kind {
            case .badURL, .cannotResolve, .cannotConnect, .addressRefused, .tls, .other: .unreachable
            case .timedOut: .timedOut
            case .connectionLost: .connectionLost
            case .answerTooLarge: .answerTooLarge
            case .stopped: .stopped
            }
        self.init(reason, fault.detail)
    }
}
