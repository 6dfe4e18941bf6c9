import TillHTTP
import TillPages

/// Who a browser says it asks for.
///
/// The store asks nobody for a password, because it stands on its developer's own machine, and any page of the web
/// that this developer's browser opens can send requests there: blindly, as `text/plain`, which asks no leave of the
/// server (CORS calls it a simple request); or, once the page's own name is made to point here, as if it were ours
/// (DNS rebinding). Scripts and the emulator's own clients send none of these headers and may reach the store under any
/// name: in a container, it has that of a service. So a foreign `Host` is only held against who has the marks of a
/// browser. A page under a rebound name has no `Sec-Fetch-Site`, because plain http under such a name is not
/// trustworthy to browsers, and no `Origin` where it only reads; what is left is the `User-Agent`.
extension HTTPRequest {
    /// Whether it was sent to a name of this very machine; a port may follow.
    var isAddressedHere: Bool {
        guard let host = headers["Host"]?.lowercased(), host.utf8.count <= 255 else { return false }
        return ["127.0.0.1", "localhost", "[::1]"].contains(PageProtection.name(ofHost: host))
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
}
