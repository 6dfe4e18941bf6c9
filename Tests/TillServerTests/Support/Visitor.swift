import Foundation
import Testing
import TillHTTP

@testable import TillServer

/// A visitor with a simulated browser: keeps cookies and follows the forms and links of pages.
final class DashboardBrowser {
    let dashboardServer: DashboardServer
    var cookies: [String: String] = [:]
    var headers: [String: String] = ["Host": DashboardServer.host]
    var peer = "127.0.0.1"

    init(_ dashboardServer: DashboardServer) { self.dashboardServer = dashboardServer }

    /// A visitor who is logged in.
    static func loggedIn(_ dashboardServer: DashboardServer) async throws -> DashboardBrowser {
        let visitor = DashboardBrowser(dashboardServer)
        let answer = try await visitor.logIn()
        #expect(answer.status == 303)
        return visitor
    }

    func get(_ target: String, _ extra: [String: String] = [:]) async throws -> Answer {
        try await send(.get, target, [:], extra)
    }

    func post(_ target: String, _ form: [String: String], _ extra: [String: String] = [:]) async throws -> Answer {
        try await send(.post, target, form, extra)
    }

    /// Opens the login page, and sends its form with a token.
    func logIn(_ token: String = DashboardServer.operatorToken, to: String? = nil) async throws -> Answer {
        let page = try await get("/dashboard/login")
        var form = ["form": try page.formToken, "token": token]
        if let to { form["to"] = to }
        return try await post("/dashboard/login", form, ["Origin": "http://\(DashboardServer.host)"])
    }

    private func send(
        _ method: HTTPMethod, _ target: String, _ form: [String: String], _ extra: [String: String]
    ) async throws -> Answer {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let query = parts.count == 2 ? try PercentEncoding.items(parts[1].utf8) : []
        var request = HTTPRequest(method: method, path: parts[0], query: query, peer: peer)
        for (name, value) in headers.merging(extra, uniquingKeysWith: { $1 }) { request.headers.add(name, value) }
        if !cookies.isEmpty {
            request.headers.add("Cookie", cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))
        }
        let allowed = CharacterSet.alphanumerics
        request.body = Array(
            form.map { "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")" }
                .joined(separator: "&").utf8)
        let answer = Answer(await dashboardServer.server.respond(to: request))
        for cookie in answer.cookies {
            cookies[cookie.name] = cookie.attributes.contains("Max-Age=0") ? nil : cookie.value
        }
        return answer
    }
}

struct Answer {
    let status: Int
    let headers: HTTPHeaders
    let text: String

    init(_ response: HTTPResponse) {
        status = response.status
        headers = response.headers
        text = String(decoding: response.body, as: UTF8.self)
    }

    var cookies: [(name: String, value: String, attributes: [String])] {
        headers.fields.filter { $0.name == "Set-Cookie" }.map { field in
            let parts = field.value.components(separatedBy: "; ")
            let pair = parts[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return (pair[0], pair[1], Array(parts.dropFirst()))
        }
    }

    /// The token of the page's own form.
    var formToken: String {
        get throws {
            let marker = #"name="form" value=""#
            let start = try #require(text.range(of: marker))
            return String(text[start.upperBound...].prefix { $0 != "\"" })
        }
    }

    /// The value of a hidden field, as a browser sends it.
    func hidden(_ name: String) throws -> String {
        let start = try #require(text.range(of: "name=\"\(name)\" value=\""))
        return String(text[start.upperBound...].prefix { $0 != "\"" })
    }

    /// The text of the page as a reader sees it, without tags.
    var read: String {
        var plain = ""
        var isTag = false
        for character in text {
            if character == "<" { isTag = true }
            if !isTag { plain.append(character) }
            if character == ">" { isTag = false }
        }
        return plain.replacingOccurrences(of: "&lt;", with: "<").replacingOccurrences(of: "&gt;", with: ">")
            .replacingOccurrences(of: "&quot;", with: "\"").replacingOccurrences(of: "&#39;", with: "'")
            .replacingOccurrences(of: "&amp;", with: "&")
    }

    /// How often a text stands in the markup.
    func count(_ needle: String) -> Int { text.components(separatedBy: needle).count - 1 }
}
