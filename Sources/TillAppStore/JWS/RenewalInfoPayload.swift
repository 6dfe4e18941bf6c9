import TillBilling
import TillJSON

/// JWSRenewalInfoDecodedPayload (facts/jws §5): the next renewal of a subscription. It names no app; it belongs to the
/// transaction that it comes with.
public struct RenewalInfoPayload: JSONPayload {
    package var source: JSONObject?
    public var originalTransactionID: String?
    public var productID: String?
    /// The product that renews next.
    public var autoRenewProductID: String?
    public var autoRenewStatus: AutoRenewStatus?
    public var expirationIntent: ExpirationIntent?
    public var isInBillingRetryPeriod: Bool?
    public var gracePeriodExpiresDate: Instant?
    public var priceIncreaseStatus: PriceIncreaseStatus?
    /// The offer of the next period.
    public var offer: TransactionPayload.Offer?
    /// The expiry of the newest purchase; may be in the past.
    public var renewalDate: Instant?
    /// Thousandths of the currency's unit, with the offer applied.
    public var renewalPriceMilliunits: Int64?
    public var currency: String?
    public var recentSubscriptionStartDate: Instant?
    /// Best first.
    public var eligibleWinBackOfferIDs: [String]?
    /// For the next renewal, as written.
    public var appAccountToken: String?
    public var appTransactionID: String?
    public var environment: String?
    public var signedDate: Instant?
    public var advancedCommerce: AdvancedCommerceRenewal?
    public var renewalBillingPlanType: BillingPlanType?
    public var commitment: Commitment?

    package init() {}

    public struct Commitment: JSONPayload {
        package var source: JSONObject?
        public var autoRenewProductID: String?
        public var autoRenewStatus: AutoRenewStatus?
        public var renewalBillingPlanType: BillingPlanType?
        public var renewalDate: Instant?
        public var renewalPriceMilliunits: Int64?

        package init() {}

        package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
            try visitor.visit("commitmentAutoRenewProductId", &autoRenewProductID)
            try visitor.visit("commitmentAutoRenewStatus", &autoRenewStatus)
            try visitor.visit("commitmentRenewalBillingPlanType", &renewalBillingPlanType)
            try visitor.visit("commitmentRenewalDate", &renewalDate)
            try visitor.visit("commitmentRenewalPrice", &renewalPriceMilliunits)
        }
    }

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("originalTransactionId", &originalTransactionID)
        try visitor.visit("productId", &productID)
        try visitor.visit("autoRenewProductId", &autoRenewProductID)
        try visitor.visit("autoRenewStatus", &autoRenewStatus)
        try visitor.visit("expirationIntent", &expirationIntent)
        try visitor.visit("isInBillingRetryPeriod", &isInBillingRetryPeriod)
        try visitor.visit("gracePeriodExpiresDate", &gracePeriodExpiresDate)
        try visitor.visit("priceIncreaseStatus", &priceIncreaseStatus)
        try TransactionPayload.Offer.visitMembers(of: &offer, &visitor)
        try visitor.visit("renewalDate", &renewalDate)
        try visitor.visit("renewalPrice", &renewalPriceMilliunits)
        try visitor.visit("currency", &currency)
        try visitor.visit("recentSubscriptionStartDate", &recentSubscriptionStartDate)
        try visitor.visit("eligibleWinBackOfferIds", &eligibleWinBackOfferIDs)
        try visitor.visit("appAccountToken", &appAccountToken)
        try visitor.visit("appTransactionId", &appTransactionID)
        try visitor.visit("environment", &environment)
        try visitor.visit("signedDate", &signedDate)
        try visitor.visit("advancedCommerceInfo", &advancedCommerce)
        try visitor.visit("renewalBillingPlanType", &renewalBillingPlanType)
        try visitor.visit("commitmentInfo", &commitment)
    }
}
