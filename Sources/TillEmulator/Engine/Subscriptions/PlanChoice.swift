import TillAppStore
import TillBilling

/// A subscriber's choices for later periods, made while one is running.
enum PlanChoice {
    /// Buys the current product again: undoes a cancellation or a scheduled change of plan, redeems an offer for the
    /// next period, or pays an overdue period. Otherwise it refuses, because there is nothing to buy.
    static func stay(
        _ known: StoreSubscription, _ purchase: Purchase, _ change: StoreChange
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        if known.isFailing {
            return try payOwed(known, purchase, change)
        }
        var subscription = known
        if purchase.request.offer != nil {
            switch try SubscriptionOffer.choose(purchase, known: known, change) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let offer): subscription.runningOffer = offer
            }
            renew(&subscription, as: purchase)
            try SubscriptionLifecycle.save(subscription, change)
            let current = try SubscriptionLifecycle.current(of: subscription, change)
            try change.note(.offerRedeemed, about: current, subscription)
            try noteResumed(since: known, subscription, change)
            return .success(.scheduled(subscription))
        }
        let goesBack = known.renewalProductID != known.productID
        let pays = known.monthlyBilling != purchase.request.monthlyBilling
        guard goesBack || pays || !known.renews else {
            return .failure(.alreadySubscribed(product: known.productID.text))
        }
        if goesBack || pays {
            renew(&subscription, as: purchase)
            subscription.runningOffer = nil
        }
        subscription.renews = true
        try SubscriptionLifecycle.save(subscription, change)
        if goesBack || pays {
            let current = try SubscriptionLifecycle.current(of: subscription, change)
            // Another payment plan waits for the renewal, as a downgrade does; a return to the current plan has no
            // subtype.
            let isBack = purchase.request.monthlyBilling == (known.commitment != nil)
            try change.note(.didChangeRenewalPref, isBack ? nil : .downgrade, about: current, subscription)
        }
        try noteResumed(since: known, subscription, change)
        return .success(.scheduled(subscription))
    }

    /// Sets the next renewal, which follows the owed months of a commitment.
    private static func renew(_ subscription: inout StoreSubscription, as purchase: Purchase) {
        subscription.renewalProductID = purchase.product.id
        subscription.renewalPrice = purchase.price
        subscription.catalogPrice = purchase.price
        subscription.monthlyBilling = purchase.request.monthlyBilling
        subscription.renews = true
    }

    /// Pays an overdue period, with an offer if the request has one.
    private static func payOwed(
        _ known: StoreSubscription, _ purchase: Purchase, _ change: StoreChange
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard purchase.account.paymentMethodWorks else { return .success(.failed) }
        var paying = stayPaying(known, purchase)
        if known.billingFails {
            // A failed attempt uses up a signature and keeps a code.
            if case .promotional(let identifier, let signature) = purchase.request.offer,
                let refusal = try OfferChecks.check(signature, offer: identifier, of: purchase.request, change)
            {
                return .failure(refusal)
            }
            return .success(.failed)
        }
        if purchase.request.offer != nil, known.owedMonth == nil {
            switch try SubscriptionOffer.choose(purchase, known: known, change) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let offer): paying.runningOffer = offer
            }
        }
        // A failed attempt changes nothing, and keeps a scheduled change of plan.
        if case .failed = try Renewal.decide(paying, change) { return .success(.failed) }
        if paying.renewalProductID != known.renewalProductID {
            try SubscriptionLifecycle.save(paying, change)
            try change.note(.didChangeRenewalPref, about: try SubscriptionLifecycle.current(of: paying, change), paying)
        }
        let recovered = try BillingRetry.recover(paying, change)
        guard recovered.state == .active else { return .success(.failed) }
        return .success(.purchased(try SubscriptionLifecycle.current(of: recovered, change)))
    }

    /// The subscription as it is charged for the current product at its list price, without the scheduled change.
    private static func stayPaying(_ known: StoreSubscription, _ purchase: Purchase) -> StoreSubscription {
        var paying = known
        guard known.renewalProductID != known.productID else { return paying }
        paying.renewalProductID = known.productID
        paying.renewalPrice = purchase.price
        paying.catalogPrice = purchase.price
        paying.runningOffer = nil
        return paying
    }

    /// Schedules another product from the next renewal on.
    static func schedule(
        _ known: StoreSubscription, _ purchase: Purchase, _ change: StoreChange
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard
            known.renewalProductID != purchase.product.id || !known.renews || purchase.request.offer != nil
                || known.monthlyBilling != purchase.request.monthlyBilling
        else {
            return .failure(.alreadySubscribed(product: purchase.product.id.text))
        }
        var subscription = known
        switch try SubscriptionOffer.choose(purchase, known: known, change) {
        case .failure(let refusal): return .failure(refusal)
        // The rest of an offer on the old product ends with it.
        case .success(let offer): subscription.runningOffer = offer
        }
        let redeems = subscription.runningOffer.map { $0.offer.kind != .introductory } ?? false
        if subscription.runningOffer?.offer.kind == .introductory { subscription.hadIntroductory = change.now }
        renew(&subscription, as: purchase)
        subscription.appAccountToken = purchase.request.appAccountToken ?? known.appAccountToken
        subscription.priceIncrease = nil
        try SubscriptionLifecycle.save(subscription, change)
        let current = try SubscriptionLifecycle.current(of: subscription, change)
        try change.note(redeems ? .offerRedeemed : .didChangeRenewalPref, .downgrade, about: current, subscription)
        try noteResumed(since: known, subscription, change)
        return .success(.scheduled(subscription))
    }

    /// Turns renewal off; the service continues to the end of the period. After a failed charge it ends at once
    /// (facts/business-rules §8.3), except in a commitment, whose months are owed to the end.
    static func cancel(_ original: Int64, _ change: StoreChange) throws -> Result<StoreSubscription, StoreRefusal> {
        let known: StoreSubscription
        switch try SubscriptionLifecycle.changeable(original, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found): known = found
        }
        guard known.isGoingOn else { return .failure(.subscriptionEnded(String(original))) }
        guard known.renews else { return .success(known) }
        let subscription = try stop(known, change)
        if subscription.isFailing, subscription.owedMonth == nil {
            try SubscriptionLifecycle.end(subscription, .voluntary, change)
        }
        return .success(try SubscriptionTable.find(original, change.connection) ?? subscription)
    }

    /// Turns renewal off.
    static func stop(_ known: StoreSubscription, _ change: StoreChange) throws -> StoreSubscription {
        var subscription = known
        subscription.renews = false
        try SubscriptionLifecycle.save(subscription, change)
        let current = try SubscriptionLifecycle.current(of: subscription, change)
        try change.note(.didChangeRenewalStatus, .autoRenewDisabled, about: current, subscription)
        return subscription
    }

    /// Turns renewal on again before the period has ended.
    static func resume(_ original: Int64, _ change: StoreChange) throws -> Result<StoreSubscription, StoreRefusal> {
        let known: StoreSubscription
        switch try SubscriptionLifecycle.changeable(original, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found): known = found
        }
        guard known.isGoingOn else { return .failure(.subscriptionEnded(String(original))) }
        guard !known.renews else { return .success(known) }
        var subscription = known
        subscription.renews = true
        try SubscriptionLifecycle.save(subscription, change)
        try noteResumed(since: known, subscription, change)
        return .success(subscription)
    }

    private static func noteResumed(
        since known: StoreSubscription, _ subscription: StoreSubscription, _ change: StoreChange
    ) throws {
        guard !known.renews, subscription.renews else { return }
        let current = try SubscriptionLifecycle.current(of: subscription, change)
        try change.note(.didChangeRenewalStatus, .autoRenewEnabled, about: current, subscription)
    }
}

/// The effect of subscribing to another product of a group while one is running (facts/business-rules §8.2).
///
/// Apple refunds part of the price for the rest of the old period, which no API shows: the old transaction gets
/// `isUpgraded` (in receipts, a cancellation date), with neither a REFUND notification nor a `revocationDate`.
enum PlanChange: Sendable, Hashable {
    /// A higher level of service, or the same level with the same period: immediately, with a period that starts now.
    case now
    /// A lower level, or the same level with another period: at the end of the current period.
    case atRenewal

    init(from old: SubscriptionTerms, to new: SubscriptionTerms) {
        if new.level < old.level {
            self = .now
        } else if new.level == old.level {
            self = new.period == old.period ? .now : .atRenewal
        } else {
            self = .atRenewal
        }
    }
}
