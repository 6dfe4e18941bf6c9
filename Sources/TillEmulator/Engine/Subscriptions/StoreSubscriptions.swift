import TillBilling
import TillSQL

extension Store {
    public func subscription(_ original: Int64) async throws -> StoreSubscription? {
        try await ask { connection in try SubscriptionTable.find(original, connection) }
    }

    /// Subscriptions ordered by original transaction, starting after `after`. Nil: every account, every app.
    public func subscriptions(
        account: String? = nil, bundleID: String? = nil, after: Int64 = 0, limit: Int
    ) async throws -> [StoreSubscription] {
        try await ask { connection in
            try SubscriptionTable.page(account: account, bundleID: bundleID, after: after, limit: limit, connection)
        }
    }

    // MARK: Customer actions

    public func cancelSubscription(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try PlanChoice.cancel(original, $0) }
    }

    public func resumeSubscription(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try PlanChoice.resume(original, $0) }
    }

    /// Upgrades, downgrades or crossgrades to another product of the group, or returns to the current one.
    public func changePlan(
        _ original: Int64, to productID: ProductID
    ) async throws -> Result<PurchaseResult, StoreRefusal> {
        try await change { change in
            let subscription: StoreSubscription
            switch try SubscriptionLifecycle.changeable(original, change) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let found): subscription = found
            }
            // A product of another group would start another subscription.
            let product = try ProductTable.find(productID, change.connection)
            if let product, product.subscription?.groupID != subscription.groupID {
                return .failure(.otherGroup(product: productID.text, String(original)))
            }
            var request = PurchaseRequest(bundleID: subscription.bundleID, productID: productID)
            request.account = subscription.account
            // The change is made in the subscription settings, without a payment sheet.
            request.outcome = .purchased
            request.storefront = try SubscriptionLifecycle.current(of: subscription, change).storefront
            request.appAccountToken = subscription.appAccountToken
            // A monthly plan is kept if the product has one.
            request.monthlyBilling = subscription.monthlyBilling && product?.subscription?.hasBothPlans == true
            return try PaymentSheet.pay(request, change)
        }
    }

    /// Answers a price increase that needs consent.
    public func answerPriceIncrease(
        _ original: Int64, accepts: Bool
    ) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try PriceIncrease.answer(original, accepts: accepts, $0) }
    }

    // MARK: Billing

    /// Makes charges for this subscription fail, until `recover`.
    public func failBilling(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try BillingRetry.breakBilling(original, $0) }
    }

    /// Makes the payment method work again, and charges an overdue period at once.
    public func recover(_ original: Int64) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { try BillingRetry.repair(original, $0) }
    }

    // MARK: Developer actions

    /// Raises the renewal price of one subscription.
    ///
    /// - Parameters:
    ///   - needsConsent: nil: by Apple's thresholds (facts/business-rules §8.4).
    ///   - effective: the increase applies to renewals from then on; nil: from the next one on.
    public func raisePrice(
        of original: Int64, to price: Money, needsConsent: Bool? = nil, effective: Instant? = nil
    ) async throws -> Result<StoreSubscription, StoreRefusal> {
        let request = PriceIncrease.IncreaseRequest(price: price, needsConsent: needsConsent, effective: effective)
        return try await change { try PriceIncrease.raise(original, request, $0) }
    }

    /// Extends a subscription's renewal date by 1 to 90 days (facts/server-api §4.4).
    public func extendSubscription(
        _ original: Int64, days: Int64
    ) async throws -> Result<StoreSubscription, StoreRefusal> {
        try await change { change in
            switch try SubscriptionLifecycle.extend(original, days: days, change) {
            case .failure(let refusal): return .failure(.notExtended(String(original), refusal))
            case .success: return try SubscriptionLifecycle.changeable(original, change)
            }
        }
    }
}

/// Refusals of changes to a subscription.
extension StoreRefusal {
    static func noMonthlyBilling(product: String) -> StoreRefusal {
        StoreRefusal(
            "no_monthly_billing", status: 422,
            "\(product) can't be paid monthly. Only yearly subscriptions with \"monthlyBilling\": true can.",
            "\(product) 不能按月付款：只有设置了 “monthlyBilling”: true 的年度订阅可以。")
    }

    static func noOfferByTheMonth(product: String) -> StoreRefusal {
        StoreRefusal(
            "no_offer_by_the_month", status: 422,
            "\(product) has no offers when it is paid monthly. Leave out the offer.",
            "\(product) 按月付款时没有优惠，请去掉 offer。")
    }

    /// SKError 18, `ineligibleForOffer`.
    static func codeNotForCustomer(_ code: String) -> StoreRefusal {
        StoreRefusal(
            "code_not_for_customer", status: 409,
            "The offer code \(code) is limited to other customers (new, existing or expired subscribers).",
            "优惠代码 \(code) 不适用于该客户：该优惠限定了新订阅者、现有订阅者或过期订阅者。")
    }

    /// SKError 18 as well.
    static func notEligible(offer: String) -> StoreRefusal {
        StoreRefusal(
            "not_eligible", status: 409,
            "The account can't use the offer \(offer): promotional offers are for current and former subscribers, "
                + "win-back offers for former ones.",
            "该账户不符合优惠 \(offer) 的条件：促销优惠仅面向现有和过去的订阅者，赢回优惠仅面向过去的订阅者。")
    }

    static func subscribedMeanwhile(product: String) -> StoreRefusal {
        StoreRefusal(
            "subscribed_meanwhile", status: 409,
            "The account already subscribes to \(product), so the purchase request is closed.",
            "该账户已订阅 \(product)，购买请求已关闭。")
    }

    static func subscriptionEnded(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "subscription_ended", status: 409, "Subscription \(id) has ended. Subscribe again.",
            "订阅 \(id) 已结束，请重新订阅。")
    }

    static func sharedSubscription(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "shared_subscription", status: 409,
            "Subscription \(id) is shared by a family member. Only the payer can change it.",
            "订阅 \(id) 由家人共享，只有付款人可以更改。")
    }

    static func nothingToRecover(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "nothing_to_recover", status: 409, "No charge of subscription \(id) has failed.", "订阅 \(id) 没有扣款失败。")
    }

    static func notAnIncrease(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_an_increase", status: 422,
            "The price must be higher than the one that subscription \(id) renews at, in the same currency.",
            "新价格必须高于订阅 \(id) 当前的续订价格，且币种相同。")
    }

    static func noConsentAsked(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "no_consent_asked", status: 409,
            "Subscription \(id) has no price increase that waits for consent.", "订阅 \(id) 没有待同意的涨价。")
    }

    static func otherGroup(product: String, _ id: String) -> StoreRefusal {
        StoreRefusal(
            "other_group", status: 422, "\(product) is not in the group of subscription \(id).",
            "\(product) 与订阅 \(id) 不在同一订阅组。")
    }

    static func notExtended(_ id: String, _ refusal: RenewalDateExtension.Refusal) -> StoreRefusal {
        switch refusal {
        case .unknown: unknownSubscription(id)
        case .familyShared: sharedSubscription(id)
        case .tooMany:
            StoreRefusal(
                "too_many_extensions", status: 409,
                "Subscription \(id) has already been extended twice within 365 days.",
                "订阅 \(id) 在 365 天内已延期两次。")
        case .ineligible:
            StoreRefusal(
                "not_extendable", status: 409,
                "Subscription \(id) is not active, was never paid for, or is in a free offer.",
                "订阅 \(id) 未生效、从未付费或处于免费期，不能延期。")
        }
    }
}
