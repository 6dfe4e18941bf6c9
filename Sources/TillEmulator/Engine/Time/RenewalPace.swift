import TillBilling
import TillSQL

/// How fast subscriptions run (facts/business-rules §8.5).
public enum RenewalPace: String, Sendable, Hashable, Codable, CaseIterable {
    /// A month is a month.
    case real
    /// The sandbox's paces: the length of a month.
    case monthInThreeMinutes
    case monthInFiveMinutes
    case monthInFifteenMinutes
    case monthInThirtyMinutes
    case monthInOneHour
    /// Xcode's pace.
    case monthInThirtySeconds
    /// Xcode's paces for a fixed period: every period has this length, whatever its name.
    case everyFifteenMinutes
    case everyFiveMinutes
    case everyMinute
    case everyThirtySeconds
    case everyTenSeconds
    case everyTwoSeconds
}

// MARK: The store's setting

extension RenewalPace {
    /// The pace of new periods. A period that has begun keeps its end.
    static func current(_ connection: any Connection) throws -> RenewalPace {
        try SettingTable.value(.renewalPace, connection).flatMap(RenewalPace.init) ?? .real
    }

    static func set(_ pace: RenewalPace, _ connection: any Connection) throws {
        try SettingTable.set(.renewalPace, to: pace.rawValue, connection)
    }

    /// Uses the configured pace until another one is set, which outlives a restart.
    static func begin(_ configured: RenewalPace, _ connection: any Connection) throws {
        if try SettingTable.value(.renewalPace, connection) == nil { try set(configured, connection) }
    }
}

// MARK: Lengths

extension RenewalPace {
    private enum Scale {
        case calendar
        /// In seconds.
        case month(Int64, week: Int64)
        /// In seconds.
        case every(Int64)
    }

    private var scale: Scale {
        switch self {
        case .real: .calendar
        case .monthInThreeMinutes: .month(180, week: 180)
        case .monthInFiveMinutes: .month(300, week: 180)
        case .monthInFifteenMinutes: .month(900, week: 300)
        case .monthInThirtyMinutes: .month(1_800, week: 600)
        case .monthInOneHour: .month(3_600, week: 900)
        case .monthInThirtySeconds: .month(30, week: 10)
        case .everyFifteenMinutes: .every(900)
        case .everyFiveMinutes: .every(300)
        case .everyMinute: .every(60)
        case .everyThirtySeconds: .every(30)
        case .everyTenSeconds: .every(10)
        case .everyTwoSeconds: .every(2)
        }
    }

    /// The end of the period that starts at `start`. A day of an offer is a seventh of the pace's week.
    func end(of period: OfferPeriod, from start: Instant, billingDay: Int64) -> Instant {
        switch scale {
        case .calendar: return period.end(from: start, billingDay: billingDay)
        case .every(let seconds): return start.adding(seconds: seconds)
        case .month(let month, let week):
            let seconds =
                switch period.unit {
                case .day: max(1, (week * period.count + 6) / 7)
                case .week: week * period.count
                case .month: month * period.count
                case .year: 12 * month * period.count
                }
            return start.adding(seconds: seconds)
        }
    }

    /// The length that stands for a day, in milliseconds: an extension moves the renewal date by multiples of it.
    var day: Int64 {
        switch scale {
        case .calendar: 86_400_000
        case .month(let month, _): month * 1_000 / 30
        case .every(let seconds): seconds * 1_000 / 30
        }
    }

    /// How long Apple retries billing after a period has ended, in milliseconds: 60 days, or two months of a faster
    /// pace. After a longer interruption the service no longer counts as uninterrupted (facts/jws §5,
    /// `recentSubscriptionStartDate`).
    var retry: Int64 {
        switch scale {
        case .calendar: 60 * 86_400_000
        case .month(let month, _): 2_000 * month
        case .every(let seconds): 2_000 * seconds
        }
    }

    /// The grace period in milliseconds. A faster pace has one fixed length, whatever is configured; without a value in
    /// the table of facts/business-rules §8.5 it is half a period.
    func grace(_ configured: BillingGracePeriod, weekly: Bool) -> Int64 {
        switch self {
        case .real: configured.days(weekly: weekly) * 86_400_000
        case .monthInThreeMinutes: 90_000
        case .monthInFiveMinutes: weekly ? 154_000 : 150_000
        case .monthInFifteenMinutes: weekly ? 257_000 : 450_000
        case .monthInThirtyMinutes: weekly ? 514_000 : 900_000
        case .monthInOneHour: weekly ? 771_000 : 1_800_000
        case .monthInThirtySeconds: weekly ? 9_000 : 15_000
        case .everyFifteenMinutes: 450_000
        case .everyFiveMinutes: 150_000
        case .everyMinute: 30_000
        case .everyThirtySeconds: 15_000
        case .everyTenSeconds: 5_000
        case .everyTwoSeconds: 1_000
        }
    }

    /// How long before the end of a period the next one is charged, in milliseconds: within the last 24 hours
    /// (facts/business-rules §8.3), and at least a few minutes before. A faster pace scales both.
    var lead: ClosedRange<Int64> {
        let longest = day
        return longest / 288...longest
    }

    /// The number of renewals after which the sandbox stops (facts/business-rules §8.5); nil: no limit.
    var renewalLimit: Int64? { self == .real ? nil : 12 }
}

/// A length of time as a person writes it: `30d`, `90s`, `12h`, `1d12h`.
public struct Span: Sendable, Hashable {
    /// From zero to a hundred years.
    public let milliseconds: Int64

    /// A hundred years: the longest clock advance.
    public static let longest = Span(unchecked: 36_525 * 86_400_000)

    private init(unchecked milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Nil for a negative length, and for one above ``longest``.
    public init?(milliseconds: Int64) {
        guard (0...Self.longest.milliseconds).contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    /// Largest first. A month is not included, because its length varies.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("w", 7 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]

    /// Whole numbers, each with its unit (`w`, `d`, `h`, `m`, `s`, `ms`), the largest unit first and each at most once.
    /// Nil for anything else, and for a length above ``longest``.
    public init?(_ text: String) {
        guard (2...40).contains(text.utf8.count) else { return nil }
        var rest = text.utf8[...]
        var units = Self.units[...]
        var total: Int64 = 0
        while !rest.isEmpty {
            let digits = rest.prefix { (48...57).contains($0) }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { !(48...57).contains($0) }
            rest = rest.dropFirst(name.count)
            guard let count = Int64(Substring(digits)),
                let index = units.firstIndex(where: { $0.name.utf8.elementsEqual(name) })
            else { return nil }
            let part = count.multipliedReportingOverflow(by: units[index].milliseconds)
            let sum = total.addingReportingOverflow(part.partialValue)
            guard !part.overflow, !sum.overflow else { return nil }
            total = sum.partialValue
            units = units[(index + 1)...]
        }
        self.init(milliseconds: total)
    }
}
