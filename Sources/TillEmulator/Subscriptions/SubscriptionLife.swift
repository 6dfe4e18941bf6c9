import TillBilling
import TillStorage

/// What happens to subscriptions, and when (facts/business-rules §8).
enum SubscriptionLife {
    /// A first purchase in the group, a return, or a change of plan.
    static func subscribe(_ purchase: Purchase, _ turn: Turn) throws -> Result<PurchaseResult, StoreRefusal> {
        guard let terms = purchase.product.subscription else {
            return .failure(.notForSale(product: purchase.product.id.text, storefront: purchase.storefront))
        }
        let known = try SubscriptionTable.own(
            account: purchase.account.name, bundleID: purchase.request.bundleID, groupID: terms.groupID, turn.session)
        if let known, known.state == .active { return .failure(.alreadySubscribed(product: purchase.product.id.text)) }
        var transaction = try purchase.transaction(turn)
        transaction.subscription = StoreTransaction.Subscription(
            groupID: terms.groupID, expires: terms.period.end(from: turn.now),
            lineItem: try Counter.lineItem.take(turn.session))
        if let known {
            transaction.original = known.original
            transaction.firstPurchased =
                try TransactionTable.find(known.original, turn.session)?.firstPurchased ?? turn.now
        }
        transaction = try TransactionTable.insert(transaction, turn.session)
        let subscription = StoreSubscription(
            original: transaction.original, account: transaction.account, bundleID: transaction.bundleID,
            groupID: terms.groupID, state: .active, productID: transaction.productID, current: transaction.number,
            expires: transaction.subscription?.expires ?? turn.now, billingDay: 1, renews: true,
            renewalProductID: transaction.productID, renewalPrice: purchase.price, recentStart: turn.now,
            eligibleWinBacks: [], appAccountToken: transaction.appAccountToken, renewals: 0, extensions: [],
            billingFails: false, monthlyBilling: false)
        try SubscriptionTable.save(subscription, turn.session)
        try Agenda.set(.subscription, subscription.original, at: subscription.expires, turn.session)
        try turn.note(.subscribed, known == nil ? .initialBuy : .resubscribe, about: transaction, subscription)
        return .success(.purchased(transaction))
    }

    /// The date that the agenda had for a subscription is reached.
    static func reachDate(of original: Int64, _ turn: Turn) throws {
        guard var subscription = try SubscriptionTable.find(original, turn.session) else { return }
        subscription.state = .expired
        subscription.renews = false
        subscription.expirationIntent = 5
        try SubscriptionTable.save(subscription, turn.session)
    }

    /// A transaction was refunded. If it was the subscription's current one, the service ends.
    /// - Returns: the subscription as it is then; nil for a transaction of none.
    static func revoked(_ transaction: StoreTransaction, _ turn: Turn) throws -> StoreSubscription? {
        guard transaction.subscription != nil,
            var subscription = try SubscriptionTable.find(transaction.original, turn.session)
        else { return nil }
        if subscription.current == transaction.number {
            subscription.state = .revoked
            subscription.renews = false
            try SubscriptionTable.save(subscription, turn.session)
            try Agenda.set(.subscription, subscription.original, at: nil, turn.session)
        }
        return subscription
    }

    /// Moves the renewal date (facts/server-api §4.4), with the notification RENEWAL_EXTENDED.
    static func extend(
        _ original: Int64, days: Int64, _ turn: Turn
    ) throws -> Result<RenewalDateExtension, RenewalDateExtension.Refusal> {
        .failure(.unknown)
    }
}

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
