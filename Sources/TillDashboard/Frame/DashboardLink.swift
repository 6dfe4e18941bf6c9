import TillBilling
import TillHTTP
import TillPages

/// An address inside the dashboard.
package typealias DashboardLink = PageLink

extension DashboardLink {
    package static let home = DashboardLink("/dashboard")
    package static let login = DashboardLink("/dashboard/login")
    static let logout = DashboardLink("/dashboard/logout")
    static let quarantine = DashboardLink("/dashboard/quarantine")
    static let refusals = DashboardLink("/dashboard/refusals")
    static let live = DashboardLink("/dashboard/live")
    static let stylesheet = DashboardLink("/dashboard/style.css")
    static let script = DashboardLink("/dashboard/live.js")

    static let finance = DashboardLink("/dashboard/finance")
    static let appleReports = DashboardLink("/dashboard/finance/apple-reports")

    static func finance(_ period: FiscalPeriod) -> DashboardLink {
        DashboardLink(
            "/dashboard/finance", [("fiscalYear", String(period.fiscalYear)), ("period", String(period.number))])
    }

    /// The same choice with another period.
    static func finance(_ choice: FinanceChoice, _ period: FiscalPeriod, _ currency: Currency) -> DashboardLink {
        DashboardLink(
            "/dashboard/finance",
            [
                ("fiscalYear", String(period.fiscalYear)), ("period", String(period.number)),
                ("currency", currency.text), ("environment", choice.environment.rawValue.lowercased()),
            ])
    }

    static func order(_ id: OrderID) -> DashboardLink { DashboardLink("/dashboard/orders", last: id.description) }
    static func transaction(_ rowID: Int64) -> DashboardLink {
        DashboardLink("/dashboard/transactions", last: String(rowID))
    }

    static func claims(_ rowID: Int64) -> DashboardLink {
        DashboardLink(path: "/dashboard/quarantine/\(rowID)/claims", query: [])
    }

    static func transfers(of user: UserID?, before cursor: Int64? = nil) -> DashboardLink {
        var query: [(name: StaticString, value: String)] = []
        if let user { query.append(("user", user.text)) }
        if let cursor { query.append(("cursor", String(cursor))) }
        return DashboardLink("/dashboard/transfers", query)
    }

    static func transfer(_ id: UniqueID) -> DashboardLink {
        DashboardLink("/dashboard/transfers", last: id.description)
    }

    static func reversal(_ id: UniqueID) -> DashboardLink {
        DashboardLink(path: "/dashboard/transfers/\(id)/reversal", query: [])
    }

    static func customer(_ user: UserID) -> DashboardLink {
        DashboardLink("/dashboard/customer", [("user", user.text)])
    }
    static let customerExport = DashboardLink("/dashboard/customer/export")
    static let customerErasure = DashboardLink("/dashboard/customer/erasure")

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

    /// The login page that continues to the requested page.
    package static func login(then request: HTTPRequest) -> DashboardLink {
        let wanted = DashboardLink(of: request)
        return wanted == .home ? .login : DashboardLink("/dashboard/login", [("to", wanted.text)])
    }

    /// The requested page in another language; with nil, the page without a language.
    package init(of request: HTTPRequest, in language: Language? = nil) {
        self.init(path: request.path, query: request.query, in: language)
    }

    /// The page that a form continues to; nil unless the text is a plain address of the dashboard.
    package init?(wanted text: String) { self.init(wanted: text, under: "/dashboard") }
}
