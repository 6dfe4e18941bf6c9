import TillAppStore
import TillBilling
import TillSQL

/// The charge for a subscription's next period.
enum Renewal {
    /// What becomes of an attempt.
    enum Outcome: Sendable, Hashable {
        case charged(Money)
        case failed
        case over(SubscriptionEnd)
    }

    /// What an attempt finds.
    struct Circumstances: Sendable, Hashable {
        /// The price on the shelf in the subscriber's storefront; nil: not for sale there any more.
        var listPrice: Money?
        var paymentWorks: Bool
        var isAccountDeleted = false
        /// How often it may renew; nil: for ever.
        var renewalLimit: Int64?
    }

    /// What a renewal costs before any offer: what the subscriber has paid so far, less if the price on the shelf has
    /// become lower, more only by an increase that was told (facts/business-rules §8.4).
    static func price(of subscription: StoreSubscription, listPrice: Money) -> Money {
        if let increase = subscription.duePriceIncrease, increase.isAccepted { return increase.price }
        guard let own = subscription.renewalPrice, own.currency == listPrice.currency else { return listPrice }
        let isCut = listPrice.amount < (subscription.shelfPrice ?? own).amount
        return isCut && listPrice.amount < own.amount ? listPrice : own
    }

    static func decide(_ subscription: StoreSubscription, _ circumstances: Circumstances) -> Outcome {
        let owed = subscription.owedMonth
        guard let listPrice = owed ?? circumstances.listPrice else { return .over(.productNotForSale) }
        if circumstances.isAccountDeleted { return .over(.other) }
        if let limit = circumstances.renewalLimit, subscription.renewals >= limit { return .over(.other) }
        if let increase = subscription.duePriceIncrease, !increase.isAccepted { return .over(.priceIncrease) }
        guard circumstances.paymentWorks, !subscription.billingFails else { return .failed }
        return .charged(owed ?? subscription.runningOffer?.price ?? price(of: subscription, listPrice: listPrice))
    }

    static func decide(_ subscription: StoreSubscription, _ turn: Turn) throws -> Outcome {
        let current = try SubscriptionLife.current(of: subscription, turn)
        let product = try ProductTable.find(subscription.renewalProductID, turn.session)
        let isSold = product?.isOnSale == true && product?.subscription?.groupID == subscription.groupID
        let listPrice = product?.chargePrice(in: current.storefront, byTheMonth: subscription.monthlyBilling)
        let account = try AccountTable.find(subscription.account, turn.session)
        return decide(
            subscription,
            Circumstances(
                listPrice: isSold ? listPrice : nil,
                paymentWorks: account?.paymentMethodWorks ?? true, isAccountDeleted: account?.isDeleted ?? false,
                renewalLimit: try RenewalPace.current(turn.session).renewalLimit))
    }

    /// Tries to charge an active subscription. What does not go through in the last day of a period is tried again
    /// when it ends; only then is it a failure.
    static func attempt(_ subscription: StoreSubscription, _ turn: Turn) throws {
        let outcome = try decide(subscription, turn)
        if case .charged(let price) = outcome {
            _ = try charge(subscription, price, turn)
        } else if turn.now < subscription.expires {
            var waiting = subscription
            waiting.nextCharge = subscription.expires
            try SubscriptionLife.keep(waiting, turn)
        } else if case .over(let reason) = outcome {
            try SubscriptionLife.end(subscription, reason, turn)
        } else {
            try BillingRetry.begin(subscription, turn)
        }
    }

