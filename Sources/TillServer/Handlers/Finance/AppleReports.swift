import TillAPI
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

extension Server {
    /// `POST /v1/finance/apple-reports?name=`: stores one of Apple's financial reports, the tab-separated text
    /// unchanged. The report is stored whole or not at all; importing the same text again changes nothing.
    func importAppleReport(_ call: Call) async throws -> HTTPResponse {
        let name = try InputLimits.prose(call.request.queryValue("name") ?? "report.txt", "name", 255)
        let imported = try await ledger.storeAppleReport(call.request.body, name: name, actor: call.credential.name)
        switch imported {
        case .stored(let entry, let isNew, let remarks):
            return JSONText.response(
                isNew ? 201 : 200,
                ImportReply(report: AppleReportReply(entry), remarks: remarks.map(ReportFindingReply.init)))
        case .unusable(let findings):
            // All lines of a file have the same format, so the first findings show how to correct the rest.
            guard !findings.isEmpty else {
                throw RefusalError(.reportUnusable, "the file has no lines", zh: "文件中没有任何行")
            }
            let errors = findings.filter(\.isError).prefix(5)
            throw RefusalError(
                .reportUnusable, errors.map { $0.sentence(.english) }.joined(separator: " "),
                zh: errors.map { $0.sentence(.chinese) }.joined())
        }
    }

    /// `GET /v1/finance/apple-reports?limit=&cursor=`: the imported reports, newest first.
    func listAppleReports(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call)
        let found = try await database.read { try AppleReportTable($0).list(before: page.before, limit: page.rows) }
        return page.response(found, at: \.rowID) { AppleReportReply($0) }
    }

    /// `GET /v1/finance/comparison?fiscalYear=&period=&environment=`: compares Apple's reports of a period with the
    /// ledger.
    func compareAppleReports(_ call: Call) async throws -> HTTPResponse {
        guard let period = try call.fiscalPeriod() else {
            throw RefusalError(.invalidField, "period: missing", zh: "period：缺失")
        }
        let environment = try call.environment(configuration)
        let (imported, comparison) = try await reportLimiter.withLimit {
            let imported = try await finance.imported(period)
            return (imported, try await finance.comparison(of: imported.lines, with: period, in: environment))
        }
        return JSONText.response(
            200,
            ComparisonReply(
                environment: environment, period: period, reports: imported.reports.map { AppleReportReply($0) },
                comparison))
    }
}

extension AppleReportReply {
    init(_ entry: AppleReportTable.Entry) {
        self.init(
            sha256: hexadecimal(entry.digest), name: entry.name, importedAt: entry.importedAt, importedBy: entry.actor,
            days: (entry.start, entry.end), lines: entry.lines)
    }
}

extension FinancialReportFile.Finding {
    /// `Line 7: … What to do.`
    func sentence(_ language: Language) -> String {
        let what = sentence[language] + (language == .chinese ? "" : " ") + cure[language]
        guard let line else { return what }
        return language == .chinese ? "第 \(line) 行：\(what)" : "Line \(line): \(what)"
    }
}
