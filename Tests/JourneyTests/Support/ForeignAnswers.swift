import TillAPI
import TillBilling
import TillHTTP
import TillJSON

/// Answers in the server's place, or of a failing server.
extension HTTPResponse {
    static func problem(_ refusal: Refusal, _ status: Int, retryAfter: Int? = nil) -> HTTPResponse {
        var headers = HTTPHeaders([(name: "Content-Type", value: ProblemDetails.contentType)])
        if let retryAfter { headers.add("Retry-After", String(retryAfter)) }
        let body: JSONValue = [
            "type": .string("urn:till:problem:\(refusal.rawValue)"), "title": .string(refusal.sentence.en),
            "status": .int(Int64(status)), "code": .string(refusal.rawValue),
            "retryable": .bool(refusal.isRetryable), "requestId": "r-1",
        ]
        return HTTPResponse(status: status, headers: headers, body: Array(body.encoded().utf8))
    }

    /// A captive portal.
    static let page = HTTPResponse(
        status: 200, headers: HTTPHeaders([(name: "Content-Type", value: "text/html")]),
        body: Array("<html><body>Welcome to our Wi-Fi</body></html>".utf8))

    /// JSON by its type, with an empty body.
    static let nothing = HTTPResponse(
        status: 200, headers: HTTPHeaders([(name: "Content-Type", value: "application/json")]))

    static let elsewhere = HTTPResponse(
        status: 302, headers: HTTPHeaders([(name: "Location", value: "https://login.example/")]))

    static let badGateway = HTTPResponse(
        status: 502, headers: HTTPHeaders([(name: "Content-Type", value: "text/html")]),
        body: Array("<html>502</html>".utf8))

    static let busy = HTTPResponse.problem(.unavailable, 503, retryAfter: 30)
}
