/// One period of a chain as the ledger has it: what Apple signed of it, and whose it is.
public struct ChainPeriod: Hashable, Sendable {
    public let period: PaidPeriod
    /// Nil for what waits in quarantine, and for what Apple took back before anybody had it.
    public let owner: UserID?
    /// As Apple signed it.
    public let token: OrderID?
    /// A receipt does not show the token.
    public let hidesToken: Bool
    /// A person or a backend said whose it is, or somebody restored it: it stays there.
    public let isDecided: Bool
    /// Apple took the money back.
    public let isTakenBack: Bool

    public init(
        period: PaidPeriod, owner: UserID?, token: OrderID?, hidesToken: Bool = false, isDecided: Bool = false,
        isTakenBack: Bool = false
    ) {
        self.period = period
        self.owner = owner
        self.token = token
        self.hidesToken = hidesToken
        self.isDecided = isDecided
        self.isTakenBack = isTakenBack
    }
}

/// The purchase that a renewal renews, and so belongs to: the newest one before it that is no renewal. It follows from
/// Apple's dates, so the order of arrival decides nothing.
public struct RenewedPurchase: Hashable, Sendable {
    /// What the token of a renewal says about whose it is.
    public enum Token: Hashable, Sendable {
        /// There is none, or it is the purchase's own: the purchase decides.
        case ofPurchase
        /// A receipt hides the purchase's, which may be the same: the purchase decides, unless the token names a
        /// customer.
        case hidden
        /// It stands on an earlier purchase of the chain, and this one came without a token. Apple carries it on, so it
        /// says nothing about this one.
        case inherited
        /// It came with this renewal, so somebody told Apple whose it is.
        case ownWord
    }

    /// The purchase; if it waits, the newest renewal of it before this one that was decided; if it was never seen, a
    /// renewal of it that has an owner.
    public let renewed: ChainPeriod
    public let token: Token

    /// Whether the renewal waits because its purchase does.
    public var isWaiting: Bool { renewed.owner == nil && token != .ownWord }

    /// Whether Apple took the purchase back before anybody had it. Then it gets no owner any more that a renewal could
    /// wait for.
    public var isOfTakenBack: Bool { renewed.owner == nil && renewed.isTakenBack }

    /// - Parameter chain: all periods that are known, in any order, with or without the renewal.
    /// - Returns: nil for a purchase, and where nothing is known of what it renews.
    public init?(of renewal: ChainPeriod, in chain: [ChainPeriod]) {
        let id = renewal.period.transactionID
        let others = chain.filter { $0.period.transactionID != id }
        let periods = SubscriptionChain(others.map(\.period) + [renewal.period])
        guard periods.periods.first(where: { $0.transactionID == id })?.isRenewal == true else { return nil }
        let known = Dictionary(others.map { ($0.period.transactionID, $0) }, uniquingKeysWith: { first, _ in first })
        let siblings = periods.periods(ofPurchaseWith: id)
        let before = siblings.prefix { $0.transactionID != id }.reversed()
        if let purchase = periods.purchase(renewedBy: id), let found = known[purchase.transactionID] {
            let decided = before.compactMap { known[$0.transactionID] }.first { $0.isDecided && $0.owner != nil }
            renewed = found.owner == nil ? decided ?? found : found
        } else {
            let candidates = (before + siblings.drop { $0.transactionID != id }).compactMap { known[$0.transactionID] }
            guard let found = candidates.first(where: { $0.owner != nil }) else { return nil }
            renewed = found
        }
        let purchase = renewed.period
        let earlier = others.filter { PaidPeriod.isEarlier($0.period, purchase) }
        if renewal.token == nil || renewal.token == renewed.token {
            token = .ofPurchase
        } else if renewed.hidesToken {
            token = .hidden
        } else {
            let isCarriedOn = renewed.token == nil && earlier.contains { $0.token == renewal.token }
            token = isCarriedOn ? .inherited : .ownWord
        }
    }

    /// Renewals that are not where their purchase is, the oldest first: another customer has them, or somebody has them
    /// while the purchase waits. What a person or a token of its own decided is not looked at here.
    public static func misplaced(in chain: [ChainPeriod]) -> [TransactionID] {
        let sorted = chain.sorted { PaidPeriod.isEarlier($0.period, $1.period) }
        return sorted.compactMap { link in
            guard !link.isDecided || link.owner == nil, let found = RenewedPurchase(of: link, in: sorted),
                found.token != .ownWord, found.renewed.owner != link.owner
            else { return nil }
            return link.period.transactionID
        }
    }
}
