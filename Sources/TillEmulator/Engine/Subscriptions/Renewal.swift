import TillAppStore
import TillBilling
import TillSQL

/// The charge for a subscription's next period.
enum Renewal {
    /// The result of a charge.
    enum Outcome: Sendable, Hashable {
        case charged(Money)
        case failed
        case over(SubscriptionEnd)
    }

    /// The conditions of a charge.
    struct Circumstances: Sendable, Hashable {
        /// The list price in the subscriber's storefront; nil: the product is no longer for sale there.
        var listPrice: Money?
        var paymentWorks: Bool
        var isAccountDeleted = false
        /// The most renewals; nil: no limit.
        var renewalLimit: Int64?
    }

    /// The price of a renewal before any offer: the subscriber's price so far, lower after a cut of the list price, and
    /// higher only after an announced increase (facts/business-rules §8.4).
    static func price(of subscription: StoreSubscription, listPrice: Money) -> Money {
        if let increase = subscription.duePriceIncrease, increase.isAccepted { return increase.price }
        guard let own = subscription.renewalPrice, own.currency == listPrice.currency else { return listPrice }
        let isCut = listPrice.amount < (subscription.catalogPrice ?? own).amount
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

    static func decide(_ subscription: StoreSubscription, _ change: StoreChange) throws -> Outcome {
        let current = try SubscriptionLifecycle.current(of: subscription, change)
        let product = try ProductTable.find(subscription.renewalProductID, change.connection)
        let isSold = product?.isOnSale == true && product?.subscription?.groupID == subscription.groupID
        let listPrice = product?.chargePrice(in: current.storefront, byTheMonth: subscription.monthlyBilling)
        let account = try AccountTable.find(subscription.account, change.connection)
        return decide(
            subscription,
            Circumstances(
                listPrice: isSold ? listPrice : nil,
                paymentWorks: account?.paymentMethodWorks ?? true, isAccountDeleted: account?.isDeleted ?? false,
                renewalLimit: try RenewalPace.current(change.connection).renewalLimit))
    }

    /// Tries to charge an active subscription. A charge that fails in the last day of a period is retried at its end,
    /// and only then counts as a failure.
    static func attempt(_ subscription: StoreSubscription, _ change: StoreChange) throws {
        let outcome = try decide(subscription, change)
        if case .charged(let price) = outcome {
            _ = try charge(subscription, price, change)
        } else if change.now < subscription.expires {
            var waiting = subscription
            waiting.nextCharge = subscription.expires
            try SubscriptionLifecycle.save(waiting, change)
        } else if case .over(let reason) = outcome {
            try SubscriptionLifecycle.end(subscription, reason, change)
        } else {
            try BillingRetry.begin(subscription, change)
        }
    }

    /// Charges the next period. It starts at the end of the last one, in a grace period too; after the grace period it
    /// starts at the payment (facts/business-rules §8.3).
    static func charge(_ known: StoreSubscription, _ price: Money, _ change: StoreChange) throws -> StoreSubscription {
        var subscription = known
        let recovers = known.isFailing
        let isOwed = known.owedMonth != nil
        let last = try SubscriptionLifecycle.current(of: known, change)
        let pace = try RenewalPace.current(change.connection)
        let product = try ProductTable.find(known.nextProductID, change.connection)
        let period = period(of: known, product)
        var start = known.state == .billingRetry ? change.now : known.expires
        // If the new period would already be over, as after a grace period of the same length, it starts now.
        if pace.end(of: period, from: start, billingDay: known.billingDay) <= change.now { start = change.now }
        if start != known.expires { subscription.billingDay = start.dayOfMonth }
        let expires = pace.end(of: period, from: start, billingDay: subscription.billingDay)
        if !period.isCalendar { subscription.billingDay = expires.dayOfMonth }

        var transaction = last
        transaction.number = try Counter.transaction.take(change.connection)
        transaction.productID = known.nextProductID
        transaction.reason = "RENEWAL"
        transaction.purchased = change.now
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
            groupID: known.groupID, expires: expires, lineItem: try Counter.lineItem.take(change.connection))
        transaction = try TransactionTable.insert(transaction, change.connection)

        subscription.productID = known.nextProductID
        subscription.current = transaction.number
        subscription.expires = expires
        subscription.renewals += 1
        subscription.commitment = transaction.commitment
        let listPrice = product?.chargePrice(in: transaction.storefront, byTheMonth: known.monthlyBilling)
        finishRenewal(&subscription, known, listPrice: listPrice, at: change.now)
        subscription.nextCharge = try SubscriptionLifecycle.chargeDate(before: expires, change)
        try SubscriptionLifecycle.save(subscription, change)
        try change.note(.didRenew, recovers ? .billingRecovery : nil, about: transaction, subscription)
        try FamilySharing.share(transaction, subscription, change)
        return subscription
    }

    /// The length of the next period: a month of a commitment, an offer's period, or the product's own.
    private static func period(of known: StoreSubscription, _ product: StoreProduct?) -> OfferPeriod {
        if known.owedMonth != nil { return Commitment.period }
        if let offer = known.runningOffer { return offer.period ?? OfferPeriod(product) }
        return known.monthlyBilling ? Commitment.period : OfferPeriod(product)
    }

