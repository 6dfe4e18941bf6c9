import TillAppStore
import TillBilling
import TillSQL

/// A renewal date that was moved.
struct RenewalDateExtension: Sendable, Hashable {
    enum Refusal: Error, Sendable, Hashable {
        /// No such subscription.
        case unknown
        /// Not active, never paid, or in a free offer.
        case ineligible
        /// Twice in 365 days already.
        case tooMany
        case familyShared
    }

    var effective: Instant
    /// `webOrderLineItemId` of the period that became longer.
    var lineItem: Int64
}

extension SubscriptionLife {
    /// Moves the renewal date (facts/server-api §4.4), with the notification RENEWAL_EXTENDED.
    ///
    /// - Parameter days: 1 to 90; in a faster pace they are as much shorter.
    static func extend(
        _ original: Int64, days: Int64, _ turn: Turn
    ) throws -> Result<RenewalDateExtension, RenewalDateExtension.Refusal> {
        guard var subscription = try SubscriptionTable.find(original, turn.session) else { return .failure(.unknown) }
        var transaction = try current(of: subscription, turn)
        if let refusal = try refusal(of: subscription, transaction, turn) { return .failure(refusal) }
        guard (1...90).contains(days) else { return .failure(.ineligible) }

        let pace = try RenewalPace.current(turn.session)
        let expires = subscription.expires.adding(milliseconds: days * pace.day)
        subscription.commitment?.move(by: days * pace.day)
        transaction.commitment = subscription.commitment
        subscription.expires = expires
        subscription.billingDay = expires.dayOfMonth
        subscription.extensions = recent(subscription.extensions, at: turn.now) + [turn.now]
        if subscription.nextCharge != nil { subscription.nextCharge = try chargeDate(before: expires, turn) }
        transaction.subscription?.expires = expires
        transaction = try TransactionTable.update(transaction, turn.session)
        try keep(subscription, turn)
        try turn.note(.renewalExtended, about: transaction, subscription)
        try extendShares(of: original, to: expires, turn)
        return .success(
            RenewalDateExtension(effective: expires, lineItem: transaction.subscription?.lineItem ?? 0))
    }

    private static func refusal(
        of subscription: StoreSubscription, _ transaction: StoreTransaction, _ turn: Turn
    ) throws -> RenewalDateExtension.Refusal? {
        if subscription.sharedFrom != nil { return .familyShared }
        guard subscription.state == .active, transaction.price.amount > 0,
            try TransactionTable.wasPaid(original: subscription.original, turn.session)
        else { return .ineligible }
        return recent(subscription.extensions, at: turn.now).count < 2 ? nil : .tooMany
    }

    private static func recent(_ extensions: [Instant], at now: Instant) -> [Instant] {
        extensions.filter { $0 > now.adding(seconds: -365 * 86_400) }
    }

    /// The members of a family have what the one who pays has.
    private static func extendShares(of original: Int64, to expires: Instant, _ turn: Turn) throws {
        for var share in try SubscriptionTable.shares(of: original, turn.session) where share.state == .active {
            var copy = try current(of: share, turn)
            copy.subscription?.expires = expires
            try TransactionTable.update(copy, turn.session)
            share.expires = expires
            try SubscriptionTable.save(share, turn.session)
        }
    }
}
