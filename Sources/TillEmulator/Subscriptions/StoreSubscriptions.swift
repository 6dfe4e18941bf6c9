import TillBilling
import TillSQL

extension Store {
    public func subscription(_ original: Int64) async throws -> StoreSubscription? {
        try await ask { session in try SubscriptionTable.find(original, session) }
    }

    /// Subscriptions in the order of their original transactions, beginning after `after`; nil: of any account, any
    /// app.
    public func subscriptions(
        account: String? = nil, bundleID: String? = nil, after: Int64 = 0, limit: Int
    ) async throws -> [StoreSubscription] {
        try await ask { session in
            try SubscriptionTable.page(account: account, bundleID: bundleID, after: after, limit: limit, session)
        }
    }

    // MARK: What the customer does

    public func cancelSubscription(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try PlanChoice.cancel(original, $0) }
    }

    public func resumeSubscription(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try PlanChoice.resume(original, $0) }
    }

    /// Upgrades, downgrades or crosses over to another product of the group, or back to the one that runs.
    public func changePlan(
        _ original: Int64, to productID: ProductID
    ) async throws -> Result<PurchaseResult, StoreRefusal> {
        try await change { turn in
            let subscription: StoreSubscription
            switch try SubscriptionLife.changeable(original, turn) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let found): subscription = found
            }
            // Another group would be another subscription.
            let product = try ProductTable.find(productID, turn.session)
            if let product, product.subscription?.groupID != subscription.groupID {
                return .failure(.otherGroup(product: productID.text, String(original)))
            }
            var request = PurchaseRequest(bundleID: subscription.bundleID, productID: productID)
            request.account = subscription.account
            // Of settings, not of a payment sheet.
            request.outcome = .purchased
            request.storefront = try SubscriptionLife.current(of: subscription, turn).storefront
            request.appAccountToken = subscription.appAccountToken
            // Who pays by the month goes on doing so where that is possible.
            request.monthlyBilling = subscription.monthlyBilling && product?.subscription?.hasBothPlans == true
            return try PaymentSheet.pay(request, turn)
        }
    }

    /// The answer to an increase of the price that needs consent.
    public func answerPriceIncrease(
        _ original: Int64, accepts: Bool
    ) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try PriceIncrease.answer(original, accepts: accepts, $0) }
    }

    // MARK: What the bank does

    /// Charges for this subscription fail until `recover`.
    public func failBilling(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try BillingRetry.breakBilling(original, $0) }
    }

    /// The payment method works again, and what could not be charged is charged at once.
    public func recover(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try BillingRetry.repair(original, $0) }
    }

    // MARK: What the developer does

    /// Raises the price that one subscription renews at.
    ///
    /// - Parameters:
    ///   - needsConsent: nil: by Apple's thresholds (facts/business-rules §8.4).
    ///   - effective: renewals from then on cost it; nil: the next one.
    public func raisePrice(
        of original: Int64, to price: Money, needsConsent: Bool? = nil, effective: Instant? = nil
    ) async throws -> Result<StoreSubscription, StoreRefusal> {
        let wish = PriceIncrease.Wish(price: price, needsConsent: needsConsent, effective: effective)
        return try await change { try PriceIncrease.raise(original, wish, $0) }
    }

    /// Moves a subscription's renewal date by 1 to 90 days (facts/server-api §4.4).
    public func extendSubscription(
        _ original: Int64, days: Int64
    ) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { turn in
            switch try SubscriptionLife.extend(original, days: days, turn) {
            case .failure(let refusal): return .failure(.notExtended(String(original), refusal))
            case .success: return try SubscriptionLife.changeable(original, turn)
            }
        }
    }
}
