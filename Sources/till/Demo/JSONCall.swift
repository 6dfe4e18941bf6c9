import TillBilling
import TillHTTP
import TillJSON

/// JSON over HTTP for the demo's requests to its own two servers.
struct JSONCall: Sendable {
    private let send: HTTPSend

    init(_ fetch: Fetch) { send = fetch.send }

    func get(_ url: String, bearer: String? = nil) async throws -> JSONValue {
        let answer = try await ask(.get, url, nil, bearer)
        guard (200..<300).contains(answer.status) else {
            throw CommandError(
                LocalizedText(en: "GET \(url) returned \(answer.status)", zh: "GET \(url) 返回 \(answer.status)"))
        }
        return answer.body
    }

    /// Returns any answer, whatever its status.
    func post(
        _ url: String, _ body: JSONValue, bearer: String? = nil
    ) async throws -> (status: Int, body: JSONValue) {
        try await ask(.post, url, body, bearer)
    }

    private func ask(
        _ method: HTTPMethod, _ url: String, _ body: JSONValue?, _ bearer: String?
    ) async throws -> (status: Int, body: JSONValue) {
        var headers = HTTPHeaders([("Accept", "application/json")])
        if let bearer { headers.add("Authorization", "Bearer \(bearer)") }
        if body != nil { headers.add("Content-Type", "application/json") }
        let bytes = body.map { $0.encodedBytes() } ?? []
        let response = try await send(url, HTTPRequest(method: method, path: "", headers: headers, body: bytes))
        guard let answer = try? JSONValue(decoding: response.body) else {
            throw CommandError(
                LocalizedText(
                    en: "\(method.rawValue) \(url) returned \(response.status) without JSON",
                    zh: "\(method.rawValue) \(url) 返回 \(response.status)，且不是 JSON"))
        }
        return (response.status, answer)
    }
}
