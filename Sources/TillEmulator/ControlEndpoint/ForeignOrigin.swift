import TillHTTP
import TillPages

/// Who a browser says it asks for.
///
/// The store asks nobody for a password, because it stands on its developer's own machine, and any page of the web
/// that this developer's browser opens can send requests there: blindly, as `text/plain`, which asks no leave of the
/// server (CORS calls it a simple request); or, once the page's own name is made to point here, as if it were ours
/// (DNS rebinding). A page under a rebound name has no `Sec-Fetch-Site`, because plain http under such a name is not
/// trustworthy to browsers, no `Origin` where it only reads, and in some browsers the `User-Agent` it likes. So the
/// `Host` decides, for reads and writes and whoever sends it: it must be a name that no page of the web can have.
extension HTTPRequest {
    /// Whether it was sent to a name of this very machine; a port may follow.
    var isAddressedHere: Bool {
        guard let host = headers["Host"]?.lowercased(), host.utf8.count <= 255 else { return false }
        return ["127.0.0.1", "localhost", "[::1]"].contains(PageProtection.name(ofHost: host))
    }

    /// Whether it was sent to a name that no page of the web can have: an address in digits, a name without a dot (that
    /// of a service among containers), or one under `localhost`. Without a `Host` it comes from no browser.
    var isAddressedToStore: Bool {
        guard let host = headers["Host"]?.lowercased() else { return true }
        guard !host.isEmpty, host.utf8.count <= 255 else { return false }
        let name = PageProtection.name(ofHost: host)
        if name.hasPrefix("["), name.hasSuffix("]") { return true }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count == 1 || labels.last == "localhost" { return true }
        return labels.count == 4 && labels.allSatisfy { UInt8($0) != nil }
    }

    /// Whether a browser sent it for a page that is none of the store's.
    var isForeign: Bool {
        let (site, origin) = (headers["Sec-Fetch-Site"], headers["Origin"])
        if PageProtection.isFromOwnPage(site: site, origin: origin, host: headers["Host"]) == false { return true }
        let isFromBrowser = site != nil || origin != nil || headers["User-Agent"]?.hasPrefix("Mozilla/") == true
        return isFromBrowser && !isAddressedHere
    }
}

extension Problem {
    static let foreignOrigin = Problem(
        status: 403, code: "foreign_origin",
        english: "A browser sent this for a page that is not the store's. Nothing was done.",
        chinese: "此请求由浏览器为其他网页发出，未执行任何操作。")
    static let foreignHost = Problem(
        status: 421, code: "foreign_host",
        english:
            "The store is not reached under this name. Ask it as http://127.0.0.1 with its port. Nothing was done.",
        chinese: "商店不以此名称提供服务。请使用 http://127.0.0.1 加端口访问。未执行任何操作。")
}
