import TillAPI
import TillBilling
import TillHTTP

extension Server {
    /// `GET /v1/finance/report?from=&to=|fiscalYear=&period=&environment=`: what Apple owes, by fiscal period, product
    /// and storefront (C3). As CSV for who accepts that.
    func readFinanceReport(_ call: Call) async throws -> HTTPResponse {
        let span = try call.financeSpan(now: clock())
        let environment = try call.environment(configuration)
        let report = try await financeDesk.alone { try await finance.report(span, in: environment) }
        var response: HTTPResponse
        if call.wantsCSV {
            response = HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "text/csv; charset=utf-8; header=present")]),
                body: Array(report.settlement.csv.utf8))
            response.headers.add("Content-Disposition", "attachment; filename=\"\(report.fileName)\"")
        } else {
            response = JSONText.response(200, FinanceReportReply(report))
        }
        response.headers.add("Vary", "Accept")
        return response
    }

    var finance: FinanceBooks { FinanceBooks(database: database, terms: configuration.developerTerms) }
}

extension FinanceReport {
    fileprivate var fileName: String { "till-\(span.start)-\(span.end)-\(environment.rawValue.lowercased()).csv" }
}
