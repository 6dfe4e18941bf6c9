/// The days that a report covers.
public struct FinanceSpan: Sendable, Hashable {
    public let start: CivilDate
    /// The last day.
    public let end: CivilDate

    /// The supported fiscal years: the App Store opened in 2008.
    public static let years = 2008...2100
    /// The longest span in days.
    public static let longestDays = 3_720

    /// Nil if the end is before the start, or the span exceeds ten years.
    public init?(from start: CivilDate, through end: CivilDate) {
        guard start <= end, end.daysSinceEpoch - start.daysSinceEpoch < Self.longestDays else { return nil }
        self.start = start
        self.end = end
    }

    public init(_ period: FiscalPeriod) {
        start = period.start
        end = period.end
    }

    /// Nil for an unsupported year.
    public init?(fiscalYear: Int) {
        guard Self.years.contains(fiscalYear) else { return nil }
        start = FiscalCalendar.start(ofYear: fiscalYear)
        end = FiscalCalendar.start(ofYear: fiscalYear + 1).adding(days: -1)
    }
}

/// A settlement report, with its span and environment.
public struct FinanceReport: Sendable, Hashable {
    public let span: FinanceSpan
    public let environment: StoreEnvironment
    public let settlement: SettlementReport
    /// Sales and refunds whose price Apple did not sign, by product. They are in no period.
    public let unpriced: [ProductID: Int]

    public init(
        span: FinanceSpan, environment: StoreEnvironment, settlement: SettlementReport, unpriced: [ProductID: Int] = [:]
    ) {
        self.span = span
        self.environment = environment
        self.settlement = settlement
        self.unpriced = unpriced
    }
}
