/// The days a report is about.
public struct FinanceSpan: Sendable, Hashable {
    public let start: CivilDate
    /// The last day.
    public let end: CivilDate

    /// Fiscal years that are known: the App Store opened in 2008.
    public static let years = 2008...2100
    /// Two such spans would be more than a report has room for.
    public static let longestDays = 3_720

    /// Nil for an end before the start, and for more than ten years.
    public init?(from start: CivilDate, through end: CivilDate) {
        guard start <= end, end.daysSinceEpoch - start.daysSinceEpoch < Self.longestDays else { return nil }
        self.start = start
        self.end = end
    }

    public init(_ period: FiscalPeriod) {
        start = period.start
        end = period.end
    }

    /// Nil for a year that is not known.
    public init?(fiscalYear: Int) {
        guard Self.years.contains(fiscalYear) else { return nil }
        start = FiscalCalendar.start(ofYear: fiscalYear)
        end = FiscalCalendar.start(ofYear: fiscalYear + 1).adding(days: -1)
    }
}

/// A settlement report, and what it is of.
public struct FinanceReport: Sendable, Hashable {
    public let span: FinanceSpan
    public let environment: Environment
    public let settlement: SettlementReport
    /// Sales and refunds whose price Apple did not sign, by product: in no period.
    public let unpriced: [ProductID: Int]

    public init(
        span: FinanceSpan, environment: Environment, settlement: SettlementReport, unpriced: [ProductID: Int] = [:]
    ) {
        self.span = span
        self.environment = environment
        self.settlement = settlement
        self.unpriced = unpriced
    }
}
