import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillPages

extension Dashboard {
    /// `POST /dashboard/finance/apple-reports`: imports the report in the form. The file is stored whole, or not at
    /// all; the page then lists the reasons.
    func importReport(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let session = visit.session
        guard session.formToken != nil else { return .redirect(to: .login) }
        try visit.request.requireOwnPage()
        let form = try MultipartForm(visit.request)
        guard session.isFormToken(form.text("form")) else { throw RefusalError(.forbidden) }
        guard let file = form["report"] else { throw RefusalError(.invalidField, verbatim: "report") }
        let name = (try? InputLimits.prose(file.fileName ?? "", "name", 255)) ?? "report.txt"
        let actor = "operator:\(session.operatorID)"
        switch try await ledger.storeAppleReport(Array(file.content), name: name, actor: actor) {
        case .stored(let entry, _, _):
            return .redirect(to: .finance(FiscalCalendar.period(containing: entry.start)))
        case .unusable(let findings):
            let shown = DashboardVisit(
                request: HTTPRequest(method: .get, path: Paths.dashboardFinance), parameters: PathParameters(),
                session: session, localize: visit.localize, now: visit.now, isTestServer: visit.isTestServer)
            let page = UnusableReportPage(visit: shown, name: name, findings: findings)
            return .page(422, page.html, in: visit.localize.language)
        }
    }
}

/// Why a file was not imported: every finding, and how to correct it.
struct UnusableReportPage {
    let visit: DashboardVisit
    let name: String
    let findings: [FinancialReportFile.Finding]

    var html: HTML {
        let localize = visit.localize
        return PageFrame.page(title: localize("Not imported", "未导入"), visit, in: .finance) {
            element("h1") { localize("Not imported", "未导入") }
            element("p", .class("error"), Attribute("role", "alert")) {
                HTML.untrusted(name, limit: 80)
                ": "
                localize(Refusal.reportUnusable.sentence)
            }
            HTML.table(
                "findings", label: localize("What is wrong", "问题"),
                columns: [localize("Line", "行"), localize("What is wrong", "问题"), localize("What to do", "处理办法")]
            ) {
                for finding in findings {
                    HTML.row {
                        FigureCells.cell("line", localize("Line", "行")) { finding.line.map(String.init) ?? "–" }
                        HTML.cell("ground") { HTML.untrusted(localize(finding.sentence), limit: 300) }
                        HTML.cell("cure") { HTML.untrusted(localize(finding.cure), limit: 300) }
                    }
                }
            }
            element("p") { element("a", .href(.finance)) { localize("Back to finance", "返回财务") } }
        }
    }
}
