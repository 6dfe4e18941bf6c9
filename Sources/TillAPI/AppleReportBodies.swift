import TillBilling

/// An imported financial report of Apple's.
public struct AppleReportReply: Codable, Sendable, Hashable {
    /// SHA-256 of the text, in hexadecimal, which identifies the report.
    public let sha256: String
    public let name: String
    public let importedAt: Instant
    /// The caller who imported it.
    public let importedBy: String
    /// The first and the last day that its lines cover.
    public let start: String
    public let end: String
    public let lines: Int

    public init(
        sha256: String, name: String, importedAt: Instant, importedBy: String, days: (start: CivilDate, end: CivilDate),
        lines: Int
    ) {
        self.sha256 = sha256
        self.name = name
        self.importedAt = importedAt
        self.importedBy = importedBy
        start = days.start.description
        end = days.end.description
        self.lines = lines
    }
}

/// `POST /v1/finance/apple-reports`: the imported report, and remarks about it.
public struct ImportReply: Codable, Sendable, Hashable {
    public let report: AppleReportReply
    /// Every line was read in spite of these remarks.
    public let remarks: [ReportFindingReply]

    public init(report: AppleReportReply, remarks: [ReportFindingReply]) {
        self.report = report
        self.remarks = remarks
    }
}

public struct ReportFindingReply: Codable, Sendable, Hashable {
    /// Stable, for programs.
    public let code: String
    /// The line in the file, from 1; absent if the finding concerns the whole file.
    public let line: Int?
    public let sentence: LocalizedText
    /// The remedy.
    public let cure: LocalizedText

    public init(_ finding: FinancialReportFile.Finding) {
        code = finding.code.rawValue
        line = finding.line
        sentence = finding.sentence
        cure = finding.cure
    }
}

/// `GET /v1/finance/comparison`: Apple's reports of a period compared with the ledger, line by line.
public struct ComparisonReply: Codable, Sendable, Hashable {
    public let environment: String
    public let period: FiscalPeriodReply
    /// The imported reports that cover the period, newest first.
    public let reports: [AppleReportReply]
    /// Whether every line is equal.
    public let isEqual: Bool
    public let differences: Int
    public let lines: [ComparisonLineReply]
    public let totals: [ComparisonTotalReply]

    public init(
        environment: StoreEnvironment, period: FiscalPeriod, reports: [AppleReportReply], _ comparison: ReportComparison
    ) {
        self.environment = environment.rawValue.lowercased()
        self.period = FiscalPeriodReply(period)
        self.reports = reports
        differences = comparison.lines.filter { $0.verdict != .equal }.count
        isEqual = differences == 0 && !reports.isEmpty
        lines = comparison.lines.map(ComparisonLineReply.init)
        totals = comparison.totals.map(ComparisonTotalReply.init)
    }
}

public struct ComparisonLineReply: Codable, Sendable, Hashable {
    /// `equal`, `onlyAtApple`, `onlyInLedger`, `unitsDiffer` or `proceedsDiffer`.
    public let verdict: String
    public let productId: String
    /// ISO 3166-1 alpha-2; absent if unknown.
    public let country: String?
    /// For one unit.
    public let customerPrice: Money
    /// `sale` or `refund`.
    public let kind: String
    /// Absent if Apple's report has no such line; `ledger` likewise.
    public let apple: ComparisonSideReply?
    public let ledger: ComparisonSideReply?

    public init(_ line: ReportComparison.Line) {
        verdict = line.verdict.rawValue
        productId = line.productID.text
        country = line.country
        customerPrice = line.customerPrice
        kind = line.kind.rawValue
        apple = line.apple.map(ComparisonSideReply.init)
        ledger = line.ledger.map(ComparisonSideReply.init)
    }
}

/// Never negative, not even for refunds.
public struct ComparisonSideReply: Codable, Sendable, Hashable {
    public let units: Int64
    public let proceeds: Money

    public init(_ side: ReportComparison.Side) {
        units = side.units
        proceeds = side.proceeds
    }
}

/// The sum of all lines in a currency, with refunds subtracted.
public struct ComparisonTotalReply: Codable, Sendable, Hashable {
    public let currency: String
    public let apple: ComparisonSideReply
    public let ledger: ComparisonSideReply
    /// Apple's proceeds minus the ledger's.
    public let difference: Money

    public init(_ total: ReportComparison.Total) {
        currency = total.currency.text
        apple = ComparisonSideReply(total.apple)
        ledger = ComparisonSideReply(total.ledger)
        difference = total.difference
    }
}
