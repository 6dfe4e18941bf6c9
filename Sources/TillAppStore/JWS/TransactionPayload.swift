import TillBilling
import TillJSON

/// JWSTransactionDecodedPayload (facts/jws §4). Every field may be absent; unknown members are kept and written again.
///
/// A payload by itself proves nothing; a `VerifiedTransaction` contains a verified one.
public struct TransactionPayload: JSONPayload {
    package var source: JSONObject?

    public var transactionID: String?
    public var originalTransactionID: String?
    public var webOrderLineItemID: String?
    public var bundleID: String?
    public var productID: String?
    public var subscriptionGroupID: String?
    public var purchaseDate: Instant?
    public var originalPurchaseDate: Instant?
    public var expiresDate: Instant?
    public var quantity: Int?
    /// The type's name in the payload; Apple may add types.
    public var typeText: String?
    /// The text in the payload; Apple documents a UUID.
    public var appAccountToken: String?
    public var ownership: Ownership?
    public var signedDate: Instant?
    public var revocationDate: Instant?
    public var revocationReason: RevocationReason?
    public var revocationType: RevocationType?
    /// Thousandths of a percent: 100 % is 100000.
    public var revocationPercentage: Int?
    public var isUpgraded: Bool?
    public var offer: Offer?
    /// The environment's name in the payload: `Sandbox`, `Production`, or that of a local test.
    public var environment: String?
    /// ISO 3166-1 alpha-3.
    public var storefront: String?
    public var storefrontID: String?
    public var transactionReason: TransactionReason?
    /// Thousandths of the currency's unit: the total for the quantity after discounts.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    public var appTransactionID: String?
    public var advancedCommerce: AdvancedCommerceTransaction?
    public var billingPlanType: BillingPlanType?
    public var commitment: Commitment?
    public var previousOriginalTransactionID: String?
    public var device = DeviceProofPayload()

    package init() {}

    /// The offer behind a price. Apple writes its fields beside the others, not in an object.
    public struct Offer: Equatable, Sendable {
        public var type: OfferType?
        /// Absent for introductory offers.
        public var identifier: String?
        public var discountType: OfferDiscountType?
        /// The ISO 8601 duration of the whole offer: `P1M`.
        public var period: String?

        package init() {}

        init(promotionalIdentifier: String) {
            type = .promotional
            identifier = promotionalIdentifier
        }

        static func visitMembers<V: MemberVisitor>(of offer: inout Offer?, _ visitor: inout V) throws(V.Failure) {
            var flat = offer ?? Offer()
            try visitor.visit("offerType", &flat.type)
            try visitor.visit("offerIdentifier", &flat.identifier)
            try visitor.visit("offerDiscountType", &flat.discountType)
            try visitor.visit("offerPeriod", &flat.period)
            offer = flat == Offer() ? nil : flat
        }
    }

    /// The state of a monthly plan with a twelve-month commitment.
    public struct Commitment: JSONPayload {
        package var source: JSONObject?
        public var billingPeriodNumber: Int?
        public var expiresDate: Instant?
        public var priceMilliunits: Int64?
        public var totalBillingPeriods: Int?

        package init() {}

        package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
            try visitor.visit("billingPeriodNumber", &billingPeriodNumber)
            try visitor.visit("commitmentExpiresDate", &expiresDate)
            try visitor.visit("commitmentPrice", &priceMilliunits)
            try visitor.visit("totalBillingPeriods", &totalBillingPeriods)
        }
    }

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("transactionId", &transactionID)
        try visitor.visit("originalTransactionId", &originalTransactionID)
        try visitor.visit("webOrderLineItemId", &webOrderLineItemID)
        try visitor.visit("bundleId", &bundleID)
        try visitor.visit("productId", &productID)
        try visitor.visit("subscriptionGroupIdentifier", &subscriptionGroupID)
        try visitor.visit("purchaseDate", &purchaseDate)
        try visitor.visit("originalPurchaseDate", &originalPurchaseDate)
        try visitor.visit("expiresDate", &expiresDate)
        try visitor.visit("quantity", &quantity)
        try visitor.visit("type", &typeText)
        try visitor.visit("appAccountToken", &appAccountToken)
        try visitor.visit("inAppOwnershipType", &ownership)
        try visitor.visit("signedDate", &signedDate)
        try visitor.visit("revocationDate", &revocationDate)
        try visitor.visit("revocationReason", &revocationReason)
        try visitor.visit("revocationType", &revocationType)
        try visitor.visit("revocationPercentage", &revocationPercentage)
        try visitor.visit("isUpgraded", &isUpgraded)
        try TransactionPayload.Offer.visitMembers(of: &offer, &visitor)
        try visitor.visit("environment", &environment)
        try visitor.visit("storefront", &storefront)
        try visitor.visit("storefrontId", &storefrontID)
        try visitor.visit("transactionReason", &transactionReason)
        try visitor.visit("price", &priceMilliunits)
        try visitor.visit("currency", &currency)
        try visitor.visit("appTransactionId", &appTransactionID)
        try visitor.visit("advancedCommerceInfo", &advancedCommerce)
        try visitor.visit("billingPlanType", &billingPlanType)
        try visitor.visit("commitmentInfo", &commitment)
        try visitor.visit("previousOriginalTransactionId", &previousOriginalTransactionID)
        try device.visitMembers(&visitor)
    }

    /// Nil for a type that Apple has added since.
    public var type: ProductType? { typeText.flatMap { ProductType(rawValue: $0) } }
}

/// The additional members of a JWS that a device requested (facts/jws §2, last paragraph).
public struct DeviceProofPayload: JSONPayload {
    package var source: JSONObject?
    /// The device's hash as base64.
    public var verification: String?
    public var nonce: String?

    package init() {}

    package mutating func visitMembers<V: MemberVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.visit("deviceVerification", &verification)
        try visitor.visit("deviceVerificationNonce", &nonce)
    }
}
