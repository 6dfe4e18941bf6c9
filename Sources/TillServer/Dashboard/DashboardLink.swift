import TillAPI
import TillBilling
import TillHTTP

/// An address inside the dashboard. There is no way to make one that leads elsewhere.
struct DashboardLink: Sendable, Hashable {
    let text: String

    private init(_ path: StaticString, _ query: [(name: StaticString, value: String)] = []) {
        let items = query.map { "\($0.name)=\(Paths.escaped($0.value))" }
        text = "\(path)" + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    private init(text: String) { self.text = text }

    static let home = DashboardLink("/dashboard")
    static let login = DashboardLink("/dashboard/login")
    static let logout = DashboardLink("/dashboard/logout")
    static let quarantine = DashboardLink("/dashboard/quarantine")
    static let refusals = DashboardLink("/dashboard/refusals")
    static let live = DashboardLink("/dashboard/live")
    static let stylesheet = DashboardLink("/dashboard/style.css")
    static let script = DashboardLink("/dashboard/live.js")

    static func order(_ id: OrderID) -> DashboardLink { DashboardLink(text: "/dashboard/orders/\(id)") }
    static func transaction(_ sequence: Int64) -> DashboardLink {
        DashboardLink(text: "/dashboard/transactions/\(sequence)")
    }

    static func orders(_ filter: OrderFilter, before cursor: Int64? = nil) -> DashboardLink {
        var query = filter.query
        if let cursor { query.append(("cursor", String(cursor))) }
        return DashboardLink("/dashboard", query)
    }

    static func quarantine(before cursor: Int64) -> DashboardLink {
        DashboardLink("/dashboard/quarantine", [("cursor", String(cursor))])
    }

    static func refusals(before cursor: Int64) -> DashboardLink {
        DashboardLink("/dashboard/refusals", [("cursor", String(cursor))])
    }

    /// The login page that leads back to where somebody wanted to go.
    static func login(then request: HTTPRequest) -> DashboardLink {
        let wanted = DashboardLink(of: request)
        return wanted == .home ? .login : DashboardLink("/dashboard/login", [("to", wanted.text)])
    }

    /// The page that was asked for, in another language or, with nil, without saying which.
    init(of request: HTTPRequest, in language: Language? = nil) {
        let path = request.path.split(separator: "/").map { "/" + Paths.escaped(String($0)) }.joined()
        var items = request.query.filter { $0.name != "lang" }.map { item in
            "\(Paths.escaped(item.name))=\(Paths.escaped(item.value))"
        }
        if let language { items.append("lang=\(language.rawValue)") }
        text = path + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// Where a form says it wants to go on to; nil for anything that isn't plainly a page of the dashboard.
    init?(wanted text: String) {
        guard text.hasPrefix("/dashboard"), text.utf8.count <= 1_000, !text.contains("//"), !text.contains("..") else {
            return nil
        }
        let rest = text.utf8.dropFirst("/dashboard".utf8.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") || rest.first == UInt8(ascii: "?") else { return nil }
        guard rest.allSatisfy({ Self.isPlain($0) }) else { return nil }
        self.text = text
    }

    /// Unreserved characters of RFC 3986, and what stands between the parts of a path and a query.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "="), UInt8(ascii: "&"),
            UInt8(ascii: "%"):
            true
        default: false
        }
    }
}
