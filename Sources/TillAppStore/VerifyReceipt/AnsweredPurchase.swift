import TillBilling
import TillJSON

/// One transaction in `in_app` or `latest_receipt_info` (facts/verify-receipt §6).
public struct AnsweredPurchase: AnswerObject {
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

    package mutating func visitMembers<V: AnswerVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.digits("quantity", &quantity)
        try visitor.text("product_id", &productID)
        try visitor.text("transaction_id", &transactionID)
        try visitor.text("original_transaction_id", &originalTransactionID)
        try visitor.instant("purchase_date", &purchaseDate)
        try visitor.instant("original_purchase_date", &originalPurchaseDate)
        try visitor.instant("expires_date", &expiresDate)
        try visitor.truth("is_trial_period", &isTrialPeriod)
        try visitor.truth("is_in_intro_offer_period", &isInIntroOfferPeriod)
        try visitor.text("web_order_line_item_id", &webOrderLineItemID)
        try visitor.instant("cancellation_date", &cancellationDate)
        try visitor.digits("cancellation_reason", &cancellationReason)
        try visitor.text("promotional_offer_id", &promotionalOfferID)
        try visitor.text("offer_code_ref_name", &offerCodeReferenceName)
        try visitor.truth("is_upgraded", &isUpgraded)
        try visitor.text("subscription_group_identifier", &subscriptionGroupID)
        try visitor.text("in_app_ownership_type", &ownership)
        try visitor.text("app_account_token", &appAccountToken)
    }
}
