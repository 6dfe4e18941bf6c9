/// One month of Apple's fiscal calendar (facts/business-rules §7).
public struct FiscalPeriod: Hashable, Sendable {
    /// The year it belongs to: FY2026 began on 2025-09-28.
    public let fiscalYear: Int
    /// 1 to 12; 1 is October.
    public let number: Int
    /// A Sunday.
    public let start: CivilDate
    public let weeks: Int

    public init(fiscalYear: Int, number: Int, start: CivilDate, weeks: Int) {
        self.fiscalYear = fiscalYear
        self.number = number
        self.start = start
        self.weeks = weeks
    }

    /// 1 to 4.
    public var quarter: Int { (number - 1) / 3 + 1 }
    /// A Saturday, and the last day.
    public var end: CivilDate { start.adding(days: weeks * 7 - 1) }
    /// When Apple is expected to pay: 33 days after the end, a Thursday.
    public var paymentDate: CivilDate { end.adding(days: 33) }
    /// `Oct` to `Sep`, as in Apple's calendar.
    public var label: String { Self.labels[number - 1] }

    private static let labels = ["Oct", "Nov", "Dec", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep"]
}

extension FiscalPeriod: Comparable {
    public static func < (left: FiscalPeriod, right: FiscalPeriod) -> Bool { left.start < right.start }
}