    /// Updates the subscription after a charge: no failure, one offer charge less, and a completed price increase.
    static func finishRenewal(
        _ subscription: inout StoreSubscription, _ known: StoreSubscription, listPrice: Money?, at now: Instant
    ) {
        subscription.state = .active
        subscription.graceExpires = nil
        subscription.retryUntil = nil
        subscription.expirationIntent = nil
        // Choices for the time after a commitment wait for its end.
        guard known.owedMonth == nil else { return }
        if let listPrice {
            subscription.renewalPrice = price(of: known, listPrice: listPrice)
            subscription.catalogPrice = listPrice
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
    /// The price of one charge before any offer; nil: not for sale there.
    func chargePrice(in storefront: String, byTheMonth: Bool) -> Money? {
        guard let price = prices[storefront] else { return nil }
        return subscription?.price(ofYear: price, storefront: storefront, byTheMonth: byTheMonth) ?? price
    }
}

extension OfferPeriod {
    /// The product's own period.
    fileprivate init(_ product: StoreProduct?) {
        self = product?.subscription.map { OfferPeriod($0.period) } ?? OfferPeriod(1, .month)
    }
}

/// A subscription's transactions.
extension TransactionTable {
    /// The paid periods of a subscription that end after `moment` and were not cut short, oldest first: at most two,
    /// because a renewal is charged in the last day.
    static func running(
        original: Int64, at moment: Instant, isShared: Bool = false, _ connection: any Connection
    ) throws -> [Int64] {
        try connection.query(
            """
            SELECT number FROM transactions
            WHERE original = ? AND group_id IS NOT NULL AND state = 'purchased' AND expires_at > ? AND is_upgraded = 0
                AND (shared_from IS NOT NULL) = ?
            ORDER BY number DESC LIMIT 4
            """, [.integer(original), .integer(moment.milliseconds), .flag(isShared)]
        ) { $0.integer("number") }.reversed()
    }

    /// Whether any period of the subscription cost money.
    static func wasPaid(original: Int64, _ connection: any Connection) throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM transactions
            WHERE original = ? AND group_id IS NOT NULL AND state = 'purchased' AND price > 0 LIMIT 1
            """, [.integer(original)]
        ) { _ in true } ?? false
    }

    /// Attaches a transaction that waited to a subscription that started in the meantime, at the current price.
    static func join(_ transaction: StoreTransaction, _ connection: any Connection) throws {
        try connection.execute(
            "UPDATE transactions SET original = ?, price = ?, offer = ? WHERE number = ?",
            [
                .integer(transaction.original), .integer(transaction.price.amount),
                .optional(try transaction.offer.map { try StoredDocument.text($0) }), .integer(transaction.number),
            ])
    }
}

/// A year paid monthly: the customer commits to twelve payments (API 1.21, facts/jws §4, §5). Apple's pages name the
/// members and no rules; these rules are ours:
///
/// - A customer's choice takes effect after the twelve months: cancelling, a downgrade, another payment plan, a higher
///   price. An upgrade takes effect at once and ends the commitment.
/// - Owed months renew even if the product is no longer on sale. A month that can't be charged is retried like any
///   renewal; if all retries fail, the subscription and the commitment end.
/// - A refund of the current month ends the subscription, like any refund of a current period.
/// - Monthly plans have no offers.
enum Commitment {
    static let periods: Int64 = 12
    static let period = OfferPeriod(1, .month)

    /// The first month of a commitment that begins at `start`.
    static func begin(
        monthly price: Money, at start: Instant, billingDay: Int64, _ pace: RenewalPace
    ) -> StoreTransaction.Commitment {
        StoreTransaction.Commitment(
            billingPeriod: 1, billingPeriods: periods,
            expires: end(ofMonths: periods, from: start, billingDay: billingDay, pace),
            price: Money(amount: price.amount * periods, currency: price.currency))
    }

    /// The next month. If a month was paid late, the commitment ends later by the same time.
    static func next(
        after month: StoreTransaction.Commitment, at start: Instant, billingDay: Int64, _ pace: RenewalPace
    ) -> StoreTransaction.Commitment {
        var next = month
        next.billingPeriod += 1
        next.expires = end(
            ofMonths: month.billingPeriods - month.billingPeriod, from: start, billingDay: billingDay, pace)
        return next
    }

    /// Adds month by month, because a faster pace may have one length for all periods.
    private static func end(
        ofMonths count: Int64, from start: Instant, billingDay: Int64, _ pace: RenewalPace
    ) -> Instant {
        (0..<max(0, count)).reduce(start) { date, _ in pace.end(of: period, from: date, billingDay: billingDay) }
    }
}

extension StoreTransaction.Commitment {
    /// The price of each month.
    var monthlyPrice: Money { Money(amount: price.amount / max(1, billingPeriods), currency: price.currency) }

    /// Moves the end by some milliseconds, after a month was extended.
    mutating func move(by more: Int64) { expires = expires.adding(milliseconds: more) }
}

extension StoreSubscription {
    /// The price of the commitment's next month, which renews whatever the customer chose; nil: no month is owed.
    var owedMonth: Money? {
        guard isGoingOn, let commitment, commitment.billingPeriod < commitment.billingPeriods else { return nil }
        return commitment.monthlyPrice
    }

    /// Whether another period follows the current one, by the customer's choice or because it is owed.
    var renewsNext: Bool { renews || owedMonth != nil }

    /// The product of the next period.
    var nextProductID: ProductID { owedMonth == nil ? renewalProductID : productID }
}

extension StoreTransaction {
    /// The column of the billing plan: Apple's name for a year paid up front, or the JSON of a commitment.
    func billingPlan() throws -> String? {
        if let commitment { return try StoredDocument.text(commitment) }
        return isBilledUpFront ? BillingPlanType.billedUpFront.rawValue : nil
    }

    mutating func setBillingPlan(_ text: String?) throws {
        isBilledUpFront = text == BillingPlanType.billedUpFront.rawValue
        guard let text, !isBilledUpFront else { return }
        commitment = try StoredDocument.read(Commitment.self, from: text)
    }
}
