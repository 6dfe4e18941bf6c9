import TillBilling

/// What every page has around it, whoever shows it.
public enum PageDocument {
    /// - Parameters:
    ///   - stylesheet: where `Stylesheet.text` is served, with more of the room's own behind it.
    ///   - script: where `LiveScript.text` is; nil for a page that stands still.
    public static func html(
        title: String, _ say: Reader, stylesheet: PageLink, script: PageLink?, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        element("html", .language(say.language)) {
            element("head") {
                emptyElement("meta", Attribute("charset", "utf-8"))
                emptyElement(
                    "meta", Attribute("name", "viewport"), Attribute("content", "width=device-width, initial-scale=1"))
                emptyElement("meta", Attribute("name", "color-scheme"), Attribute("content", "light dark"))
                // Without one, browsers ask for /favicon.ico.
                emptyElement("link", Attribute("rel", "icon"), Attribute("href", icon))
                emptyElement("link", Attribute("rel", "stylesheet"), .href(stylesheet))
                element("title") { "\(title) · Till" }
                if let script { element("script", .source(script), .flag("defer")) {} }
            }
            element("body") {
                element("a", .class("skip"), Attribute("href", "#main")) { say("Skip to the content", "跳到正文") }
                content()
            }
        }
    }

    /// A till seen from the front, in one colour that does on light and dark.
    private static let icon: StaticString = """
        data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230f766e' \
        d='M4 1h8v4H4zM2 6h12l1 5H1zM1 12h14v3H1z'/%3E%3C/svg%3E
        """

    public static func tab(_ title: String, _ link: PageLink, isCurrent: Bool) -> HTML {
        isCurrent
            ? element("a", .href(link), Attribute("aria-current", "page")) { title }
            : element("a", .href(link)) { title }
    }

    /// Both languages, each named in itself.
    public static func languageSwitch(_ say: Reader, to link: (Language) -> PageLink) -> HTML {
        element("div", .class("languages"), Attribute("role", "group"), .label(say("Language", "语言"))) {
            for (language, name) in [(Language.english, "English"), (.chinese, "中文")] {
                if language == say.language {
                    element("span", .language(language), Attribute("aria-current", "true")) { name }
                } else {
                    element("a", .language(language), .href(link(language))) { name }
                }
            }
        }
    }
}

/// What every answer with a page, a part of one or a file of one says to the browser.
public enum PageProtection {
    /// Nothing from elsewhere, no script but our file, in nobody's frame.
    public static let headers: [(name: String, value: String)] = [
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

    /// The same for a page in a language: and no copy of it on any disk.
    public static func headers(ofPageIn language: String) -> [(name: String, value: String)] {
        headers + [
            ("Content-Type", "text/html; charset=utf-8"), ("Content-Language", language),
            ("Cache-Control", "no-store"), ("Vary", "Accept-Language, Cookie"),
        ]
    }

    /// Whether a browser says that a request comes from a page of the server it is sent to. Browsers add both headers
    /// to what a form sends, and no page can change them.
    /// - Parameters:
    ///   - site: the value of `Sec-Fetch-Site`.
    ///   - origin: the value of `Origin`.
    ///   - host: the value of `Host`.
    /// - Returns: nil if the request says neither: then it comes from no page, or from a browser that is older.
    public static func isFromOwnPage(site: String?, origin: String?, host: String?) -> Bool? {
        if site == nil && origin == nil { return nil }
        if let site, site != "same-origin", site != "none" { return false }
        guard let origin else { return true }
        guard let host = host?.lowercased() else { return false }
        // Behind a TLS proxy the browser says https and we hear http.
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
