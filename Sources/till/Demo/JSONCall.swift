import TillAppStore
import TillBilling
import TillHTTP

/// JSON over HTTP, for what the demo asks its own two servers.
struct JSONCall: Sendable {
    private let send: HTTPSend

    init(_ fetch: Fetch) { send = fetch.send }

    func get(_ url: String, bearer: String? = nil) async throws -> JSONValue {
        try await ask(.get, url, nil, bearer)
    }

    func post(_ url: String, _ body: JSONValue, bearer: String? = nil) async throws -> JSONValue {
        try await ask(.post, url, body, bearer)
    }

    private func ask(_ method: HTTPMethod, _ url: String, _ body: JSONValue?, _ bearer: String?) async throws
        -> JSONValue
    {
        var headers = HTTPHeaders([("Accept", "application/json")])
        if let bearer { headers.add("Authorization", "Bearer \(bearer)") }
        if body != nil { headers.add("Content-Type", "application/json") }
        let bytes = body.map { Array($0.encoded().utf8) } ?? []
        let response = try await send(url, HTTPRequest(method: method, path: "", headers: headers, body: bytes))
        guard (200..<300).contains(response.status), let answer = try? JSONValue(decoding: response.body) else {
            throw CommandFailure(
                Text(
                    en: "\(method.rawValue) \(url) was answered \(response.status)",
                    zh: "\(method.rawValue) \(url) 的答复是 \(response.status)"))
        }
        return answer
    }
}
