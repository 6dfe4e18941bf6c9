/// A subscription at a moment: what follows from what Apple signed about its periods and about its next renewal (C7).
/// Nothing of it is stored. The server's clock decides, and only dates that Apple signed.
public struct Subscription: Hashable, Sendable {
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// Paid for now.
        case active
        /// Paid for now, and renewal is off.
        case cancelled
        /// Not paid any more, but Apple still gives service while it tries to charge.
        case grace
        /// Not paid any more, without service, while Apple tries to charge.
        case billingRetry = "billing_retry"
        case expired
        /// The newest period was refunded, or the family's access taken back.
        case revoked
        /// Superseded by a purchase that has not come yet.
        case upgraded
    }

    /// Why it is over (`expirationIntent`, facts/jws §5).
    public enum Expiry: String, Hashable, Sendable, CaseIterable {
        case cancelled
        case billingError = "billing_error"
        case priceIncrease = "price_increase"
        case productUnavailable = "product_unavailable"
        case other
    }

    /// A higher price that is to come (facts/business-rules §8.4).
    public enum PriceIncrease: String, Hashable, Sendable, CaseIterable {
        /// Needs the customer's consent, which has not come yet.
        case pending
        /// Consented to, or one that needs no consent.
        case accepted
    }

    public let state: State
    /// What is used now, or was last.
    public let current: PaidPeriod
    /// When the customer subscribed: for the first time, or again after a lapse.
    public let since: Instant
    /// What is paid for from now on, in order; empty if nothing is.
    public let stretches: [PaidStretch]
    /// The first moment without service, to come or past. Counts what is paid for already and the grace period.
    public let until: Instant
    /// While it is in grace.
    public let graceUntil: Instant?
    /// Nil while nobody knows: the newest word is older than the newest period.
    public let willRenew: Bool?
    /// When the next period is to begin, if it is to renew.
    public let renewsAt: Instant?
    /// If it is to renew.
    public let renewalProductID: ProductID?
    public let renewalPrice: Money?
    public let renewalOffer: TransactionTerms.Offer?
    public let priceIncrease: PriceIncrease?
    /// Nil while it is not over, and if Apple did not say.
    public let expiry: Expiry?

    /// Whether there is service: grace counts, billing retry does not (facts/business-rules §8.3).
    public var isServed: Bool {
        switch state {
        case .active, .cancelled, .grace: true
        case .billingRetry, .expired, .revoked, .upgraded: false
        }
    }

    /// What one customer has of a chain. All of the chain counts, whoever has it: a later purchase ends what it
    /// replaces, and Apple's word about the next renewal speaks for the owner of the newest period.
    ///
    /// - Parameters:
    ///   - periods: the newest copies of all that the customer has, in any order.
    ///   - others: those of the same chain that other customers have, or nobody yet.
    /// - Returns: nil without any of the customer's.
    public init?(
        _ periods: [PaidPeriod], among others: [PaidPeriod] = [], renewal: RenewalTerms?, at now: Instant
    ) {
        let ids = Set(periods.map(\.transactionID))
        let chain = SubscriptionChain(periods + others.filter { !ids.contains($0.transactionID) })
        let ordered = chain.periods.filter { ids.contains($0.transactionID) }
        guard let newest = ordered.last else { return nil }
        let isLast = chain.periods.last == newest
        // What Apple said before the newest period was charged says nothing about it.
        let word = renewal.flatMap { isLast && $0.signedAt >= newest.purchasedAt ? $0 : nil }
        let all = PaidStretch.all(chain)
        let replacedAt = chain.periods.first { other in
            !other.isRenewal && newest.purchasedAt < other.purchasedAt && other.purchasedAt < newest.expiresAt
        }?.purchasedAt
        let running = all.filter { ids.contains($0.period.transactionID) && $0.end > now && $0.end > $0.start }
        stretches = running
        // While another customer's time runs, this one's has to wait for it.
        let isOthers = all.contains {
            $0.start <= now && now < $0.end && !ids.contains($0.period.transactionID)
        }
        let used = running.first { $0.start <= now } ?? (isOthers ? nil : running.first)
        current = used?.period ?? newest
        since = Self.since(current, ordered)
        let found: State
        if used != nil {
            found = word?.autoRenews == false ? .cancelled : .active
        } else if replacedAt != nil || !running.isEmpty, newest.revokedAt == nil {
            found = .upgraded
        } else {
            found = Self.stateWithoutPeriod(newest, isOthers ? nil : word, at: now)
        }
        state = found
        graceUntil = found == .grace ? word?.graceUntil : nil
        until =
            (used == nil ? nil : running.last?.end) ?? (found == .upgraded ? replacedAt : nil)
            ?? Self.end(newest, found, word, at: now)

        let goesOn = used != nil || found == .grace || found == .billingRetry
        let renews = goesOn ? word?.autoRenews : false
        willRenew = renews
        renewsAt = renews == true && used != nil ? running.last?.end : nil
        renewalProductID = renews == true ? word?.productID ?? newest.productID : nil
        renewalPrice = renews == true ? word?.price : nil
        renewalOffer = renews == true ? word?.offer : nil
        priceIncrease = goesOn ? Self.increase(word) : nil
        switch found {
        case .expired: expiry = Self.expiry(word)
        case .billingRetry: expiry = .billingError
        case .active, .cancelled, .grace, .revoked, .upgraded: expiry = nil
        }
    }

    /// Nothing is paid for any more.
    private static func stateWithoutPeriod(_ newest: PaidPeriod, _ word: RenewalTerms?, at now: Instant) -> State {
        if newest.revokedAt != nil { return .revoked }
        if newest.terms.isUpgraded { return .upgraded }
        // Whoever cancels in grace or retry has ended it (facts/business-rules §8.3).
        guard let word, word.autoRenews != false, word.isInBillingRetry != false else { return .expired }
        if let grace = word.graceUntil, grace > now, grace > newest.expiresAt { return .grace }
        return word.isInBillingRetry == true ? .billingRetry : .expired
    }

    /// Until when there was service, or is by grace.
    private static func end(
        _ newest: PaidPeriod, _ state: State, _ word: RenewalTerms?, at now: Instant
    ) -> Instant {
        switch state {
        // The moment of an upgrade is in the purchase that has not come; no later than when Apple told of it.
        case .upgraded: return min(newest.expiresAt, newest.signedAt)
        case .revoked: return newest.servedUntil
        case .active, .cancelled, .grace, .billingRetry, .expired:
            // Apple leaves the date there when the grace has run out.
            guard let grace = word?.graceUntil, state == .grace || grace <= now else { return newest.expiresAt }
            return max(newest.expiresAt, grace)
        }
    }

    /// Back to the customer's last purchase that followed on nothing.
    private static func since(_ current: PaidPeriod, _ ordered: [PaidPeriod]) -> Instant {
        guard let index = ordered.lastIndex(of: current) else { return current.purchasedAt }
        var first = current
        for earlier in ordered[..<index].reversed() {
            guard first.isRenewal || first.purchasedAt <= earlier.servedUntil else { break }
            first = earlier
        }
        return first.purchasedAt
    }

    private static func increase(_ word: RenewalTerms?) -> PriceIncrease? {
        switch word?.priceIncrease {
        case 0: .pending
        case 1: .accepted
        default: nil
        }
    }

    private static func expiry(_ word: RenewalTerms?) -> Expiry? {
        switch word?.expirationIntent {
        case 1: .cancelled
        case 2: .billingError
        case 3: .priceIncrease
        case 4: .productUnavailable
        case .some: .other
        // EXPIRED has not come yet, but that renewal was off has.
        case nil: word?.autoRenews == false ? .cancelled : nil
        }
    }
}

