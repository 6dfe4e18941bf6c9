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

/// A form whose page the browser asked for under another name than the one in the request's `Host`: a proxy in front
/// replaced the header.
package struct HostMismatch: Sendable, Hashable {
    /// The name that the browser used.
    let page: String
    /// The name that arrived.
    let host: String

    var sentence: LocalizedText {
        let (page, host) = (String(self.page.prefix(255)), String(self.host.prefix(255)))
        return LocalizedText(
            en:
                "This form was sent by a page of \(page), and arrived with the Host header \(host). If that is the "
                + "name under which you reach this server, the proxy in front replaces the header: let it pass on the "
                + "browser's Host header (nginx: proxy_set_header Host $host;), and list the name under "
                + "\"dashboardHosts\" in the configuration. If you don't know \(page), another site sent the form.",
            zh: "此表单由 \(page) 的页面提交，到达时的 Host 标头是 \(host)。如果这正是您访问本服务器所用的主机名，说明前面的代理"
                + "替换了标头：请让代理原样转发浏览器的 Host 标头（nginx：proxy_set_header Host $host;），"
                + "并在配置的 \"dashboardHosts\" 中列出该主机名。如果您不认识 \(page)，则此表单来自其他网站。")
    }
}

extension HTTPRequest {
    /// Nil if the browser states no other host, or states that the form comes from another site.
    package var hostMismatch: HostMismatch? {
        if let site = headers["Sec-Fetch-Site"], site != "same-origin" { return nil }
        guard let origin = headers["Origin"]?.lowercased(), let host = headers["Host"]?.lowercased() else { return nil }
        for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
            let page = String(origin.dropFirst(scheme.count))
            return page == host ? nil : HostMismatch(page: page, host: host)
        }
        return nil
    }

    /// The loopback name that arrived, if the proxy in front says that the browser asked for another one: by
    /// `X-Forwarded-Host`, or by an encrypted connection, for which public authorities certify no loopback name.
    package var hostOfProxy: String? {
        guard let host = headers["Host"]?.lowercased(),
            ["127.0.0.1", "localhost", "[::1]"].contains(PageProtection.name(ofHost: host))
        else { return nil }
        if let asked = headers["X-Forwarded-Host"]?.lowercased() { return asked == host ? nil : host }
        return headers["X-Forwarded-Proto"]?.lowercased() == "https" ? host : nil
    }

    /// - Throws: `forbidden` for a form of another site, with the reason if a proxy replaced the host.
    package func requireOwnPage() throws {
        guard !isFromOwnPage else { return }
        throw RefusalError(.forbidden, detail: hostMismatch?.sentence)
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
