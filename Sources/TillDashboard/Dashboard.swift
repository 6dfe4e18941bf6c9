import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillPages

/// The pages for operators: orders, quarantine, transfers, refused proofs, customers, and the proceeds that Apple owes.
/// They are read-only, except for four forms: a claim, the reversal of a transfer, the erasure of a customer, and the
/// import of one of Apple's reports.
///
/// A server mounts the pages: it serves `routes`, authenticates visitors, and redirects everyone else to the login.
package struct Dashboard: Sendable {
    let ledger: Ledger
    let finance: FinanceReports
    let reportLimiter: ReportLimiter

    /// Bytes of a form that holds only text fields.
    package static let formLimit = 16 << 10
    /// Bytes of the report and of the form around it.
    package static let importFormLimit = Ledger.appleReportLimit + (16 << 10)
    /// Rows on one page of a list.
    static let pageSize = 50

    /// - Parameter reportLimiter: shared by everything that makes reports of the same ledger.
    package init(ledger: Ledger, finance: FinanceReports, reportLimiter: ReportLimiter) {
        self.ledger = ledger
        self.finance = finance
        self.reportLimiter = reportLimiter
    }

    /// One address, and the handler behind it.
    package struct Route: Sendable {
        package typealias Action = @Sendable (DashboardVisit) async throws -> HTTPResponse

        package let method: HTTPMethod
        package let path: String
        /// The limit of a form, in bytes; nil for an address that takes none.
        package let bodyLimit: Int?
        package let action: Action

        init(_ method: HTTPMethod, _ path: String, bodyLimit: Int? = nil, _ action: @escaping Action) {
            self.method = method
            self.path = path
            self.bodyLimit = bodyLimit
            self.action = action
        }

        /// Whether the form holds a file. The body of such a form is read only for a logged-in operator.
        package var takesFile: Bool { bodyLimit.map { $0 > Dashboard.formLimit } ?? false }
    }

    package var routes: [Route] {
        [
            Route(.get, Paths.dashboard, listOrders),
            Route(.get, Paths.dashboardLive, refreshOrders),
            Route(.get, Paths.dashboardOrder, showOrder),
            Route(.get, Paths.dashboardTransaction, showTransaction),
            Route(.get, Paths.dashboardQuarantine, listQuarantine),
            Route(.post, Paths.dashboardClaims, bodyLimit: Self.formLimit, claim),
            Route(.get, Paths.dashboardTransfers, listTransfers),
            Route(.get, Paths.dashboardTransfer, showTransfer),
            Route(.post, Paths.dashboardReversal, bodyLimit: Self.formLimit, reverseTransfer),
            Route(.get, Paths.dashboardRefusals, listRefusals),
            Route(.get, Paths.dashboardCustomer, showCustomer),
            Route(.post, Paths.dashboardCustomerExport, bodyLimit: Self.formLimit, exportCustomer),
            Route(.post, Paths.dashboardCustomerErasure, bodyLimit: Self.formLimit, eraseCustomer),
            Route(.get, Paths.dashboardFinance, showFinance),
            Route(.post, Paths.dashboardAppleReports, bodyLimit: Self.importFormLimit, importReport),
        ]
    }

    /// The style sheet of all pages.
    package static let stylesheet = "\(Stylesheet.text)\(DashboardStyle.text)"
    /// The script that refreshes the list of orders.
    package static let script = "\(LiveScript.text)"
}

/// An authenticated operator, as the mounting server determined.
package struct DashboardSession: Sendable {
    /// The operator's name in the configuration.
    package let operatorID: String
    /// The token in every form of this session's pages. Nil for a script, which shows an operator token with every
    /// request and sends no forms.
    package let formToken: String?

    package init(operatorID: String, formToken: String?) {
        self.operatorID = operatorID
        self.formToken = formToken
    }
}

/// One request for a page, by an operator.
package struct DashboardVisit: Sendable {
    let request: HTTPRequest
    let parameters: PathParameters
    let session: DashboardSession
    let localize: Localizer
    let now: Instant
    /// Whether the server accepts only Xcode's local tests. Every page then says so.
    let isTestServer: Bool

    package init(
        request: HTTPRequest, parameters: PathParameters, session: DashboardSession, localize: Localizer, now: Instant,
        isTestServer: Bool
    ) {
        self.request = request
        self.parameters = parameters
        self.session = session
        self.localize = localize
        self.now = now
        self.isTestServer = isTestServer
    }

    /// `?cursor=`, where a list continues with older rows. An invalid value starts at the newest row.
    var cursor: Int64? { request.queryValue("cursor").flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } }
}
