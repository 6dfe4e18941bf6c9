import TillBilling
import TillHTTP
import TillPages

/// One visit of a page, by somebody who may.
struct DashboardVisit: Sendable {
    let request: HTTPRequest
    let parameters: PathParameters
    let visitor: Dashboard.Visitor
    let say: Reader
    let now: Instant
}

extension HTTPResponse {
    static func page(_ status: Int, _ page: HTML, in language: Language) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders(PageProtection.headers(ofPageIn: language.rawValue)),
            body: page.document())
    }

    /// A part of a page, for the script.
    static func fragment(_ part: HTML, in language: Language) -> HTTPResponse {
        var response = page(200, .empty, in: language)
        response.body = Array(part.markup.utf8)
        return response
    }

    static func asset(_ type: String, _ text: String, tag: String, for request: HTTPRequest) -> HTTPResponse {
        var headers = HTTPHeaders(PageProtection.headers)
        headers.add("ETag", tag)
        headers.add("Cache-Control", "no-cache")
        if request.headers["If-None-Match"] == tag { return HTTPResponse(status: 304, headers: headers) }
        headers.add("Content-Type", type)
        return HTTPResponse(status: 200, headers: headers, body: Array(text.utf8))
    }

    static func redirect(to link: DashboardLink) -> HTTPResponse {
        var headers = HTTPHeaders(PageProtection.headers)
        headers.add("Location", link.text)
        headers.add("Cache-Control", "no-store")
        return HTTPResponse(status: 303, headers: headers)
    }

    /// Sets a cookie that scripts can't read and other sites can't send; with nil, takes it away.
    mutating func setCookie(_ name: String, _ value: String?, seconds: Int64? = nil, for request: HTTPRequest) {
        var text = "\(name)=\(value ?? ""); Path=/dashboard; HttpOnly; SameSite=Strict"
        if request.isEncrypted { text += "; Secure" }
        if value == nil { text += "; Max-Age=0" } else if let seconds { text += "; Max-Age=\(seconds)" }
        headers.add("Set-Cookie", text)
    }
}
