import TillAppStore
import TillBilling

/// Why a subscription ends.
enum SubscriptionEnd: Sendable, Hashable {
    case voluntary
    case billingError
    case priceIncrease
    case productNotForSale
    case other

    /// `expirationIntent` (facts/jws §5).
    var intent: Int64 {
        switch self {
        case .voluntary: 1
        case .billingError: 2
        case .priceIncrease: 3
        case .productNotForSale: 4
        case .other: 5
        }
    }

    /// The subtype of EXPIRED (facts/notifications §4).
    var subtype: NotificationSubtype? {
        switch self {
        case .voluntary: .voluntary
        case .billingError: .billingRetry
        case .priceIncrease: .priceIncrease
        case .productNotForSale: .productNotForSale
        case .other: nil
        }
    }
}

extension SubscriptionLife {
    /// The service is over, with the notification EXPIRED.
    static func end(_ subscription: StoreSubscription, _ reason: SubscriptionEnd, _ turn: Turn) throws {
        let wasServing = subscription.isServing
        var subscription = subscription
        subscription.state = .expired
        subscription.renews = false
        subscription.expirationIntent = reason.intent
        subscription.nextCharge = nil
        subscription.graceExpires = nil
        subscription.retryUntil = nil
        subscription.runningOffer = nil
        subscription.priceIncrease = nil
        let current = try current(of: subscription, turn)
        let product = try ProductTable.find(subscription.productID, turn.session)
        subscription.eligibleWinBacks = SubscriptionOffer.winBacks(of: product, storefront: current.storefront)
        try keep(subscription, turn)
        try turn.note(.expired, reason.subtype, about: current, subscription)
        if wasServing { try FamilySharing.revoke(current, turn) }
        try FamilySharing.fallBack(subscription.account, turn)
    }

    /// A transaction was refunded, in full or in part. If it was the subscription's current one, the service ends; one
    /// of an older period takes nothing but that period away (U6). What a family had of it is `RefundDesk`'s.
    /// - Returns: the subscription as it is then; nil for a transaction of none.
    static func revoked(_ transaction: StoreTransaction, _ turn: Turn) throws -> StoreSubscription? {
        guard transaction.subscription != nil,
            var subscription = try SubscriptionTable.find(transaction.original, turn.session)
        else { return nil }
        guard subscription.current == transaction.number, subscription.state != .revoked else { return subscription }
        subscription.state = .revoked
        subscription.renews = false
        subscription.nextCharge = nil
        subscription.graceExpires = nil
        subscription.retryUntil = nil
        subscription.runningOffer = nil
        subscription.priceIncrease = nil
        subscription.eligibleWinBacks = []
        subscription.expirationIntent = nil
        try keep(subscription, turn)
        return subscription
    }

    /// A refund was undone (REFUND_REVERSED): the period is the customer's again, until the day it was to end. Its
    /// renewal stays off, as the refund left it.
    /// - Returns: the subscription as it is then; nil for a transaction of none.
    static func reinstated(_ transaction: StoreTransaction, _ turn: Turn) throws -> StoreSubscription? {
        guard transaction.subscription != nil,
            var subscription = try SubscriptionTable.find(transaction.original, turn.session)
        else { return nil }
        guard subscription.current == transaction.number, subscription.state == .revoked,
            subscription.sharedFrom == nil
        else { return subscription }
        let isOver = subscription.expires <= turn.now
        subscription.state = isOver ? .expired : .active
        subscription.expirationIntent = isOver ? SubscriptionEnd.voluntary.intent : nil
        if isOver {
            let product = try ProductTable.find(subscription.productID, turn.session)
            subscription.eligibleWinBacks = SubscriptionOffer.winBacks(
                of: product, storefront: transaction.storefront)
        }
        try keep(subscription, turn)
        return subscription
    }
}
