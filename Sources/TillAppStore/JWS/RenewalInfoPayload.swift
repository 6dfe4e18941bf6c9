import TillBilling
import TillJSON

/// JWSRenewalInfoDecodedPayload (facts/jws §5): what the next renewal of a subscription will be. It names no app;
/// it belongs to the transaction it comes with.
public struct RenewalInfoPayload: Equatable, Sendable, WrittenPayload {
    let source: JSONObject?
    public let originalTransactionID: String?
    public let productID: String?
    /// What renews next.
    public let autoRenewProductID: String?
    public let autoRenewStatus: AutoRenewStatus?
    public let expirationIntent: ExpirationIntent?
    public let isInBillingRetryPeriod: Bool?
    public let gracePeriodExpiresDate: Instant?
    public let priceIncreaseStatus: PriceIncreaseStatus?
    /// Of the next period.
    public let offer: TransactionPayload.Offer?
    /// Expiry of the newest purchase; may be past.
    public let renewalDate: Instant?
    /// Thousandths of the currency's unit, offer included.
    public let renewalPriceMilliunits: Int64?
    public let currency: String?
    public let recentSubscriptionStartDate: Instant?
    /// Best first.
    public let eligibleWinBackOfferIDs: [String]?
    /// For the next renewal, as it was written.
    public let appAccountToken: String?
    public let appTransactionID: String?
    public let environment: String?
    public let signedDate: Instant?
    public let advancedCommerce: AdvancedCommerceRenewal?
    public let renewalBillingPlanType: BillingPlanType?
    public let commitment: Commitment?

    public struct Commitment: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let autoRenewProductID: String?
        public let autoRenewStatus: AutoRenewStatus?
        public let renewalBillingPlanType: BillingPlanType?
        public let renewalDate: Instant?
        public let renewalPriceMilliunits: Int64?

        init(_ json: JSONObject) throws(JSONError) {
            source = json
            autoRenewProductID = try json.string("commitmentAutoRenewProductId")
            autoRenewStatus = try json.int("commitmentAutoRenewStatus").map(AutoRenewStatus.init(rawValue:))
            renewalBillingPlanType = try json.string("commitmentRenewalBillingPlanType")
                .map(BillingPlanType.init(rawValue:))
            renewalDate = try json.instant("commitmentRenewalDate")
            renewalPriceMilliunits = try json.int64("commitmentRenewalPrice")
        }

        var members: JSONMembers {
            var members = JSONMembers()
            members.add("commitmentAutoRenewProductId", autoRenewProductID)
            members.add("commitmentAutoRenewStatus", autoRenewStatus)
            members.add("commitmentRenewalBillingPlanType", renewalBillingPlanType)
            members.add("commitmentRenewalDate", renewalDate)
            members.add("commitmentRenewalPrice", renewalPriceMilliunits)
            return members
        }
    }

    /// Reads a payload that proves nothing.
    ///
    /// - Parameter text: one JSON object in UTF-8, at most 64 levels deep.
    public init(decoding text: some Collection<UInt8>) throws(JSONError) { try self.init(JSONObject(Array(text))) }

    /// The payload as JSON, with every member it was read from; see `encoded()` for what a `JSONValue` cannot hold.
    public var json: JSONValue { writtenValue }
    /// The payload as JSON text, with every member it was read from, known here or not, as it was written.
    public func encoded() -> [UInt8] { writtenText }

    init(_ json: JSONObject) throws(JSONError) {
        source = json
        originalTransactionID = try json.string("originalTransactionId")
        productID = try json.string("productId")
        autoRenewProductID = try json.string("autoRenewProductId")
        autoRenewStatus = try json.int("autoRenewStatus").map(AutoRenewStatus.init(rawValue:))
        expirationIntent = try json.int("expirationIntent").map(ExpirationIntent.init(rawValue:))
        isInBillingRetryPeriod = try json.bool("isInBillingRetryPeriod")
        gracePeriodExpiresDate = try json.instant("gracePeriodExpiresDate")
        priceIncreaseStatus = try json.int("priceIncreaseStatus").map(PriceIncreaseStatus.init(rawValue:))
        offer = try TransactionPayload.Offer(json)
        renewalDate = try json.instant("renewalDate")
        renewalPriceMilliunits = try json.int64("renewalPrice")
        currency = try json.string("currency")
        recentSubscriptionStartDate = try json.instant("recentSubscriptionStartDate")
        eligibleWinBackOfferIDs = try json.strings("eligibleWinBackOfferIds")
        appAccountToken = try json.string("appAccountToken")
        appTransactionID = try json.string("appTransactionId")
        environment = try json.string("environment")
        signedDate = try json.instant("signedDate")
        advancedCommerce = try json.object("advancedCommerceInfo").map(AdvancedCommerceRenewal.init)
        renewalBillingPlanType = try json.string("renewalBillingPlanType").map(BillingPlanType.init(rawValue:))
        commitment = try json.object("commitmentInfo").map(Commitment.init)
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("originalTransactionId", originalTransactionID)
        members.add("productId", productID)
        members.add("autoRenewProductId", autoRenewProductID)
        members.add("autoRenewStatus", autoRenewStatus)
        members.add("expirationIntent", expirationIntent)
        members.add("isInBillingRetryPeriod", isInBillingRetryPeriod)
        members.add("gracePeriodExpiresDate", gracePeriodExpiresDate)
        members.add("priceIncreaseStatus", priceIncreaseStatus)
        TransactionPayload.Offer.add(offer, to: &members)
        members.add("renewalDate", renewalDate)
        members.add("renewalPrice", renewalPriceMilliunits)
        members.add("currency", currency)
        members.add("recentSubscriptionStartDate", recentSubscriptionStartDate)
        members.add("eligibleWinBackOfferIds", eligibleWinBackOfferIDs)
        members.add("appAccountToken", appAccountToken)
        members.add("appTransactionId", appTransactionID)
        members.add("environment", environment)
        members.add("signedDate", signedDate)
        members.add("advancedCommerceInfo", advancedCommerce)
        members.add("renewalBillingPlanType", renewalBillingPlanType)
        members.add("commitmentInfo", commitment)
        return members
    }
}
