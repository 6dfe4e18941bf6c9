/// The state of a subscription at a moment, derived from the signed data about its periods and its next renewal. It is
/// computed and never stored, from the server's clock and from dates that Apple signed.
public struct Subscription: Hashable, Sendable {
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// Paid now.
        case active
        /// Paid now, and renewal is off.
        case cancelled
        /// No longer paid; Apple still grants service while it tries to charge.
        case grace
        /// No longer paid, without service, while Apple tries to charge.
        case billingRetry = "billing_retry"
        case expired
        /// The newest period was refunded, or family access was revoked.
        case revoked
        /// Replaced by a purchase that has not arrived yet.
        case upgraded
    }

    /// Why it ended (`expirationIntent`, facts/jws §5).
    public enum Expiry: String, Hashable, Sendable, CaseIterable {
        case cancelled
        case billingError = "billing_error"
        case priceIncrease = "price_increase"
        case productUnavailable = "product_unavailable"
        case other
    }

    /// A coming price increase (facts/business-rules §8.4).
    public enum PriceIncrease: String, Hashable, Sendable, CaseIterable {
        /// Requires the customer's consent, which has not been given yet.
        case pending
        /// Consented to, or without a need for consent.
        case accepted
    }

    public let state: State
    /// The period in use now, or the last one.
    public let current: PaidPeriod
    /// When the customer subscribed: for the first time, or again after a lapse.
    public let since: Instant
    /// The paid time from now on, in order; empty if there is none.
    public let servedPeriods: [ServedPeriod]
    /// The first moment without service, in the future or past. Includes all paid time and the grace period.
    public let until: Instant
    /// Set during grace.
    public let graceUntil: Instant?
    /// Nil if unknown, because Apple's newest renewal info is older than the newest period.
    public let willRenew: Bool?
    /// When the next period begins, if it renews.
    public let renewsAt: Instant?
    /// Set if it renews.
    public let renewalProductID: ProductID?
    public let renewalPrice: Money?
    public let renewalOffer: TransactionTerms.Offer?
    public let priceIncrease: PriceIncrease?
    /// Nil while it has not ended, and if Apple stated no reason.
    public let expiry: Expiry?

    /// Whether there is service: in grace yes, in billing retry no (facts/business-rules §8.3).
    public var isServed: Bool {
        switch state {
        case .active, .cancelled, .grace: true
        case .billingRetry, .expired, .revoked, .upgraded: false
        }
    }

    /// One customer's subscription in a chain. Periods of other owners count too, because a later purchase ends the
    /// period that it replaces, and Apple's renewal info concerns the owner of the newest period.
    ///
    /// - Parameters:
    ///   - periods: the newest copies of all periods that the customer owns, in any order.
    ///   - others: the periods of the same chain that other customers own, or that have no owner yet.
    /// - Returns: nil if the customer owns no period.
    public init?(
        _ periods: [PaidPeriod], among others: [PaidPeriod] = [], renewal: RenewalTerms?, at now: Instant
    ) {
        let ids = Set(periods.map(\.transactionID))
        let chain = SubscriptionChain(periods + others.filter { !ids.contains($0.transactionID) })
        let ordered = chain.periods.filter { ids.contains($0.transactionID) }
        guard let newest = ordered.last else { return nil }
        let isLast = chain.periods.last == newest
        // Renewal info signed before the newest period was charged says nothing about that period.
        let terms = renewal.flatMap { isLast && $0.signedAt >= newest.purchasedAt ? $0 : nil }
        let all = ServedPeriod.all(chain)
        let replacedAt = chain.periods.first { other in
            !other.isRenewal && newest.purchasedAt < other.purchasedAt && other.purchasedAt < newest.expiresAt
        }?.purchasedAt
        let running = all.filter { ids.contains($0.period.transactionID) && $0.end > now && $0.end > $0.start }
        servedPeriods = running
        // While another customer's period runs, this customer's later period has to wait.
        let isOthers = all.contains {
            $0.start <= now && now < $0.end && !ids.contains($0.period.transactionID)
        }
        let used = running.first { $0.start <= now } ?? (isOthers ? nil : running.first)
        current = used?.period ?? newest
        since = Self.since(current, ordered)
        let found: State
        if used != nil {
            found = terms?.autoRenews == false ? .cancelled : .active
        } else if replacedAt != nil || !running.isEmpty, newest.revokedAt == nil {
            found = .upgraded
        } else {
            found = Self.stateWithoutPeriod(newest, isOthers ? nil : terms, at: now)
        }
        state = found
        graceUntil = found == .grace ? terms?.graceUntil : nil
        until =
            (used == nil ? nil : running.last?.end) ?? (found == .upgraded ? replacedAt : nil)
            ?? Self.end(newest, found, terms, at: now)

        let goesOn = used != nil || found == .grace || found == .billingRetry
        let renews = goesOn ? terms?.autoRenews : false
        willRenew = renews
        renewsAt = renews == true && used != nil ? running.last?.end : nil
        renewalProductID = renews == true ? terms?.productID ?? newest.productID : nil
        renewalPrice = renews == true ? terms?.price : nil
        renewalOffer = renews == true ? terms?.offer : nil
        priceIncrease = goesOn ? Self.increase(terms) : nil
        switch found {
        case .expired: expiry = Self.expiry(terms)
        case .billingRetry: expiry = .billingError
        case .active, .cancelled, .grace, .revoked, .upgraded: expiry = nil
        }
    }

    /// The state when no paid time is left.
    private static func stateWithoutPeriod(_ newest: PaidPeriod, _ terms: RenewalTerms?, at now: Instant) -> State {
        if newest.revokedAt != nil { return .revoked }
        if newest.terms.isUpgraded { return .upgraded }
        // A customer who cancels during grace or billing retry ends the subscription (facts/business-rules §8.3).
        guard let terms, terms.autoRenews != false, terms.isInBillingRetry != false else { return .expired }
        if let grace = terms.graceUntil, grace > now, grace > newest.expiresAt { return .grace }
        return terms.isInBillingRetry == true ? .billingRetry : .expired
    }

    /// The end of service, including grace.
    private static func end(
        _ newest: PaidPeriod, _ state: State, _ terms: RenewalTerms?, at now: Instant
    ) -> Instant {
        switch state {
        // The purchase that has not arrived contains the moment of the upgrade, which is no later than this statement
        // of Apple.
        case .upgraded: return min(newest.expiresAt, newest.signedAt)
        case .revoked: return newest.servedUntil
        case .active, .cancelled, .grace, .billingRetry, .expired:
            // Apple keeps the date in the renewal info after the grace period has ended.
            guard let grace = terms?.graceUntil, state == .grace || grace <= now else { return newest.expiresAt }
            return max(newest.expiresAt, grace)
        }
    }

    /// The date of the customer's last purchase that did not continue earlier service.
    private static func since(_ current: PaidPeriod, _ ordered: [PaidPeriod]) -> Instant {
        guard let index = ordered.lastIndex(of: current) else { return current.purchasedAt }
        var first = current
        for earlier in ordered[..<index].reversed() {
            guard first.isRenewal || first.purchasedAt <= earlier.servedUntil else { break }
            first = earlier
        }
        return first.purchasedAt
    }

    private static func increase(_ terms: RenewalTerms?) -> PriceIncrease? {
        switch terms?.priceIncrease {
        case 0: .pending
        case 1: .accepted
        default: nil
        }
    }

    private static func expiry(_ terms: RenewalTerms?) -> Expiry? {
        switch terms?.expirationIntent {
        case 1: .cancelled
        case 2: .billingError
        case 3: .priceIncrease
        case 4: .productUnavailable
        case .some: .other
        // Apple's EXPIRED has not arrived yet, but its statement that renewal is off has.
        case nil: terms?.autoRenews == false ? .cancelled : nil
        }
    }
}

