import TillBilling
import TillCrypto
import TillSQL
import TillThreads

/// What the ledger and Apple's own reports say about money. Reads only, so that it works beside a running server too.
public struct FinanceBooks: Sendable {
    private let database: any Database
    private let terms: DeveloperTerms

    public init(database: any Database, terms: DeveloperTerms) {
        self.database = database
        self.terms = terms
    }

    /// What Apple owes for the days of a span.
    public func report(_ span: FinanceSpan, in environment: Environment) async throws -> FinanceReport {
        let found = try await database.read { session in
            try FinanceEntries(session).list(from: span.start, through: span.end, in: environment)
        }
        return FinanceReport(
            span: span, environment: environment, settlement: SettlementReport(found.entries, terms: terms),
            unpriced: found.unpriced)
    }

    /// Of what a period's imported reports say, what counts: of each country the newest report that tells of it, since
    /// a corrected file stands for the one before.
    public struct Imported: Sendable {
        public var reports: [AppleReportTable.Entry] = []
        public var lines: [FinancialReportFile.Line] = []
    }

    /// A report for each territory, some of them corrected, and room to spare.
    private static let reportLimit = 500

    public func imported(_ period: FiscalPeriod) async throws -> Imported {
        let reports = try await database.read { session in
            try AppleReportTable(session).list(from: period.start, through: period.end, limit: Self.reportLimit)
        }
        var imported = Imported(reports: reports)
        var told: Set<String> = []
        for report in reports {
            let text = try await database.read { try AppleReportTable($0).text(report.sequence) }
            let lines = FinancialReportFile(String(decoding: text ?? [], as: UTF8.self)).lines.filter {
                period.start <= $0.start && $0.end <= period.end && !told.contains($0.country)
            }
            imported.lines += lines
            told.formUnion(lines.map(\.country))
        }
        return imported
    }

    /// A period of Apple's, line by line beside the ledger's.
    public func comparison(
        of lines: [FinancialReportFile.Line], with period: FiscalPeriod, in environment: Environment
    ) async throws -> ReportComparison {
        let report = try await report(FinanceSpan(period), in: environment)
        return ReportComparison(apple: lines, ledger: report.settlement.periods.first { $0.fiscal == period })
    }
}

/// Lets one report be made at a time: it walks the whole ledger, and readers of orders shall not wait for a queue of
/// them.
package final class FinanceDesk: Sendable {
    private let isBusy = Locked(false)

    package init() {}

    package func alone<Value>(_ make: () async throws -> Value) async throws -> Value {
        let isMine = isBusy.withLock { isBusy in
            defer { isBusy = true }
            return !isBusy
        }
        guard isMine else {
            throw Refused(.tooManyRequests, "another report is being computed; try again in a few seconds")
        }
        defer { isBusy.withLock { $0 = false } }
        return try await make()
    }
}
