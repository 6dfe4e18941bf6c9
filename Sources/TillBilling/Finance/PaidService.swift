/// How long a subscriber has paid for a subscription group, for the better rate after a year (facts/business-rules §6).
public struct PaidService: Hashable, Sendable {
    /// Whole days of paid service that count so far.
    public private(set) var days = 0

    /// After these the developer gets the better rate, from the next renewal on.
    public static let daysOfAYear = 365
    /// A longer gap starts the count anew.
    public static let longestGap = 60

    public var isAfterOneYear: Bool { days >= Self.daysOfAYear }

    /// One period that a subscriber had in the group, whichever product of it.
    public struct Period: Hashable, Sendable {
        public var start: Instant
        /// Where the paid time ends, without an extension or grace.
        public var end: Instant
        /// Free trials and other free days don't count.
        public var isFree: Bool

        public init(start: Instant, end: Instant, isFree: Bool = false) {
            self.start = start
            self.end = end
            self.isFree = isFree
        }
    }

    public init() {}

    /// For each period, in the order of their starts, whether it began after a year of paid service.
    public static func isAfterOneYear(_ periods: [Period]) -> [Bool] { [] }
}
