import TillAppStore
import TillBilling

/// Higher prices for who subscribes already (facts/business-rules §8.4).
enum PriceIncrease {
    /// What the developer wants.
    struct Wish: Sendable, Hashable {
        var price: Money
        /// Nil: by the rule of `needsConsent`.
        var needsConsent: Bool?
        /// Nil: from the next renewal on.
        var effective: Instant?
    }

    /// About five dollars, in minor units; fifty for a year. Apple names dollars only, the others are our rounding.
    private static let smallStep: [String: Int64] = [
        "USD": 500, "EUR": 500, "GBP": 500, "CAD": 700, "AUD": 700, "CNY": 3_500, "HKD": 4_000, "JPY": 750,
    ]

    /// Whether the customer has to agree: to more than one increase within a year, to more than half of the price, to
    /// more than about five dollars (fifty where a period is a year). A currency without a known step goes by the half
    /// alone.
    static func needsConsent(from old: Money, to new: Money, period: SubscriptionPeriod?, last: Instant?, now: Instant)
        -> Bool
    {
        let (step, overflow) = new.amount.subtractingReportingOverflow(old.amount)
        if overflow || step > old.amount / 2 { return true }
        if let last, last.adding(seconds: 365 * 86_400) > now { return true }
        guard let small = smallStep[new.currency.text] else { return false }
        return step > (period == .year ? 10 * small : small)
    }

    static func raise(
        _ original: Int64, _ wish: Wish, _ turn: Turn
    ) throws -> Result<StoreSubscription, StoreRefusal> {
        switch try SubscriptionLife.changeable(original, turn) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let subscription): return try raise(subscription, wish, turn)
        }
    }

    private static func raise(
        _ known: StoreSubscription, _ wish: Wish, _ turn: Turn
    ) throws -> Result<StoreSubscription, StoreRefusal> {
        let id = String(known.original)
        guard known.isGoingOn else { return .failure(.subscriptionEnded(id)) }
        guard let old = known.renewalPrice, old.currency == wish.price.currency, old.amount < wish.price.amount else {
            return .failure(.notAnIncrease(id))
        }
        let own = try ProductTable.find(known.renewalProductID, turn.session)?.subscription?.period
        let period = known.monthlyBilling ? .month : own
        let needsConsent =
            wish.needsConsent
            ?? Self.needsConsent(from: old, to: wish.price, period: period, last: known.lastIncrease, now: turn.now)
        var subscription = known
        subscription.priceIncrease = StoreSubscription.PriceIncrease(
            price: wish.price, effective: max(wish.effective ?? turn.now, turn.now), needsConsent: needsConsent,
            isAccepted: !needsConsent)
        try SubscriptionLife.keep(subscription, turn)
        let current = try SubscriptionLife.current(of: subscription, turn)
        try turn.note(.priceIncrease, needsConsent ? .pending : .accepted, about: current, subscription)
        return .success(subscription)
    }

    /// The customer's answer. A no turns renewal off, as a cancellation does.
    static func answer(
        _ original: Int64, accepts: Bool, _ turn: Turn
    ) throws -> Result<StoreSubscription, StoreRefusal> {
        var subscription: StoreSubscription
        switch try SubscriptionLife.changeable(original, turn) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found): subscription = found
        }
        guard subscription.isGoingOn, let increase = subscription.priceIncrease, !increase.isAccepted else {
            return .failure(.noConsentAsked(String(original)))
        }
        guard accepts else { return try PlanChoice.cancel(original, turn) }
        subscription.priceIncrease?.isAccepted = true
        try SubscriptionLife.keep(subscription, turn)
        let current = try SubscriptionLife.current(of: subscription, turn)
        try turn.note(.priceIncrease, .accepted, about: current, subscription)
        return .success(subscription)
    }
}
