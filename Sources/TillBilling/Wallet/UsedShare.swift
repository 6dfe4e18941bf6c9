/// How much of a purchase its customer has used, in thousandths of a percent, rounded down: what Apple is told before
/// it decides about a refund (facts/server-api §5).
public struct UsedShare: Hashable, Sendable {
    /// 0 to 100000.
    public let thousandths: Int

    public static let none = UsedShare(used: 0, of: 1)

    public init(used: Int64, of amount: Int64) {
        guard amount > 0, used < amount else {
            thousandths = amount > 0 || used > 0 ? 100_000 : 0
            return
        }
        thousandths = Int(amount.dividingFullWidth(max(0, used).multipliedFullWidth(by: 100_000)).quotient)
    }

    /// Of several kinds of points each counts the same, because no price says what one is worth in another. Nil if
    /// there is none.
    public init?(mean shares: [UsedShare]) {
        guard !shares.isEmpty else { return nil }
        thousandths = shares.map(\.thousandths).reduce(0, +) / shares.count
    }

    /// Of time: how much of it is over.
    public init(from start: Instant, milliseconds bought: Int64, at now: Instant) {
        let (elapsed, overflow) = now.milliseconds.subtractingReportingOverflow(start.milliseconds)
        self.init(used: overflow ? bought : max(0, elapsed), of: bought)
    }
}
