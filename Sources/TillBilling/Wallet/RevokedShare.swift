/// How much of a purchase Apple has taken back, in thousandths of a percent: 100 % is 100000.
public struct RevokedShare: Hashable, Sendable {
    public let thousandths: Int

    /// The purchase stands.
    public static let none = RevokedShare(thousandths: 0)
    public static let all = RevokedShare(thousandths: 100_000)

    private init(thousandths: Int) { self.thousandths = thousandths }

    /// What Apple signed about it. A full refund and the end of family sharing take all, and so does a revocation that
    /// states no percentage: before API 1.19 Apple stated none (facts/jws §4).
    public init(_ transaction: PaidTransaction) {
        if transaction.revokedAt == nil {
            self = .none
        } else if ["REFUND_FULL", "FAMILY_REVOKE"].contains(transaction.terms.revocationType) {
            self = .all
        } else {
            self.init(thousandths: min(100_000, max(0, transaction.terms.revocationPercentage ?? 100_000)))
        }
    }

    /// What of one period was taken back: by a refund, or by a later purchase in its chain that replaced the rest of
    /// it. Apple gives the money of that rest back and signs no share, so the time says how much it is.
    public init(_ transaction: PaidTransaction, in chain: SubscriptionChain) {
        let refunded = RevokedShare(transaction)
        guard let replaced = chain.replacement(of: transaction.id) else {
            self = refunded
            return
        }
        let unused = RevokedShare(thousandths: replaced.unused)
        // A receipt shows an upgrade and a full refund alike, as a date.
        let isUpgradeAlone = transaction.terms.revocationType == nil && replaced.endsPeriodItself
        self = isUpgradeAlone || unused.thousandths > refunded.thousandths ? unused : refunded
    }

    /// That share of so many points, rounded down: the customer keeps the fraction of a point.
    public func part(of points: Int64) -> Int64 {
        let product = max(0, points).multipliedFullWidth(by: Int64(thousandths))
        return Int64(100_000).dividingFullWidth(product).quotient
    }
}
