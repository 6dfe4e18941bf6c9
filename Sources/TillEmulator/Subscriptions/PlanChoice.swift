import TillAppStore
import TillBilling

/// What a subscriber says about the periods to come, while one runs.
enum PlanChoice {
    /// Buys the product that runs already: takes back a cancellation or a change of plan, redeems an offer for the
    /// next period, pays what could not be charged. Otherwise there is nothing to buy.
    static func stay(
        _ known: StoreSubscription, _ purchase: Purchase, _ turn: Turn
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        if known.isFailing {
            guard purchase.account.paymentMethodWorks else { return .success(.failed) }
            let paying = stayPaying(known, purchase)
            // An attempt that fails leaves everything as it was, a change of plan that waits too.
            if case .failed = try Renewal.decide(paying, turn) { return .success(.failed) }
            if paying.renewalProductID != known.renewalProductID {
                try SubscriptionLife.keep(paying, turn)
                try turn.note(
                    .didChangeRenewalPref, about: try SubscriptionLife.current(of: paying, turn), paying)
            }
            let recovered = try BillingRetry.recover(paying, turn)
            guard recovered.state == .active else { return .success(.failed) }
            return .success(.purchased(try SubscriptionLife.current(of: recovered, turn)))
        }
        var subscription = known
        if purchase.request.offer != nil {
            switch try SubscriptionOffer.choose(purchase, known: known, turn) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let offer): subscription.runningOffer = offer
            }
            subscription.renewalProductID = known.productID
            subscription.renewalPrice = purchase.price
            subscription.shelfPrice = purchase.price
            subscription.renews = true
            try SubscriptionLife.keep(subscription, turn)
            let current = try SubscriptionLife.current(of: subscription, turn)
            try turn.note(.offerRedeemed, about: current, subscription)
            try noteResumed(since: known, subscription, turn)
            return .success(.scheduled(subscription))
        }
        let goesBack = known.renewalProductID != known.productID
        guard goesBack || !known.renews else { return .failure(.alreadySubscribed(product: known.productID.text)) }
        if goesBack {
            subscription.renewalProductID = known.productID
            subscription.renewalPrice = purchase.price
            subscription.shelfPrice = purchase.price
            subscription.runningOffer = nil
        }
        subscription.renews = true
        try SubscriptionLife.keep(subscription, turn)
        if goesBack {
            let current = try SubscriptionLife.current(of: subscription, turn)
            try turn.note(.didChangeRenewalPref, about: current, subscription)
        }
        try noteResumed(since: known, subscription, turn)
        return .success(.scheduled(subscription))
    }

    /// The subscription as it is charged for the product that runs, at that product's price, whatever was to come next.
    private static func stayPaying(_ known: StoreSubscription, _ purchase: Purchase) -> StoreSubscription {
        var paying = known
        guard known.renewalProductID != known.productID else { return paying }
        paying.renewalProductID = known.productID
        paying.renewalPrice = purchase.price
        paying.shelfPrice = purchase.price
        paying.runningOffer = nil
        return paying
    }

    /// Another product from the next renewal on.
    static func schedule(
        _ known: StoreSubscription, _ purchase: Purchase, _ turn: Turn
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard known.renewalProductID != purchase.product.id || !known.renews || purchase.request.offer != nil else {
            return .failure(.alreadySubscribed(product: purchase.product.id.text))
        }
        var subscription = known
        switch try SubscriptionOffer.choose(purchase, known: known, turn) {
        case .failure(let refusal): return .failure(refusal)
        // What was still to come of an offer for the old product goes with it.
        case .success(let offer): subscription.runningOffer = offer
        }
        let redeems = subscription.runningOffer.map { $0.offer.kind != .introductory } ?? false
        if subscription.runningOffer?.offer.kind == .introductory { subscription.hadIntroductory = turn.now }
        subscription.renewalProductID = purchase.product.id
        subscription.renewalPrice = purchase.price
        subscription.shelfPrice = purchase.price
        subscription.appAccountToken = purchase.request.appAccountToken ?? known.appAccountToken
        subscription.priceIncrease = nil
        subscription.renews = true
        try SubscriptionLife.keep(subscription, turn)
        let current = try SubscriptionLife.current(of: subscription, turn)
        try turn.note(redeems ? .offerRedeemed : .didChangeRenewalPref, .downgrade, about: current, subscription)
        try noteResumed(since: known, subscription, turn)
        return .success(.scheduled(subscription))
    }

    /// The customer turns renewal off: the service goes on to the end of the period. Where a charge has failed there
    /// is nothing left to go on, and it ends at once (facts/business-rules §8.3).
    static func cancel(_ original: Int64, _ turn: Turn) throws -> Result<StoreSubscription, StoreRefusal> {
        let known: StoreSubscription
        switch try SubscriptionLife.changeable(original, turn) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found): known = found
        }
        guard known.isGoingOn else { return .failure(.subscriptionEnded(String(original))) }
        guard known.renews else { return .success(known) }
        let subscription = try stop(known, turn)
        if subscription.isFailing { try SubscriptionLife.end(subscription, .voluntary, turn) }
        return .success(try SubscriptionTable.find(original, turn.session) ?? subscription)
    }

    /// Renewal is off from now on.
    static func stop(_ known: StoreSubscription, _ turn: Turn) throws -> StoreSubscription {
        var subscription = known
        subscription.renews = false
        try SubscriptionLife.keep(subscription, turn)
        let current = try SubscriptionLife.current(of: subscription, turn)
        try turn.note(.didChangeRenewalStatus, .autoRenewDisabled, about: current, subscription)
        return subscription
    }

    /// The customer turns renewal on again before the period has ended.
    static func resume(_ original: Int64, _ turn: Turn) throws -> Result<StoreSubscription, StoreRefusal> {
        let known: StoreSubscription
        switch try SubscriptionLife.changeable(original, turn) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found): known = found
        }
        guard known.isGoingOn else { return .failure(.subscriptionEnded(String(original))) }
        guard !known.renews else { return .success(known) }
        var subscription = known
        subscription.renews = true
        try SubscriptionLife.keep(subscription, turn)
        try noteResumed(since: known, subscription, turn)
        return .success(subscription)
    }

    private static func noteResumed(
        since known: StoreSubscription, _ subscription: StoreSubscription, _ turn: Turn
    ) throws {
        guard !known.renews, subscription.renews else { return }
        let current = try SubscriptionLife.current(of: subscription, turn)
        try turn.note(.didChangeRenewalStatus, .autoRenewEnabled, about: current, subscription)
    }
}
