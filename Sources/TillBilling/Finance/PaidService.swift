/// How long a subscriber has paid for a subscription group: after a year of it the developer's rate is better
/// (facts/business-rules §6). A fold over the periods the subscriber had in the group, whichever product they were of:
/// upgrades, downgrades and cross-grades go on counting.
public struct PaidService: Hashable, Sendable {
    /// After these the better rate holds, from the next renewal on.
    public static let daysOfAYear = 365
    /// A longer gap in service, in days, starts the count anew. (Ten minutes in Apple's sandbox, where nobody pays.)
    public static let longestGap = 60

    /// Whole days of paid service so far.
    public var days: Int { Int(milliseconds / Self.millisecondsPerDay) }
    /// Whether what begins now begins after a year of paid service.
    public var isAfterOneYear: Bool { days >= Self.daysOfAYear }

    /// Exact, so that a few hours of each of many periods don't get lost.
    private var milliseconds: Int64 = 0
    private var last: Period?
    /// Until when the subscriber had service, paid or not.
    private var servedUntil: Instant?

    /// What one transaction gave.
    public struct Period: Hashable, Sendable {
        public var start: Instant
        /// As it was paid for: where the renewal date was extended, the date before that. What Apple took back
        /// (a refund, a revocation) ends where it was taken back, or is left out.
        public var end: Instant
        /// A free trial, or other days for which nobody paid. Paid introductory periods count.
        public var isFree: Bool
        /// It ended early because an upgrade began, the next period.
        public var isUpgraded: Bool
        /// The payment failed at first and came within the grace period: its days count. After grace, in billing
        /// retry, they don't.
        public var isRecoveredInGrace: Bool
        /// Where the extended renewal date or the grace period ended, if there was one: no paid service, but no gap.
        public var servedUntil: Instant?

        public init(
            start: Instant, end: Instant, isFree: Bool = false, isUpgraded: Bool = false,
            isRecoveredInGrace: Bool = false, servedUntil: Instant? = nil
        ) {
            self.start = start
            self.end = end
            self.isFree = isFree
            self.isUpgraded = isUpgraded
            self.isRecoveredInGrace = isRecoveredInGrace
            self.servedUntil = servedUntil
        }
    }

    public init() {}

    /// - Parameter period: must not start before those that were added already.
    /// - Returns: whether it began after a year of paid service, so that the better rate holds for it.
    @discardableResult
    public mutating func add(_ period: Period) -> Bool {
        // Of a period that an upgrade cut short, more was added than was served. What ends before the period that it
        // follows is no renewal of it, also while Apple's word about that one has not come.
        let isCut = last.map { $0.isUpgraded || period.end < $0.end } ?? false
        if let last, isCut, !last.isFree, period.start < last.end {
            milliseconds = max(0, milliseconds - Self.length(from: period.start, to: last.end))
            servedUntil = period.start
        }
        if let servedUntil, Self.length(from: servedUntil, to: period.start) > Self.longestGapInMilliseconds {
            milliseconds = 0
        }
        let began = isAfterOneYear
        if !period.isFree {
            // A renewal may be charged a day before it starts (§8.3); days are counted once.
            let paidBefore = last.map { isCut ? min($0.end, period.start) : $0.end }
            let counted =
                period.isRecoveredInGrace ? paidBefore ?? period.start : max(period.start, paidBefore ?? .first)
            milliseconds += Self.length(from: counted, to: period.end)
        }
        last = period
        servedUntil = max(servedUntil ?? .first, period.end, period.servedUntil ?? .first)
        return began
    }

    /// For each period, in the order given, whether it began after a year of paid service.
    public static func isAfterOneYear(_ periods: [Period]) -> [Bool] {
        var result = Array(repeating: false, count: periods.count)
        var service = PaidService()
        let order = periods.indices.sorted {
            (periods[$0].start, periods[$0].end, $0) < (periods[$1].start, periods[$1].end, $1)
        }
        for index in order { result[index] = service.add(periods[index]) }
        return result
    }

    private static let millisecondsPerDay: Int64 = 86_400_000
    private static let longestGapInMilliseconds = Int64(longestGap) * millisecondsPerDay

    /// Never negative, and a century at most: sums of what no clock ever showed must fit too.
    private static func length(from start: Instant, to end: Instant) -> Int64 {
        let (length, overflow) = end.milliseconds.subtractingReportingOverflow(start.milliseconds)
        return overflow ? 0 : min(max(length, 0), 36_525 * millisecondsPerDay)
    }
}

extension Instant {
    fileprivate static let first = Instant(milliseconds: .min)
}
