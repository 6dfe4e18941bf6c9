/// One period of a subscription: the newest signed copy of one transaction of its chain.
public struct PaidPeriod: Hashable, Sendable {
    public let transactionID: TransactionID
    public let productID: ProductID
    /// When it was charged, which is up to a day before it begins (facts/business-rules §8.3).
    public let purchasedAt: Instant
    /// When this copy was signed.
    public let signedAt: Instant
    /// When it was refunded, or family access was revoked.
    public let revokedAt: Instant?
    /// Whether Apple's server charged it, without a purchase by the customer.
    public internal(set) var isRenewal: Bool
    /// Whether Apple signed the reason of the transaction. If not, `SubscriptionChain` decides.
    public let statesReason: Bool
    public let price: Money?
    public let terms: TransactionTerms

    public init(
        transactionID: TransactionID, productID: ProductID, purchasedAt: Instant, signedAt: Instant,
        revokedAt: Instant? = nil, isRenewal: Bool, statesReason: Bool = true, price: Money? = nil,
        terms: TransactionTerms
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.purchasedAt = purchasedAt
        self.signedAt = signedAt
        self.revokedAt = revokedAt
        self.isRenewal = isRenewal
        self.statesReason = statesReason
        self.price = price
        self.terms = terms
    }

    /// The first moment after the period. Only dates that Apple signed count; without one the period ends when it
    /// begins.
    public var expiresAt: Instant { terms.expiresAt ?? purchasedAt }

    /// Whether it is neither refunded nor replaced by an upgrade.
    var stands: Bool { revokedAt == nil && !terms.isUpgraded }

    /// The end of its service, if no later purchase replaced it.
    var servedUntil: Instant { min(expiresAt, revokedAt ?? expiresAt) }

    /// Ordered by Apple's dates, and at the same moment by Apple's ids, which are increasing numbers.
    public static func isEarlier(_ left: PaidPeriod, _ right: PaidPeriod) -> Bool {
        guard left.purchasedAt == right.purchasedAt else { return left.purchasedAt < right.purchasedAt }
        let (first, second) = (left.transactionID.text, right.transactionID.text)
        return (first.utf8.count, first) < (second.utf8.count, second)
    }
}

/// The time of one period that is actually served: it may begin after the charge, and end before the paid end.
public struct ServedPeriod: Hashable, Sendable {
    public let period: PaidPeriod
    public let start: Instant
    /// The first moment after the stretch.
    public internal(set) var end: Instant

    init(period: PaidPeriod, start: Instant, end: Instant) {
        self.period = period
        self.start = start
        self.end = end
    }

    /// The stretches of a chain, in order and without overlaps; consecutive ones have no gap.
    ///
    /// A renewal begins when the previously paid time ends. A purchase begins at once and replaces the current service,
    /// because a customer has one subscription in a group. This applies regardless of the owners, even if Apple's copy
    /// that states the replacement has not arrived, and even if the purchase was refunded later or has no owner yet.
    static func all(_ chain: SubscriptionChain) -> [ServedPeriod] {
        var servedPeriods: [ServedPeriod] = []
        for period in chain.periods where period.stands || !period.isRenewal {
            var start = period.purchasedAt
            if period.isRenewal {
                if let last = servedPeriods.last { start = max(start, last.end) }
            } else {
                // Periods are sorted, so only stretches that run past this purchase change: one, or two if a renewal
                // was charged early.
                for index in servedPeriods.indices.reversed() {
                    guard servedPeriods[index].end > start else { break }
                    servedPeriods[index].end = max(servedPeriods[index].start, start)
                }
            }
            guard period.stands else { continue }
            servedPeriods.append(ServedPeriod(period: period, start: start, end: max(start, period.expiresAt)))
        }
        return servedPeriods
    }
}

extension Subscription {
    /// How and when one of its periods ended, or will end.
    public struct PeriodEnd: Hashable, Sendable {
        public let state: State
        public let reason: RightReason
        public let at: Instant
    }

    /// - Parameter chain: must contain the periods of all its customers.
    public static func periodEnd(of period: PaidPeriod, in chain: SubscriptionChain) -> PeriodEnd {
        if period.revokedAt != nil {
            return PeriodEnd(state: .revoked, reason: period.revocationReason, at: period.servedUntil)
        }
        let next = chain.periods.first { !$0.isRenewal && PaidPeriod.isEarlier(period, $0) }?.purchasedAt
        if let next, next < period.expiresAt { return PeriodEnd(state: .upgraded, reason: .replaced, at: next) }
        if period.terms.isUpgraded {
            return PeriodEnd(state: .upgraded, reason: .replaced, at: min(period.expiresAt, period.signedAt))
        }
        return PeriodEnd(state: .expired, reason: .expired, at: period.expiresAt)
    }
}
