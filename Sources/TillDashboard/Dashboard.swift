import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillPages

/// The pages for operators (CONTRACT §2, U9): what became of each order, what is in quarantine, what was refused, and
/// what Apple owes. They only read, but for two forms: a claim, and a report of Apple's.
///
/// A server mounts them: it serves `routes`, finds out who visits, and shows everybody else the login.
package struct Dashboard: Sendable {
    let ledger: Ledger
    let finance: FinanceBooks
    let financeDesk: FinanceDesk

    /// A form's fields are a token or two.
    package static let formLimit = 16 << 10
    /// The file, and the form around it.
    package static let importFormLimit = Ledger.appleReportLimit + (16 << 10)
    /// Rows on one page of a list.
    static let pageSize = 50

    /// - Parameter financeDesk: shared with all who make reports of the same ledger.
    package init(ledger: Ledger, finance: FinanceBooks, financeDesk: FinanceDesk) {
        self.ledger = ledger
        self.finance = finance
        self.financeDesk = financeDesk
    }

    /// One address, and what an operator gets there.
    package struct Route: Sendable {
        package typealias Action = @Sendable (DashboardVisit) async throws -> HTTPResponse

        package let method: HTTPMethod
        package let path: String
        /// Of a form, in bytes; nil where none is sent.
        package let bodyLimit: Int?
        package let action: Action

        init(_ method: HTTPMethod, _ path: String, bodyLimit: Int? = nil, _ action: @escaping Action) {
            self.method = method
            self.path = path
            self.bodyLimit = bodyLimit
            self.action = action
        }

        /// Whether the form holds a file: no such body is read for somebody who is not logged in.
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
            Route(.get, Paths.dashboardRefusals, listRefusals),
            Route(.get, Paths.dashboardFinance, showFinance),
            Route(.post, Paths.dashboardAppleReports, bodyLimit: Self.importFormLimit, importReport),
        ]
    }

    /// What all pages look like.
    package static let stylesheet = "\(Stylesheet.text)\(DashboardStyle.text)"
    /// What makes the list refresh.
    package static let script = "\(LiveScript.text)"
}

/// Who visits, as the server that mounts the pages found out.
package struct DashboardSession: Sendable {
    /// As the configuration names this operator.
    package let operatorID: String
    /// What every form of this session's pages carries. Nil for a script, which shows a token with every request and
    /// sends no forms.
    package let formToken: String?

    package init(operatorID: String, formToken: String?) {
        self.operatorID = operatorID
        self.formToken = formToken
    }
}

/// One visit of a page, by an operator.
package struct DashboardVisit: Sendable {
    let request: HTTPRequest
    let parameters: PathParameters
    let session: DashboardSession
    let say: Reader
    let now: Instant

    package init(
        request: HTTPRequest, parameters: PathParameters, session: DashboardSession, say: Reader, now: Instant
    ) {
        self.request = request
        self.parameters = parameters
        self.session = session
        self.say = say
        self.now = now
    }

    /// `?cursor=`, from which lists go on to older rows; anything that is none begins at the newest.
    var cursor: Int64? { request.queryValue("cursor").flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } }
}