extension TransactionTerms.Offer {
    /// `introductory`, `promotional`, `offer_code`, `win_back`, or a number that only Apple knows yet.
    public var name: String {
        switch type {
        case 1: "introductory"
        case 2: "promotional"
        case 3: "offer_code"
        case 4: "win_back"
        default: String(type)
        }
    }

    /// Nothing is paid for it.
    public var isTrial: Bool { discount == "FREE_TRIAL" }
}

/// What Apple signed last about a subscription's next renewal (facts/jws §5). Nil where Apple said nothing.
public struct RenewalTerms: Hashable, Sendable {
    public var signedAt: Instant
    /// What renews next.
    public var productID: ProductID?
    public var autoRenews: Bool?
    /// Apple tries to charge, in grace too.
    public var isInBillingRetry: Bool?
    public var graceUntil: Instant?
    /// 1 to 5, or what Apple adds.
    public var expirationIntent: Int?
    /// 0 asked and not answered, 1 consented or told.
    public var priceIncrease: Int?
    /// With the offer.
    public var price: Money?
    /// The end of the newest period that was paid when this was signed.
    public var renewsAt: Instant?
    /// Of the next period.
    public var offer: TransactionTerms.Offer?

    public init(signedAt: Instant) { self.signedAt = signedAt }
}

extension RenewalTerms {
    /// Whether this was said after `other`. Apple may sign two in one moment, of two things that follow on each other:
    /// the one of the later period is the later one, then the one that says that it is over, then that renewal is off.
    /// What is equal in all of that is told apart by the rest, so that no order of arrival decides.
    public func isNewer(than other: RenewalTerms) -> Bool { other.order.lexicographicallyPrecedes(order) }

    private var order: [Int64] {
        let isOver = expirationIntent != nil && isInBillingRetry != true
        let numbers: [Int64] = [
            signedAt.milliseconds, renewsAt?.milliseconds ?? .min, isOver ? 1 : 0, autoRenews == false ? 1 : 0,
            isInBillingRetry == true ? 1 : 0, graceUntil?.milliseconds ?? .min, Int64(expirationIntent ?? -1),
            Int64(priceIncrease ?? -1), price?.amount ?? .min, Int64(offer?.type ?? -1),
        ]
        let texts = [productID?.text, price?.currency.text, offer?.id, offer?.discount]
        return numbers + texts.flatMap { text in (text ?? "").utf8.map { Int64($0) } + [-1] }
    }
}
