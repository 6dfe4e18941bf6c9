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
