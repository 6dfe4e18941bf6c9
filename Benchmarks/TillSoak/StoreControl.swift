import TillAPI
import TillBilling
import TillHTTP
import TillJSON

/// The emulated store's control API, for the parts of the soak that act outside the app.
struct StoreControl: Sendable {
    let url: String
    let send: HTTPSend

    /// An error answer.
    struct ResponseError: Error, CustomStringConvertible {
        let status: Int
        let code: String
        var description: String { "the store answered \(status) \(code)" }
    }

    func get(_ path: String) async throws -> JSONValue { try await patiently(.get, path, nil) }
    func put(_ path: String, _ body: JSONValue) async throws { _ = try await patiently(.put, path, body) }
    func delete(_ path: String) async throws { _ = try await patiently(.delete, path, nil) }

    /// Sent once: a lost request is not repeated, because it may have been carried out.
    func post(_ path: String, _ body: JSONValue? = nil) async throws -> JSONValue { try await ask(.post, path, body) }

    /// The whole list, page by page.
    func list(_ path: String) async throws -> [JSONValue] {
        var found: [JSONValue] = []
        var cursor: String?
        repeat {
            let more = cursor.map { "&cursor=\(Paths.escaped($0))" } ?? ""
            let page = try await get(path + (path.contains("?") ? "&" : "?") + "limit=100" + more)
            found += page["data"]?.array ?? []
            cursor = page["nextCursor"]?.string
        } while cursor != nil
        return found
    }

    func bytes(_ path: String) async throws -> [UInt8] {
        try await send(url + path, HTTPRequest(method: .get, path: "")).body
    }

    /// The store is killed now and then, and restarted.
    private func patiently(_ method: HTTPMethod, _ path: String, _ body: JSONValue?) async throws -> JSONValue {
        for _ in 0..<100 {
            do {
                return try await ask(method, path, body)
            } catch is HTTPError {
                try await Task.sleep(for: .milliseconds(300))
            }
        }
        return try await ask(method, path, body)
    }

    private func ask(_ method: HTTPMethod, _ path: String, _ body: JSONValue?) async throws -> JSONValue {
        var headers = HTTPHeaders([(name: "Accept", value: "application/json")])
        if body != nil { headers.add("Content-Type", "application/json") }
        let bytes = body.map { Array($0.encoded().utf8) } ?? []
        let response = try await send(
            url + path, HTTPRequest(method: method, path: "", headers: headers, body: bytes)
        ).arrived()
        let answer = try? JSONValue(decoding: response.body)
        guard (200..<300).contains(response.status), let answer else {
            throw ResponseError(status: response.status, code: answer?["code"]?.string ?? "")
        }
        return answer
    }
}