    /// The next period is paid. It begins where the last one ends, also if it is paid in grace; what is paid later
    /// begins when it is paid (facts/business-rules §8.3).
    static func charge(_ known: StoreSubscription, _ price: Money, _ turn: Turn) throws -> StoreSubscription {
        var subscription = known
        let recovers = known.isFailing
        let isOwed = known.owedMonth != nil
        let last = try SubscriptionLife.current(of: known, turn)
        let pace = try RenewalPace.current(turn.session)
        let product = try ProductTable.find(known.nextProductID, turn.session)
        let period = period(of: known, product)
        var start = known.state == .billingRetry ? turn.now : known.expires
        // A grace as long as the period it stands for must not sell what is over.
        if pace.end(of: period, from: start, billingDay: known.billingDay) <= turn.now { start = turn.now }
        if start != known.expires { subscription.billingDay = start.dayOfMonth }
        let expires = pace.end(of: period, from: start, billingDay: subscription.billingDay)
        if !period.isCalendar { subscription.billingDay = expires.dayOfMonth }

        var transaction = last
        transaction.number = try Counter.transaction.take(turn.session)
        transaction.productID = known.nextProductID
        transaction.reason = "RENEWAL"
        transaction.purchased = turn.now
        transaction.price = price
        transaction.isFinished = false
        transaction.isUpgraded = false
        transaction.revocation = nil
        if let month = known.commitment, isOwed {
            transaction.commitment = Commitment.next(
                after: month, at: start, billingDay: subscription.billingDay, pace)
        } else {
            transaction.commitment =
                known.monthlyBilling && known.runningOffer == nil
                ? Commitment.begin(monthly: price, at: start, billingDay: subscription.billingDay, pace) : nil
        }
        transaction.isBilledUpFront = transaction.commitment == nil && product?.subscription?.hasBothPlans == true
        transaction.offer = isOwed ? nil : known.runningOffer?.offer
        transaction.appAccountToken = known.appAccountToken
        transaction.subscription = StoreTransaction.Subscription(
            groupID: known.groupID, expires: expires, lineItem: try Counter.lineItem.take(turn.session))
        transaction = try TransactionTable.insert(transaction, turn.session)

        subscription.productID = known.nextProductID
        subscription.current = transaction.number
        subscription.expires = expires
        subscription.renewals += 1
        subscription.commitment = transaction.commitment
        let listPrice = product?.chargePrice(in: transaction.storefront, byTheMonth: known.monthlyBilling)
        settle(&subscription, known, listPrice: listPrice, at: turn.now)
        subscription.nextCharge = try SubscriptionLife.chargeDate(before: expires, turn)
        try SubscriptionLife.keep(subscription, turn)
        try turn.note(.didRenew, recovers ? .billingRecovery : nil, about: transaction, subscription)
        try FamilySharing.share(transaction, subscription, turn)
        return subscription
    }

    /// How long the next period is: a month of a commitment, what an offer says, or the product's own.
    private static func period(of known: StoreSubscription, _ product: StoreProduct?) -> OfferPeriod {
        if known.owedMonth != nil { return Commitment.period }
        if let offer = known.runningOffer { return offer.period ?? OfferPeriod(product) }
        return known.monthlyBilling ? Commitment.period : OfferPeriod(product)
    }

    /// What a charge leaves behind: no failure, one charge of the offer less, an increase that has come about.
    static func settle(
        _ subscription: inout StoreSubscription, _ known: StoreSubscription, listPrice: Money?, at now: Instant
    ) {
        subscription.state = .active
        subscription.graceExpires = nil
        subscription.retryUntil = nil
        subscription.expirationIntent = nil
        // What is to come after a commitment waits for its end.
        guard known.owedMonth == nil else { return }
        if let listPrice {
            subscription.renewalPrice = price(of: known, listPrice: listPrice)
            subscription.shelfPrice = listPrice
        }
        if known.duePriceIncrease != nil {
            subscription.priceIncrease = nil
            subscription.lastIncrease = now
        }
        guard let offer = known.runningOffer else { return }
        subscription.runningOffer = offer.charges > 1 ? offer : nil
        subscription.runningOffer?.charges = offer.charges - 1
    }
}

extension StoreProduct {
    /// What one charge of it costs before any offer; nil: not for sale there.
    func chargePrice(in storefront: String, byTheMonth: Bool) -> Money? {
        guard let price = prices[storefront] else { return nil }
        return subscription?.price(ofYear: price, storefront: storefront, byTheMonth: byTheMonth) ?? price
    }
}

extension OfferPeriod {
    /// The product's own.
    fileprivate init(_ product: StoreProduct?) {
        self = product?.subscription.map { OfferPeriod($0.period) } ?? OfferPeriod(1, .month)
    }
}
