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
            return try payOwed(known, purchase, turn)
        }
        var subscription = known
        if purchase.request.offer != nil {
            switch try SubscriptionOffer.choose(purchase, known: known, turn) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let offer): subscription.runningOffer = offer
            }
            renew(&subscription, as: purchase)
            try SubscriptionLife.keep(subscription, turn)
            let current = try SubscriptionLife.current(of: subscription, turn)
            try turn.note(.offerRedeemed, about: current, subscription)
            try noteResumed(since: known, subscription, turn)
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
        try SubscriptionLife.keep(subscription, turn)
        if goesBack || pays {
            let current = try SubscriptionLife.current(of: subscription, turn)
            // Another way to pay waits for the renewal as a lower plan does; back to what runs has no subtype.
            let isBack = purchase.request.monthlyBilling == (known.commitment != nil)
            try turn.note(.didChangeRenewalPref, isBack ? nil : .downgrade, about: current, subscription)
        }
        try noteResumed(since: known, subscription, turn)
        return .success(.scheduled(subscription))
    }

    /// What comes at the next renewal that nobody owes.
    private static func renew(_ subscription: inout StoreSubscription, as purchase: Purchase) {
        subscription.renewalProductID = purchase.product.id
        subscription.renewalPrice = purchase.price
        subscription.shelfPrice = purchase.price
        subscription.monthlyBilling = purchase.request.monthlyBilling
        subscription.renews = true
    }

    /// Pays what could not be charged, with an offer if the customer has one.
    private static func payOwed(
        _ known: StoreSubscription, _ purchase: Purchase, _ turn: Turn
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard purchase.account.paymentMethodWorks else { return .success(.failed) }
        var paying = stayPaying(known, purchase)
        if known.billingFails {
            // The attempt uses up a signature, and leaves a code as it is.
            if case .promotional(let identifier, let signature) = purchase.request.offer,
                let refusal = try OfferDesk.check(signature, offer: identifier, of: purchase.request, turn)
            {
                return .failure(refusal)
            }
            return .success(.failed)
        }
        if purchase.request.offer != nil, known.owedMonth == nil {
            switch try SubscriptionOffer.choose(purchase, known: known, turn) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let offer): paying.runningOffer = offer
            }
        }
        // An attempt that fails leaves everything as it was, a change of plan that waits too.
        if case .failed = try Renewal.decide(paying, turn) { return .success(.failed) }
        if paying.renewalProductID != known.renewalProductID {
            try SubscriptionLife.keep(paying, turn)
            try turn.note(.didChangeRenewalPref, about: try SubscriptionLife.current(of: paying, turn), paying)
        }
        let recovered = try BillingRetry.recover(paying, turn)
        guard recovered.state == .active else { return .success(.failed) }
        return .success(.purchased(try SubscriptionLife.current(of: recovered, turn)))
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
        guard
            known.renewalProductID != purchase.product.id || !known.renews || purchase.request.offer != nil
                || known.monthlyBilling != purchase.request.monthlyBilling
        else {
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
        renew(&subscription, as: purchase)
        subscription.appAccountToken = purchase.request.appAccountToken ?? known.appAccountToken
        subscription.priceIncrease = nil
        try SubscriptionLife.keep(subscription, turn)
        let current = try SubscriptionLife.current(of: subscription, turn)
        try turn.note(redeems ? .offerRedeemed : .didChangeRenewalPref, .downgrade, about: current, subscription)
        try noteResumed(since: known, subscription, turn)
        return .success(.scheduled(subscription))
    }

    /// The customer turns renewal off: the service goes on to the end of the period. Where a charge has failed there
    /// is nothing left to go on, and it ends at once (facts/business-rules §8.3), unless it is of a commitment: its
    /// months are owed to the end.
    static func cancel(_ original: Int64, _ turn: Turn) throws -> Result<StoreSubscription, StoreRefusal> {
        let known: StoreSubscription
        switch try SubscriptionLife.changeable(original, turn) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found): known = found
        }
        guard known.isGoingOn else { return .failure(.subscriptionEnded(String(original))) }
        guard known.renews else { return .success(known) }
        let subscription = try stop(known, turn)
        if subscription.isFailing, subscription.owedMonth == nil {
            try SubscriptionLife.end(subscription, .voluntary, turn)
        }
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

/// What it means to subscribe to one product of a group while another one runs (facts/business-rules §8.2).
///
/// Of what is left of the old period Apple gives a part of the price back, which no API shows: the old transaction gets
/// `isUpgraded` (receipts: a cancellation date), and there is neither a REFUND notification nor a `revocationDate`.
enum PlanChange: Sendable, Hashable {
    /// A higher level of service, or the same level at the same length: at once, with a period that starts now.
    case now
    /// A lower level, or the same level at another length: when the period that runs has ended.
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
