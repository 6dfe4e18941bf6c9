import TillAPI
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `GET /v1/finance/report?from=&to=|fiscalYear=&period=&environment=`: the proceeds that Apple owes, by fiscal
    /// period, product and storefront. CSV if the client accepts it.
    func readFinanceReport(_ call: Call) async throws -> HTTPResponse {
        let span = try call.financeSpan(now: clock())
        let environment = try call.environment(configuration)
        let report = try await reportLimiter.withLimit { try await finance.report(span, in: environment) }
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

    var finance: FinanceReports { FinanceReports(database: database, terms: configuration.developerTerms) }
}

extension FinanceReport {
    fileprivate var fileName: String { "till-\(span.start)-\(span.end)-\(environment.rawValue.lowercased()).csv" }
}

extension Call {
    /// `?from=&to=`, or `?fiscalYear=` with an optional `&period=`; the current fiscal year by default.
    func financeSpan(now: Instant) throws -> FinanceSpan {
        guard request.queryValue("from") != nil || request.queryValue("to") != nil else {
            let period = try fiscalPeriod()
            if let period { return FinanceSpan(period) }
            let year = try fiscalYear() ?? FiscalCalendar.period(containing: CivilDate(now)).fiscalYear
            guard let span = FinanceSpan(fiscalYear: year) else { throw InputLimits.wrongFiscalYear }
            return span
        }
        guard request.queryValue("fiscalYear") == nil, request.queryValue("period") == nil else {
            throw RefusalError(
                .invalidField, "from, to: not allowed beside fiscalYear or period",
                zh: "from、to：不能与 fiscalYear 或 period 同时使用")
        }
        guard let span = FinanceSpan(from: try day("from"), through: try day("to")) else {
            throw RefusalError(
                .invalidField, "to: must not be before from, and at most ten years after it", zh: "to：不能早于 from，且最多晚十年")
        }
        return span
    }

    /// `?fiscalYear=&period=`; nil without `period`.
    func fiscalPeriod() throws -> FiscalPeriod? {
        guard let asked = request.queryValue("period") else { return nil }
        guard let year = try fiscalYear() else {
            throw RefusalError(.invalidField, "fiscalYear: required beside period", zh: "fiscalYear：使用 period 时必须提供")
        }
        return try InputLimits.fiscalPeriod(asked, of: year)
    }

    func fiscalYear(_ name: String = "fiscalYear") throws -> Int? {
        try request.queryValue(name).map(InputLimits.fiscalYear)
    }

    private func day(_ name: String) throws -> CivilDate {
        guard let day = CivilDate(iso8601: request.queryValue(name) ?? "") else {
            throw RefusalError(.invalidField, "\(name): must be a day like 2026-03-15", zh: "\(name)：应为日期，如 2026-03-15")
        }
        return day
    }

    /// `?environment=`, or the server's usual environment.
    func environment(_ configuration: ServerConfiguration) throws -> StoreEnvironment {
        try configuration.environment(named: request.queryValue("environment"))
    }

    /// Whether the client accepts comma-separated text.
    var wantsCSV: Bool {
        let accepted = request.headers["Accept"]?.lowercased() ?? ""
        return accepted.utf8.count <= 1_000 && accepted.contains("text/csv")
    }
}
