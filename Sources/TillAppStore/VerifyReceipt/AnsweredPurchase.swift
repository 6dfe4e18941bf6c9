import TillBilling

/// One transaction in `in_app` or `latest_receipt_info` (facts/verify-receipt §6).
public struct AnsweredPurchase: Sendable, Equatable {
    public var quantity: Int64?
    public var productID: String?
    public var transactionID: String?
    /// The chain's first; equals `transactionID` for a first purchase.
    public var originalTransactionID: String?
    public var purchaseDate: Instant?
    public var originalPurchaseDate: Instant?
    /// Subscriptions only.
    public var expiresDate: Instant?
    public var isTrialPeriod: Bool?
    public var isInIntroOfferPeriod: Bool?
    public var webOrderLineItemID: String?
    /// When Apple took the purchase back; nil while it stands.
    public var cancellationDate: Instant?
    public var cancellationReason: RevocationReason?
    public var promotionalOfferID: String?
    public var offerCodeReferenceName: String?
    /// Ended by an upgrade.
    public var isUpgraded: Bool?
    public var subscriptionGroupID: String?
    public var ownership: Ownership?
    /// As it was written; a UUID if it came from StoreKit.
    public var appAccountToken: String?
    /// Members that no version of this page knew.
    public var other: [String: JSONValue] = [:]

    public init() {}

    init(_ object: [String: JSONValue]) throws(UnusableAnswer) {
        var members = AnswerMembers(object)
        quantity = try members.number("quantity")
        productID = try members.text("product_id")
        transactionID = try members.text("transaction_id")
        originalTransactionID = try members.text("original_transaction_id")
        purchaseDate = try members.instant("purchase_date")
        originalPurchaseDate = try members.instant("original_purchase_date")
        expiresDate = try members.instant("expires_date")
        isTrialPeriod = try members.truth("is_trial_period")
        isInIntroOfferPeriod = try members.truth("is_in_intro_offer_period")
        webOrderLineItemID = try members.text("web_order_line_item_id")
        cancellationDate = try members.instant("cancellation_date")
        cancellationReason = try members.number("cancellation_reason").map { RevocationReason(rawValue: Int($0)) }
        promotionalOfferID = try members.text("promotional_offer_id")
        offerCodeReferenceName = try members.text("offer_code_ref_name")
        isUpgraded = try members.truth("is_upgraded")
        subscriptionGroupID = try members.text("subscription_group_identifier")
        ownership = try members.text("in_app_ownership_type").map(Ownership.init(rawValue:))
        appAccountToken = try members.text("app_account_token")
        other = members.rest
    }

    var json: JSONValue {
        var members = other
        members.putText("quantity", quantity)
        members.putText("product_id", productID)
        members.putText("transaction_id", transactionID)
        members.putText("original_transaction_id", originalTransactionID)
        members.putInstant("purchase_date", purchaseDate)
        members.putInstant("original_purchase_date", originalPurchaseDate)
        members.putInstant("expires_date", expiresDate)
        members.putTruth("is_trial_period", isTrialPeriod)
        members.putTruth("is_in_intro_offer_period", isInIntroOfferPeriod)
        members.putText("web_order_line_item_id", webOrderLineItemID)
        members.putInstant("cancellation_date", cancellationDate)
        members.putText("cancellation_reason", cancellationReason.map { Int64($0.rawValue) })
        members.putText("promotional_offer_id", promotionalOfferID)
        members.putText("offer_code_ref_name", offerCodeReferenceName)
        members.putTruth("is_upgraded", isUpgraded)
        members.putText("subscription_group_identifier", subscriptionGroupID)
        members.putText("in_app_ownership_type", ownership?.rawValue)
        members.putText("app_account_token", appAccountToken)
        return .object(members)
    }
}

/// One subscription in `pending_renewal_info` (facts/verify-receipt §7): what its next renewal will be.
public struct AnsweredRenewal: Sendable, Equatable {
    public var productID: String?
    public var originalTransactionID: String?
    /// What renews next.
    public var autoRenewProductID: String?
    public var autoRenewStatus: AutoRenewStatus?
    /// Only once it has expired.
    public var expirationIntent: ExpirationIntent?
    public var isInBillingRetryPeriod: Bool?
    /// Only while a billing error is being forgiven.
    public var gracePeriodExpiresDate: Instant?
    /// Whether the customer agreed to a price increase; only if they were asked.
    public var priceConsentStatus: Bool?
    public var priceIncreaseStatus: PriceIncreaseStatus?
    public var offerCodeReferenceName: String?
    public var promotionalOfferID: String?
    /// Members that no version of this page knew.
    public var other: [String: JSONValue] = [:]

    public init() {}

    init(_ object: [String: JSONValue]) throws(UnusableAnswer) {
        var members = AnswerMembers(object)
        productID = try members.text("product_id")
        originalTransactionID = try members.text("original_transaction_id")
        autoRenewProductID = try members.text("auto_renew_product_id")
        autoRenewStatus = try members.number("auto_renew_status").map { AutoRenewStatus(rawValue: Int($0)) }
        expirationIntent = try members.number("expiration_intent").map { ExpirationIntent(rawValue: Int($0)) }
        isInBillingRetryPeriod = try members.truth("is_in_billing_retry_period")
        gracePeriodExpiresDate = try members.instant("grace_period_expires_date")
        priceConsentStatus = try members.truth("price_consent_status")
        priceIncreaseStatus = try members.number("price_increase_status").map { PriceIncreaseStatus(rawValue: Int($0)) }
        offerCodeReferenceName = try members.text("offer_code_ref_name")
        promotionalOfferID = try members.text("promotional_offer_id")
        other = members.rest
    }

    var json: JSONValue {
        var members = other
        members.putText("product_id", productID)
        members.putText("original_transaction_id", originalTransactionID)
        members.putText("auto_renew_product_id", autoRenewProductID)
        members.putText("auto_renew_status", autoRenewStatus.map { Int64($0.rawValue) })
        members.putText("expiration_intent", expirationIntent.map { Int64($0.rawValue) })
        members.putDigit("is_in_billing_retry_period", isInBillingRetryPeriod)
        members.putInstant("grace_period_expires_date", gracePeriodExpiresDate)
        members.putDigit("price_consent_status", priceConsentStatus)
        members.putText("price_increase_status", priceIncreaseStatus.map { Int64($0.rawValue) })
        members.putText("offer_code_ref_name", offerCodeReferenceName)
        members.putText("promotional_offer_id", promotionalOfferID)
        return .object(members)
    }
}
