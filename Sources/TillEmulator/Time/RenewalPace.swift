import TillStorage

/// How fast subscriptions run (facts/business-rules §8.5).
public enum RenewalPace: String, Sendable, Hashable, Codable, CaseIterable {
    /// A month is a month.
    case real
    /// The sandbox's own: a month in so long.
    case monthInThreeMinutes
    case monthInFiveMinutes
    case monthInFifteenMinutes
    case monthInThirtyMinutes
    case monthInOneHour
    /// Xcode's.
    case monthInThirtySeconds
    /// Xcode's too: every period is so long, whatever it is called.
    case everyFifteenMinutes
    case everyFiveMinutes
    case everyMinute
    case everyThirtySeconds
    case everyTenSeconds
    case everyTwoSeconds

    static func current(_ session: any Session) throws -> RenewalPace { .real }

    static func set(_ pace: RenewalPace, _ session: any Session) throws {}
}