extension TransactionTerms.Offer {
    /// `introductory`, `promotional`, `offer_code`, `win_back`, or the number of an unknown type.
    public var name: String {
        switch type {
        case 1: "introductory"
        case 2: "promotional"
        case 3: "offer_code"
        case 4: "win_back"
        default: String(type)
        }
    }

    /// Whether it is free.
    public var isTrial: Bool { discount == "FREE_TRIAL" }
}

/// Apple's newest signed statement about a subscription's next renewal (facts/jws §5). Values that Apple did not state
/// are nil.
public struct RenewalTerms: Hashable, Sendable {
    public var signedAt: Instant
    /// The product that renews next.
    public var productID: ProductID?
    public var autoRenews: Bool?
    /// Whether Apple is trying to charge, also during grace.
    public var isInBillingRetry: Bool?
    public var graceUntil: Instant?
    /// 1 to 5, or a value that Apple adds.
    public var expirationIntent: Int?
    /// 0: requested and not answered; 1: consented or notified.
    public var priceIncrease: Int?
    /// The renewal price with the offer applied.
    public var price: Money?
    /// The end of the newest period that was paid at the time of signing.
    public var renewsAt: Instant?
    /// The offer of the next period.
    public var offer: TransactionTerms.Offer?

    public init(signedAt: Instant) { self.signedAt = signedAt }
}

extension RenewalTerms {
    /// Whether this was signed after `other`. Apple may sign two at the same moment, for two consecutive events: the
    /// one of the later period counts as newer, then the one that states the end, then the one with renewal off. The
    /// remaining fields decide between statements that are equal in all of that, so that the order of arrival does not
    /// matter.
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
