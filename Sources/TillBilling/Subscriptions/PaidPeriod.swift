/// One period of a subscription: the newest copy that Apple signed of one transaction of its chain.
public struct PaidPeriod: Hashable, Sendable {
    public let transactionID: TransactionID
    public let productID: ProductID
    /// When it was charged; up to a day before it begins (facts/business-rules §8.3).
    public let purchasedAt: Instant
    /// Of this copy.
    public let signedAt: Instant
    /// Refunded, or a family's access taken back.
    public let revokedAt: Instant?
    /// Charged by Apple's server, not by a tap.
    public internal(set) var isRenewal: Bool
    /// Whether Apple said which of the two it is. If not, `SubscriptionChain` decides.
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

    /// The first moment after it. Only dates that Apple signed count, so without one it is over when it begins.
    public var expiresAt: Instant { terms.expiresAt ?? purchasedAt }

    /// Neither refunded nor superseded by an upgrade.
    var stands: Bool { revokedAt == nil && !terms.isUpgraded }

    /// Until when there was service, if nothing superseded it.
    var servedUntil: Instant { min(expiresAt, revokedAt ?? expiresAt) }

    /// By Apple's dates, and of one moment by Apple's ids, which are numbers that grow.
    public static func isEarlier(_ left: PaidPeriod, _ right: PaidPeriod) -> Bool {
        guard left.purchasedAt == right.purchasedAt else { return left.purchasedAt < right.purchasedAt }
        let (first, second) = (left.transactionID.text, right.transactionID.text)
        return (first.utf8.count, first) < (second.utf8.count, second)
    }
}

/// Time of one period that is really served: it may begin later than it was charged, and end earlier than it was to.
public struct PaidStretch: Hashable, Sendable {
    public let period: PaidPeriod
    public let start: Instant
    /// The first moment after it.
    public internal(set) var end: Instant

    init(period: PaidPeriod, start: Instant, end: Instant) {
        self.period = period
        self.start = start
        self.end = end
    }

    /// The stretches of a chain, in order, without gaps between what follows on and without any that overlap.
    ///
    /// A renewal begins when what was paid before it ends. What a customer buys begins at once and takes the place of
    /// what was there, because one has one subscription in a group. That holds whoever has either, also if the copy
    /// that says so has not come yet, and if what was bought was refunded later or has no customer yet.
    static func all(_ chain: SubscriptionChain) -> [PaidStretch] {
        var stretches: [PaidStretch] = []
        for period in chain.periods where period.stands || !period.isRenewal {
            var start = period.purchasedAt
            if period.isRenewal {
                if let last = stretches.last { start = max(start, last.end) }
            } else {
                // Periods are sorted, so only what runs past this purchase is touched: one, or two where a renewal
                // was charged early.
                for index in stretches.indices.reversed() {
                    guard stretches[index].end > start else { break }
                    stretches[index].end = max(stretches[index].start, start)
                }
            }
            guard period.stands else { continue }
            stretches.append(PaidStretch(period: period, start: start, end: max(start, period.expiresAt)))
        }
        return stretches
    }
}

extension Subscription {
    /// How one of its periods ended, or is to end.
    public struct Fate: Hashable, Sendable {
        public let state: State
        public let reason: RightReason
        public let at: Instant
    }

    /// - Parameter chain: with the periods of all its customers.
    public static func fate(of period: PaidPeriod, in chain: SubscriptionChain) -> Fate {
        if period.revokedAt != nil {
            return Fate(state: .revoked, reason: period.revocationReason, at: period.servedUntil)
        }
        let next = chain.periods.first { !$0.isRenewal && PaidPeriod.isEarlier(period, $0) }?.purchasedAt
        if let next, next < period.expiresAt { return Fate(state: .upgraded, reason: .replaced, at: next) }
        if period.terms.isUpgraded {
            return Fate(state: .upgraded, reason: .replaced, at: min(period.expiresAt, period.signedAt))
        }
        return Fate(state: .expired, reason: .expired, at: period.expiresAt)
    }
}
