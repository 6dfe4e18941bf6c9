/// The time for which a subscriber has paid in a subscription group: after a year of it, the developer's rate is higher
/// (facts/business-rules §6). It is a fold over the subscriber's periods in the group, for all products: upgrades,
/// downgrades and cross-grades do not restart the count.
public struct PaidService: Hashable, Sendable {
    /// From the next renewal after this many days, the higher rate applies.
    public static let daysOfAYear = 365
    /// A longer gap in service, in days, restarts the count. (Apple's sandbox uses ten minutes, without payments.)
    public static let longestGap = 60

    /// Whole days of paid service so far.
    public var days: Int { Int(milliseconds / Self.millisecondsPerDay) }
    /// Whether a period that begins now begins after a year of paid service.
    public var isAfterOneYear: Bool { days >= Self.daysOfAYear }

    /// In milliseconds, so that the hours of many periods add up without rounding.
    private var milliseconds: Int64 = 0
    private var last: Period?
    /// The end of service so far, paid or free.
    private var servedUntil: Instant?

    /// The service of one transaction.
    public struct Period: Hashable, Sendable {
        public var start: Instant
        /// The end of the paid time: if the renewal date was extended, the original date. A refunded or revoked period
        /// ends at the revocation, or is omitted.
        public var end: Instant
        /// A free trial, or other free days. Paid introductory periods count as paid.
        public var isFree: Bool
        /// Whether an upgrade, which is the next period, ended it early.
        public var isUpgraded: Bool
        /// Whether the payment failed first and succeeded within the grace period: its days count. Days of a payment
        /// during billing retry, after grace, do not.
        public var isRecoveredInGrace: Bool
        /// The end of an extended renewal date or of a grace period, if any: not paid service, but not a gap either.
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

    /// - Parameter period: must not start before the periods that were added earlier.
    /// - Returns: whether it began after a year of paid service, so that the higher rate applies.
    @discardableResult
    public mutating func add(_ period: Period) -> Bool {
        // For a period cut short by an upgrade, more was added than was served. A period that ends before its
        // predecessor does is not a renewal of it, even if Apple's update of the predecessor has not arrived.
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
            // Apple may charge a renewal a day before it starts (facts/business-rules §8.3); each day counts once.
            let paidBefore = last.map { isCut ? min($0.end, period.start) : $0.end }
            let counted =
                period.isRecoveredInGrace ? paidBefore ?? period.start : max(period.start, paidBefore ?? .first)
            milliseconds += Self.length(from: counted, to: period.end)
        }
        last = period
        servedUntil = max(servedUntil ?? .first, period.end, period.servedUntil ?? .first)
        return began
    }

    /// For each period, in the given order, whether it began after a year of paid service.
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

    /// Between zero and a century, so that sums cannot overflow for implausible dates.
    private static func length(from start: Instant, to end: Instant) -> Int64 {
        let (length, overflow) = end.milliseconds.subtractingReportingOverflow(start.milliseconds)
        return overflow ? 0 : min(max(length, 0), 36_525 * millisecondsPerDay)
    }
}

extension Instant {
    fileprivate static let first = Instant(milliseconds: .min)
}
