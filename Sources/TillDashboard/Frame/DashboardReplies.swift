import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillPages

extension HTTPResponse {
    package static func page(_ status: Int, _ page: HTML, in language: Language) -> HTTPResponse {
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

    package static func asset(_ type: String, _ text: String, tag: String, for request: HTTPRequest) -> HTTPResponse {
        var headers = HTTPHeaders(PageProtection.headers)
        headers.add("ETag", tag)
        headers.add("Cache-Control", "no-cache")
        if request.headers["If-None-Match"] == tag { return HTTPResponse(status: 304, headers: headers) }
        headers.add("Content-Type", type)
        return HTTPResponse(status: 200, headers: headers, body: Array(text.utf8))
    }

    package static func redirect(to link: DashboardLink) -> HTTPResponse {
        var headers = HTTPHeaders(PageProtection.headers)
        headers.add("Location", link.text)
        headers.add("Cache-Control", "no-store")
        return HTTPResponse(status: 303, headers: headers)
    }
}

extension HTTPRequest {
    /// The fields of a form, the first of each name.
    package func form() throws -> [String: String] {
        guard let items = try? PercentEncoding.items(body) else { throw RefusalError(.invalidField, verbatim: "form") }
        return Dictionary(items.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// Whether a form comes from one of this server's own pages, as browsers state in headers. A request without these
    /// headers does not come from a browser page, and still needs the form's token.
    package var isFromOwnPage: Bool {
        PageProtection.isFromOwnPage(
            site: headers["Sec-Fetch-Site"], origin: headers["Origin"], host: headers["Host"]) ?? true
    }
}

extension DashboardSession {
    /// Whether a form comes from a page of this session: another site can make a browser send the cookie, but does not
    /// know the token.
    package func isFormToken(_ text: String?) -> Bool {
        guard let text, let formToken else { return false }
        return constantTimeEqual(text.utf8, formToken.utf8)
    }
}
