/// Where a day of Apple's reports begins and ends (facts/business-rules §7).
public enum ReportingRegion: String, Hashable, Sendable, CaseIterable {
    /// The Americas, and whatever has no other region: reports on the whole world go by Pacific time.
    case pacific
    /// Europe, the Middle East and Africa.
    case centralEurope
    /// Japan and most of Asia.
    case japan
    /// Australia and New Zealand, Papua New Guinea, the Solomon Islands.
    case westernAustralia

    /// Seconds that its clocks are ahead of UTC. By the rules of daylight saving time that hold since 2007 in the
    /// United States and since 1996 in Europe: nobody bought in an app before 2009.
    public func offset(at instant: Instant) -> Int64 {
        switch self {
        case .japan: return 9 * 3_600
        case .westernAustralia: return 8 * 3_600
        case .pacific:
            // From the second Sunday of March to the first of November, each time at two o'clock.
            let year = Self.year(of: instant)
            let summer =
                Self.moment(
                    Self.sunday(2, ofMonth: 3, year: year), hour: 10)..<Self.moment(
                    Self.sunday(1, ofMonth: 11, year: year), hour: 9)
            return (summer.contains(instant.seconds) ? -7 : -8) * 3_600
        case .centralEurope:
            // From the last Sunday of March to the last of October, each time at one o'clock UTC. Both months have
            // 31 days, so that their last Sunday is the first one from the 25th on.
            let year = Self.year(of: instant)
            let summer =
                Self.moment(
                    Self.sunday(from: 25, ofMonth: 3, year: year), hour: 1)..<Self.moment(
                    Self.sunday(from: 25, ofMonth: 10, year: year), hour: 1)
            return (summer.contains(instant.seconds) ? 2 : 1) * 3_600
        }
    }

    /// No change happens within a day of New Year, so the year in UTC will do.
    private static func year(of instant: Instant) -> Int { CivilDate(instant).year }

    private static func moment(_ days: Int, hour: Int64) -> Int64 { Int64(days) * 86_400 + hour * 3_600 }

    /// The first, second, … Sunday of a month, as days since 1970.
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
    /// - Parameter storefront: alpha-3 or alpha-2; one that is not known counts by Pacific time.
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
