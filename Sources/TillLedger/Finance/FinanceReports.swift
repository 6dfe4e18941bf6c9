import TillBilling
import TillCrypto
import TillSQL
import TillThreads

/// Financial data from the ledger and from Apple's own reports. Reads only, so it also works beside a running server.
public struct FinanceReports: Sendable {
    private let database: any Database
    private let terms: DeveloperTerms

    public init(database: any Database, terms: DeveloperTerms) {
        self.database = database
        self.terms = terms
    }

    /// What Apple owes for the days of a span.
    public func report(_ span: FinanceSpan, in environment: StoreEnvironment) async throws -> FinanceReport {
        let found = try await database.read { connection in
            try FinanceEntries(connection).list(from: span.start, through: span.end, in: environment)
        }
        return FinanceReport(
            span: span, environment: environment, settlement: SettlementReport(found.entries, terms: terms),
            unpriced: found.unpriced)
    }

    /// The lines of a period's imported reports that count: for each country those of the newest report that covers it,
    /// because a corrected file replaces the one before.
    public struct Imported: Sendable {
        public var reports: [AppleReportTable.Entry] = []
        public var lines: [FinancialReportFile.Line] = []
    }

    /// The limit allows one report for each territory and many corrected ones.
    private static let reportLimit = 500

    public func imported(_ period: FiscalPeriod) async throws -> Imported {
        let reports = try await database.read { connection in
            try AppleReportTable(connection).list(from: period.start, through: period.end, limit: Self.reportLimit)
        }
        var imported = Imported(reports: reports)
        var countries: Set<String> = []
        for report in reports {
            let text = try await database.read { try AppleReportTable($0).text(report.rowID) }
            let lines = FinancialReportFile(String(decoding: text ?? [], as: UTF8.self)).lines.filter {
                period.start <= $0.start && $0.end <= period.end && !countries.contains($0.country)
            }
            imported.lines += lines
            countries.formUnion(lines.map(\.country))
        }
        return imported
    }

    /// Compares a period in Apple's reports with the ledger, line by line.
    public func comparison(
        of lines: [FinancialReportFile.Line], with period: FiscalPeriod, in environment: StoreEnvironment
    ) async throws -> ReportComparison {
        let report = try await report(FinanceSpan(period), in: environment)
        return ReportComparison(apple: lines, ledger: report.settlement.periods.first { $0.fiscal == period })
    }
}

/// Allows one report at a time: a report reads the whole ledger, and reads of orders must not wait behind several
/// reports.
package final class ReportLimiter: Sendable {
    private let isBusy = Locked(false)

    package init() {}

    package func withLimit<Value>(_ make: () async throws -> Value) async throws -> Value {
        let isMine = isBusy.withLock { isBusy in
            defer { isBusy = true }
            return !isBusy
        }
        guard isMine else {
            throw RefusalError(
                .tooManyRequests, "another report is being computed; try again in a few seconds", zh: "正在计算另一份报告，请几秒后重试"
            )
        }
        defer { isBusy.withLock { $0 = false } }
        return try await make()
    }
}
