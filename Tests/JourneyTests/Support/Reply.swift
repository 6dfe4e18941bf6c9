import Testing
import TillHTTP
import TillJSON

/// A parsed answer.
struct Reply: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: JSONValue

    init(_ response: HTTPResponse) throws {
        status = response.status
        headers = response.headers
        body = response.body.isEmpty ? .null : try JSONValue(decoding: response.body)
    }

    subscript(name: String) -> JSONValue { body.at(name) }

    /// The stable code of a problem.
    var code: String { self["code"].text }
}

extension JSONValue {
    /// The member of that name, or null.
    func at(_ name: String) -> JSONValue { object?[name] ?? .null }
    var text: String { string ?? "" }
    var list: [JSONValue] { array ?? [] }
}
