import TillBilling
import TillJSON

/// One subscription in `pending_renewal_info` (facts/verify-receipt §7): what its next renewal will be.
public struct AnsweredRenewal: AnswerObject {
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

    package mutating func visitMembers<V: AnswerVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.text("product_id", &productID)
        try visitor.text("original_transaction_id", &originalTransactionID)
        try visitor.text("auto_renew_product_id", &autoRenewProductID)
        try visitor.digits("auto_renew_status", &autoRenewStatus)
        try visitor.digits("expiration_intent", &expirationIntent)
        try visitor.digit("is_in_billing_retry_period", &isInBillingRetryPeriod)
        try visitor.instant("grace_period_expires_date", &gracePeriodExpiresDate)
        try visitor.digit("price_consent_status", &priceConsentStatus)
        try visitor.digits("price_increase_status", &priceIncreaseStatus)
        try visitor.text("offer_code_ref_name", &offerCodeReferenceName)
        try visitor.text("promotional_offer_id", &promotionalOfferID)
    }
}
