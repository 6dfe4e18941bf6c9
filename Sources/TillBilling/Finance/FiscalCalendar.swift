/// Apple's fiscal calendar, by its rule (facts/business-rules §7): a year starts on the Sunday after the last Saturday
/// of September, and each quarter has months of 5, 4 and 4 weeks. Every few years the next such Sunday is 53 weeks
/// away: then December has the extra week. That it is the first quarter is certain; that it is December is assumed.
public enum FiscalCalendar {
    /// The first day of a fiscal year: of 2026 it is 2025-09-28.
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

    /// The month that a day falls into.
    public static func period(containing day: CivilDate) -> FiscalPeriod {
        let year = day < start(ofYear: day.year + 1) ? day.year : day.year + 1
        let start = start(ofYear: year)
        // Months of four weeks at least: this one or one before it.
        let periods = periods(ofYear: year)
        let guess = min((day.daysSinceEpoch - start.daysSinceEpoch) / 28, 11)
        return periods[...guess].last { $0.start <= day } ?? periods[0]
    }

    /// 1970-01-01 was a Thursday.
    private static func daysSinceSaturday(_ days: Int) -> Int { ((days + 5) % 7 + 7) % 7 }
}
