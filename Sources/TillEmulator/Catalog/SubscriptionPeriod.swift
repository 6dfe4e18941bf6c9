import TillBilling

/// How long one period of a subscription is (facts/business-rules §8.1), as ISO 8601 writes it.
public enum SubscriptionPeriod: String, Sendable, Hashable, Codable, CaseIterable {
    case week = "P1W"
    case month = "P1M"
    case twoMonths = "P2M"
    case threeMonths = "P3M"
    case sixMonths = "P6M"
    case year = "P1Y"

    private var months: Int {
        switch self {
        case .week: 0
        case .month: 1
        case .twoMonths: 2
        case .threeMonths: 3
        case .sixMonths: 6
        case .year: 12
        }
    }

    /// The end of the period that begins at `start`. Calendar months keep the day of the month; a month that lacks
    /// the day uses its last one.
    public func end(from start: Instant) -> Instant {
        if self == .week { return start.adding(seconds: 7 * 86_400) }
        let dayNumber = Int((start.seconds - ((start.seconds % 86_400) + 86_400) % 86_400) / 86_400)
        let date = CivilDate(daysSinceEpoch: dayNumber)
        let monthIndex = date.year * 12 + date.month - 1 + months
        let year = monthIndex / 12
        let month = monthIndex % 12 + 1
        let day = min(date.day, CivilDate.length(ofMonth: month, year: year))
        guard let end = CivilDate(year: year, month: month, day: day) else { return start }
        return start.adding(seconds: Int64(end.daysSinceEpoch - dayNumber) * 86_400)
    }
}
