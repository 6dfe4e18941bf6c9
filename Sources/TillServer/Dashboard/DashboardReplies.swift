import TillBilling
import TillHTTP

/// One visit of a page, by somebody who may.
struct DashboardVisit: Sendable {
    let request: HTTPRequest
    let parameters: PathParameters
    let visitor: Dashboard.Visitor
    let say: Reader
    let now: Instant
}

/// Says everything in the reader's language.
struct Reader: Sendable {
    let language: Language

    func callAsFunction(_ english: String, _ chinese: String) -> String {
        switch language {
        case .english: english
        case .chinese: chinese
        }
    }

    func callAsFunction(_ text: Text) -> String { text[language] }
}

extension HTTPResponse {
    /// Nothing from elsewhere, no script but our file, in nobody's frame; and no copy on any disk.
    private static let protection: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
                + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        // Same origin rather than none: with none, browsers hide from us where a form comes from.
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    static func page(_ status: Int, _ page: HTML, in language: Language) -> HTTPResponse {
        var headers = HTTPHeaders(protection)
        headers.add("Content-Type", "text/html; charset=utf-8")
        headers.add("Content-Language", language.rawValue)
        headers.add("Cache-Control", "no-store")
        headers.add("Vary", "Accept-Language, Cookie")
        return HTTPResponse(status: status, headers: headers, body: page.document())
    }

    /// A part of a page, for the script.
    static func fragment(_ part: HTML, in language: Language) -> HTTPResponse {
        var response = page(200, .empty, in: language)
        response.body = Array(part.markup.utf8)
        return response
    }

    static func asset(_ type: String, _ text: StaticString, tag: String, for request: HTTPRequest) -> HTTPResponse {
        var headers = HTTPHeaders(protection)
        headers.add("ETag", tag)
        headers.add("Cache-Control", "no-cache")
        if request.headers["If-None-Match"] == tag { return HTTPResponse(status: 304, headers: headers) }
        headers.add("Content-Type", type)
        return HTTPResponse(status: 200, headers: headers, body: Array("\(text)".utf8))
    }

    static func redirect(to link: DashboardLink) -> HTTPResponse {
        var headers = HTTPHeaders(protection)
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
