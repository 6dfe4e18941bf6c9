/// Apple's fiscal calendar, by its rule (facts/business-rules §7): a year starts on the Sunday after the last Saturday
/// of September, and each quarter has months of 5, 4 and 4 weeks. Every few years the next start is 53 weeks later. The
/// extra week is in the first quarter, and is assumed to belong to December.
public enum FiscalCalendar {
    /// The first day of a fiscal year; for 2026 it is 2025-09-28.
    public static func start(ofYear year: Int) -> CivilDate {
        let first = CivilDate(year: year - 1, month: 10, day: 1)?.daysSinceEpoch ?? 0
        // The last Saturday of September is at most seven days before 1 October.
        let saturday = first - 1 - daysSinceSaturday(first - 1)
        return CivilDate(daysSinceEpoch: saturday + 1)
    }

    /// 52 or 53.
    public static func weeks(ofYear year: Int) -> Int {
        (start(ofYear: year + 1).daysSinceEpoch - start(ofYear: year).daysSinceEpoch) / 7
    }

    /// The twelve months of a fiscal year.
    public static func periods(ofYear year: Int) -> [FiscalPeriod] {
        let hasExtraWeek = weeks(ofYear: year) == 53
        var start = start(ofYear: year)
        return (1...12).map { number in
            let isLong = number % 3 == 1 || hasExtraWeek && number == 3
            let period = FiscalPeriod(fiscalYear: year, number: number, start: start, weeks: isLong ? 5 : 4)
            start = period.end.adding(days: 1)
            return period
        }
    }

    /// The fiscal month that contains a day.
    public static func period(containing day: CivilDate) -> FiscalPeriod {
        let year = day < start(ofYear: day.year + 1) ? day.year : day.year + 1
        let start = start(ofYear: year)
        // Months have at least four weeks, so it is this month or an earlier one.
        let periods = periods(ofYear: year)
        let guess = min((day.daysSinceEpoch - start.daysSinceEpoch) / 28, 11)
        return periods[...guess].last { $0.start <= day } ?? periods[0]
    }

    /// 1970-01-01 was a Thursday.
    private static func daysSinceSaturday(_ days: Int) -> Int { ((days + 5) % 7 + 7) % 7 }
}

/// One month of Apple's fiscal calendar (facts/business-rules §7).
public struct FiscalPeriod: Hashable, Sendable {
    /// The fiscal year: FY2026 began on 2025-09-28.
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
    /// The last day, a Saturday.
    public var end: CivilDate { start.adding(days: weeks * 7 - 1) }
    /// The expected day of Apple's payout: 33 days after the end, a Thursday.
    public var paymentDate: CivilDate { end.adding(days: 33) }
    /// `Oct` to `Sep`, as in Apple's calendar.
    public var label: String { Self.labels[number - 1] }

    private static let labels = ["Oct", "Nov", "Dec", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep"]
}

extension FiscalPeriod: Comparable {
    public static func < (left: FiscalPeriod, right: FiscalPeriod) -> Bool { left.start < right.start }
}

/// The time zone that determines the days of Apple's reports (facts/business-rules §7).
public enum ReportingRegion: String, Hashable, Sendable, CaseIterable {
    /// The Americas, and every territory without another region: worldwide reports use Pacific time.
    case pacific
    /// Europe, the Middle East and Africa.
    case centralEurope
    /// Japan and most of Asia.
    case japan
    /// Australia and New Zealand, Papua New Guinea, the Solomon Islands.
    case westernAustralia

    /// The offset of local time from UTC, in seconds. It uses the daylight-saving rules in force since 2007 in the
    /// United States and since 1996 in Europe; there were no in-app purchases before 2009.
    public func offset(at instant: Instant) -> Int64 {
        switch self {
        case .japan: return 9 * 3_600
        case .westernAustralia: return 8 * 3_600
        case .pacific:
            // Summer time lasts from the second Sunday of March to the first of November, changing at two o'clock.
            let year = Self.year(of: instant)
            let summer =
                Self.moment(
                    Self.sunday(2, ofMonth: 3, year: year), hour: 10)..<Self.moment(
                    Self.sunday(1, ofMonth: 11, year: year), hour: 9)
            return (summer.contains(instant.seconds) ? -7 : -8) * 3_600
        case .centralEurope:
            // Summer time lasts from the last Sunday of March to the last of October, changing at one o'clock UTC. Both
            // months have 31 days, so their last Sunday is the first one from the 25th on.
            let year = Self.year(of: instant)
            let summer =
                Self.moment(
                    Self.sunday(from: 25, ofMonth: 3, year: year), hour: 1)..<Self.moment(
                    Self.sunday(from: 25, ofMonth: 10, year: year), hour: 1)
            return (summer.contains(instant.seconds) ? 2 : 1) * 3_600
        }
    }

    /// No daylight-saving change is near New Year, so the year in UTC is sufficient.
    private static func year(of instant: Instant) -> Int { CivilDate(instant).year }

    private static func moment(_ days: Int, hour: Int64) -> Int64 { Int64(days) * 86_400 + hour * 3_600 }

    /// The n-th Sunday of a month, as days since 1970.
    private static func sunday(_ count: Int, ofMonth month: Int, year: Int) -> Int {
        sunday(from: 1 + (count - 1) * 7, ofMonth: month, year: year)
    }

    private static func sunday(from day: Int, ofMonth month: Int, year: Int) -> Int {
        let days = CivilDate(year: year, month: month, day: day)?.daysSinceEpoch ?? 0
        // 1970-01-04 was a Sunday.
        return days + ((3 - days) % 7 + 7) % 7
    }
}

/// The day on which Apple's reports count a moment.
public enum ReportingDay {
    /// - Parameter storefront: alpha-3 or alpha-2; an unknown one uses Pacific time.
    public static func day(of instant: Instant, storefront: String?) -> CivilDate {
        let region = storefront.flatMap(Territory.init(code:))?.region ?? .pacific
        return CivilDate(instant.adding(seconds: region.offset(at: instant)))
    }
}

extension CivilDate {
    /// The day in UTC.
    public init(_ instant: Instant) {
        let days = instant.seconds / 86_400
        self.init(daysSinceEpoch: Int(instant.seconds < days * 86_400 ? days - 1 : days))
    }
}
