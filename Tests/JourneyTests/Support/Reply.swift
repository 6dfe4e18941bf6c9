import Testing
import TillAppStore
import TillHTTP

/// An answer, opened.
struct Reply: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: JSONValue

    init(_ response: HTTPResponse) throws {
        status = response.status
        headers = response.headers
        body = response.body.isEmpty ? .null : try JSONValue(response.body)
    }

    subscript(name: String) -> JSONValue { body[name] ?? .null }

    /// The stable code of a problem.
    var code: String { self["code"].text }
}

extension JSONValue {
    subscript(name: String) -> JSONValue {
        guard case .object(let members) = self else { return .null }
        return members[name] ?? .null
    }

    var text: String { if case .string(let text) = self { text } else { "" } }
    var list: [JSONValue] { if case .array(let list) = self { list } else { [] } }
}
