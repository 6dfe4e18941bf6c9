import TillBilling

/// How long one period of a subscription is (facts/business-rules §8.1), as ISO 8601 writes it.
public enum SubscriptionPeriod: String, Sendable, Hashable, Codable, CaseIterable {
    case week = "P1W"
    case month = "P1M"
    case twoMonths = "P2M"
    case threeMonths = "P3M"
    case sixMonths = "P6M"
    case year = "P1Y"

    /// The end of the period that begins at `start`. Calendar months keep the day of the month; a month that lacks
    /// the day uses its last one.
    public func end(from start: Instant) -> Instant {
        OfferPeriod(self).end(from: start, billingDay: start.dayOfMonth)
    }
}

extension OfferPeriod {
    /// The end of the period that begins at `start`. Months and years end on the billing day, or on the last day of a
    /// month that lacks it: a subscription of 31 January renews on 28 February and again on 31 March
    /// (facts/business-rules §8.1; that it returns to the 31st is our choice).
    func end(from start: Instant, billingDay: Int64) -> Instant {
        let months: Int64
        switch unit {
        case .day: return start.adding(seconds: count * 86_400)
        case .week: return start.adding(seconds: 7 * count * 86_400)
        case .month: months = count
        case .year: months = 12 * count
        }
        let dayNumber = start.dayNumber
        let date = CivilDate(daysSinceEpoch: dayNumber)
        let monthIndex = date.year * 12 + date.month - 1 + Int(months)
        let year = monthIndex / 12
        let month = monthIndex % 12 + 1
        let day = min(Int(billingDay), CivilDate.length(ofMonth: month, year: year))
        guard let end = CivilDate(year: year, month: month, day: day) else { return start }
        return start.adding(seconds: Int64(end.daysSinceEpoch - dayNumber) * 86_400)
    }

    /// Whether its ends keep a day of the month.
    var isCalendar: Bool { unit == .month || unit == .year }
}

extension Instant {
    /// Days since 1970-01-01, UTC.
    fileprivate var dayNumber: Int {
        let (quotient, remainder) = seconds.quotientAndRemainder(dividingBy: 86_400)
        return Int(remainder < 0 ? quotient - 1 : quotient)
    }

    /// 1 to 31, in UTC.
    var dayOfMonth: Int64 { Int64(CivilDate(daysSinceEpoch: dayNumber).day) }
}
