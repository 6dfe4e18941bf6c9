import TillAppStore
import TillBilling
import TillSQL

/// The events in a subscription's life (facts/business-rules §8). A customer has one subscription in a group,
/// identified by its first transaction through renewals, changes of plan, lapses and resubscriptions.
enum SubscriptionLifecycle {
    /// A first purchase in the group, a resubscription, or a change of plan.
    static func subscribe(_ purchase: Purchase, _ change: StoreChange) throws -> Result<PurchaseResult, StoreRefusal> {
        guard purchase.product.isOnSale, let terms = purchase.product.subscription else {
            return .failure(.notForSale(product: purchase.product.id.text, storefront: purchase.storefront))
        }
        var purchase = purchase
        if purchase.request.monthlyBilling {
            guard terms.hasBothPlans else {
                return .failure(.noMonthlyBilling(product: purchase.product.id.text))
            }
            guard purchase.request.offer == nil else {
                return .failure(.noOfferByTheMonth(product: purchase.product.id.text))
            }
            purchase.price = terms.price(ofYear: purchase.price, storefront: purchase.storefront, byTheMonth: true)
        }
        let known = try SubscriptionTable.own(
            account: purchase.account.name, bundleID: purchase.request.bundleID, groupID: terms.groupID,
            change.connection)
        guard let known, known.isGoingOn else { return try SubscriptionSale.charge(purchase, known: known, change) }
        if known.productID == purchase.product.id {
            return try PlanChoice.stay(known, purchase, change)
        }
        // After the service has stopped there is no current period to wait for.
        if known.state == .billingRetry { return try SubscriptionSale.charge(purchase, known: known, change) }
        let old = try ProductTable.find(known.productID, change.connection)?.subscription
        switch old.map({ PlanChange(from: $0, to: terms) }) ?? .now {
        case .now: return try SubscriptionSale.charge(purchase, known: known, change)
        case .atRenewal: return try PlanChoice.schedule(known, purchase, change)
        }
    }

    /// Performs the scheduled change of a subscription.
    static func reachDate(of original: Int64, _ change: StoreChange) throws {
        guard let subscription = try SubscriptionTable.find(original, change.connection), subscription.sharedFrom == nil
        else { return }
        switch subscription.state {
        case .active where subscription.renewsNext: try Renewal.attempt(subscription, change)
        case .active where subscription.expires <= change.now: try end(subscription, .voluntary, change)
        case .active: try save(subscription, change)
        case .gracePeriod, .billingRetry: try BillingRetry.reachDate(subscription, change)
        case .expired, .revoked: break
        }
    }

    // MARK: Shared steps

    /// Stores the subscription and schedules its next change.
    static func save(_ subscription: StoreSubscription, _ change: StoreChange) throws {
        try SubscriptionTable.save(subscription, change.connection)
        try FamilySharing.mirror(subscription, change)
        // A date in the past, such as that of a renewal that was off, is scheduled for now: nothing happens in the
        // past.
        try Schedule.set(
            .subscription, subscription.original, at: subscription.nextDate.map { max($0, change.now) },
            change.connection)
    }

    /// The transaction of the newest period.
    static func current(of subscription: StoreSubscription, _ change: StoreChange) throws -> StoreTransaction {
        guard let current = try TransactionTable.find(subscription.current, change.connection) else {
            throw DatabaseError(.corrupt, "the emulator's database lacks transaction \(subscription.current)")
        }
        return current
    }

    /// A subscription that its paying customer can change.
    static func changeable(
        _ original: Int64, _ change: StoreChange
    ) throws -> Result<StoreSubscription, StoreRefusal> {
        guard let subscription = try SubscriptionTable.find(original, change.connection) else {
            return .failure(.unknownSubscription(String(original)))
        }
        guard subscription.sharedFrom == nil else { return .failure(.sharedSubscription(String(original))) }
        return .success(subscription)
    }

    /// The time of the charge for the next period, some time before this one ends.
    static func chargeDate(before expires: Instant, _ change: StoreChange) throws -> Instant {
        let lead = try RenewalPace.current(change.connection).lead
        let random = change.entropy(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let width = UInt64(lead.upperBound - lead.lowerBound + 1)
        return expires.adding(milliseconds: -(lead.lowerBound + Int64(random % width)))
    }
}

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

extension SubscriptionLifecycle {
    /// Ends the service, with the notification EXPIRED.
    static func end(_ subscription: StoreSubscription, _ reason: SubscriptionEnd, _ change: StoreChange) throws {
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
        let current = try current(of: subscription, change)
        let product = try ProductTable.find(subscription.productID, change.connection)
        subscription.eligibleWinBacks = SubscriptionOffer.winBacks(of: product, storefront: current.storefront)
        try save(subscription, change)
        try change.note(.expired, reason.subtype, about: current, subscription)
        if wasServing { try FamilySharing.revoke(current, change) }
        try FamilySharing.fallBack(subscription.account, change)
    }

    /// Applies a full or partial refund of a transaction. A refund of the current period ends the service; a refund of
    /// an older period removes only that period. `Refunds` handles the family's copies.
    /// - Returns: the updated subscription; nil if the transaction belongs to none.
    static func revoked(_ transaction: StoreTransaction, _ change: StoreChange) throws -> StoreSubscription? {
        guard transaction.subscription != nil,
            var subscription = try SubscriptionTable.find(transaction.original, change.connection)
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
        try save(subscription, change)
        return subscription
    }

    /// Applies a reversed refund (REFUND_REVERSED): the customer has the period again, until its original end. Renewal
    /// stays off.
    /// - Returns: the updated subscription; nil if the transaction belongs to none.
    static func reinstated(_ transaction: StoreTransaction, _ change: StoreChange) throws -> StoreSubscription? {
        guard transaction.subscription != nil,
            var subscription = try SubscriptionTable.find(transaction.original, change.connection)
        else { return nil }
        guard subscription.current == transaction.number, subscription.state == .revoked,
            subscription.sharedFrom == nil
        else { return subscription }
        let isOver = subscription.expires <= change.now
        subscription.state = isOver ? .expired : .active
        subscription.expirationIntent = isOver ? SubscriptionEnd.voluntary.intent : nil
        if isOver {
            let product = try ProductTable.find(subscription.productID, change.connection)
            subscription.eligibleWinBacks = SubscriptionOffer.winBacks(
                of: product, storefront: transaction.storefront)
        }
        try save(subscription, change)
        return subscription
    }
}
