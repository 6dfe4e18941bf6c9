import TillBilling
import TillJSON

/// One subscription in `pending_renewal_info`, where everything is text (facts/verify-receipt §7).
enum PendingRenewal {
    static func json(_ subscription: StoreSubscription) -> JSONValue {
        var members: [String: JSONValue] = [
            "product_id": .string(subscription.productID.text),
            "original_transaction_id": .string(String(subscription.original)),
            "auto_renew_product_id": .string(subscription.nextProductID.text),
            "auto_renew_status": subscription.renewsNext ? "1" : "0",
        ]
        members["expiration_intent"] = expirationIntent(of: subscription).map { .string(String($0)) }
        members["is_in_billing_retry_period"] = isInBillingRetry(subscription).map { $0 ? "1" : "0" }
        if subscription.isFailing { members.addDate("grace_period_expires_date", subscription.graceExpires) }
        if let increase = subscription.priceIncrease {
            // Consent that was not asked for has no status; that an increase was announced has one.
            if increase.needsConsent { members["price_consent_status"] = increase.isAccepted ? "1" : "0" }
            members["price_increase_status"] = increase.isAccepted ? "1" : "0"
        }
        let offer = subscription.runningOffer?.offer
        members["promotional_offer_id"] = offer?.identifier(of: .promotional).map { .string($0) }
        members["offer_code_ref_name"] = offer?.identifier(of: .code).map { .string($0) }
        return .object(members)
    }

    /// Only once the service stopped: in its grace period a subscription has not expired.
    static func expirationIntent(of subscription: StoreSubscription) -> Int64? {
        switch subscription.state {
        case .expired, .billingRetry: subscription.expirationIntent
        case .active, .gracePeriod, .revoked: nil
        }
    }

    /// Whether Apple still tries; nil for a subscription whose billing never failed, or works again.
    static func isInBillingRetry(_ subscription: StoreSubscription) -> Bool? {
        if subscription.isFailing { return true }
        return subscription.state == .expired && subscription.expirationIntent == 2 ? false : nil
    }
}
