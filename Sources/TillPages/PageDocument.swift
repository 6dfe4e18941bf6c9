import TillBilling

/// The frame around the content of every page.
public enum PageDocument {
    /// - Parameters:
    ///   - stylesheet: where `Stylesheet.text` is served, followed by the rules of the pages' own module.
    ///   - script: where `LiveScript.text` is served; nil for a page that does not refresh.
    public static func html(
        title: String, _ localize: Localizer, stylesheet: PageLink, script: PageLink?, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        element("html", .language(localize.language)) {
            element("head") {
                emptyElement("meta", Attribute("charset", "utf-8"))
                emptyElement(
                    "meta", Attribute("name", "viewport"), Attribute("content", "width=device-width, initial-scale=1"))
                emptyElement("meta", Attribute("name", "color-scheme"), Attribute("content", "light dark"))
                // Without an icon, browsers request /favicon.ico.
                emptyElement("link", Attribute("rel", "icon"), Attribute("href", icon))
                emptyElement("link", Attribute("rel", "stylesheet"), .href(stylesheet))
                element("title") { "\(title) · Till" }
                if let script { element("script", .source(script), .flag("defer")) {} }
            }
            element("body") {
                element("a", .class("skip"), Attribute("href", "#main")) { localize("Skip to the content", "跳到正文") }
                content()
            }
        }
    }

    /// A till seen from the front, in one colour that is visible on light and on dark.
    private static let icon: StaticString = """
        data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230f766e' \
        d='M4 1h8v4H4zM2 6h12l1 5H1zM1 12h14v3H1z'/%3E%3C/svg%3E
        """

    public static func tab(_ title: String, _ link: PageLink, isCurrent: Bool) -> HTML {
        isCurrent
            ? element("a", .href(link), Attribute("aria-current", "page")) { title }
            : element("a", .href(link)) { title }
    }

    /// Both languages, each named in its own language.
    public static func languageSwitch(_ localize: Localizer, to link: (Language) -> PageLink) -> HTML {
        element("div", .class("languages"), Attribute("role", "group"), .label(localize("Language", "语言"))) {
            for (language, name) in [(Language.english, "English"), (.chinese, "中文")] {
                if language == localize.language {
                    element("span", .language(language), Attribute("aria-current", "true")) { name }
                } else {
                    element("a", .language(language), .href(link(language))) { name }
                }
            }
        }
    }
}

/// The security headers of every response that carries a page, a part of a page or one of its files.
public enum PageProtection {
    /// Nothing from other origins, no script except our file, no embedding in a frame.
    public static let headers: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
                + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        // `same-origin` and not `no-referrer`, with which browsers hide the origin of a form.
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// The headers of a page in one language, which also forbid a copy on disk.
    public static func headers(ofPageIn language: String) -> [(name: String, value: String)] {
        headers + [
            ("Content-Type", "text/html; charset=utf-8"), ("Content-Language", language),
            ("Cache-Control", "no-store"), ("Vary", "Accept-Language, Cookie"),
        ]
    }

    /// Whether the browser states that a request comes from a page of the server it is sent to. Browsers add both
    /// headers to form submissions, and no page can change them.
    ///
    /// - Parameters:
    ///   - site: the value of `Sec-Fetch-Site`.
    ///   - origin: the value of `Origin`.
    ///   - host: the value of `Host`.
    /// - Returns: nil if the request has neither header: it does not come from a page, or comes from an older browser.
    public static func isFromOwnPage(site: String?, origin: String?, host: String?) -> Bool? {
        if site == nil && origin == nil { return nil }
        if let site, site != "same-origin", site != "none" { return false }
        guard let origin else { return true }
        guard let host = host?.lowercased() else { return false }
        // Behind a TLS proxy, the browser uses https and the server receives http.
        return ["http://\(host)", "https://\(host)"].contains(origin.lowercased())
    }

    /// A `Host` header without its port.
    public static func name(ofHost host: String) -> String {
        guard let colon = host.lastIndex(of: ":") else { return host }
        let port = host[host.index(after: colon)...]
        // In `[::1]` without a port the last colon is inside the brackets.
        return port.utf8.allSatisfy { (48...57).contains($0) } ? String(host[..<colon]) : host
    }
}
