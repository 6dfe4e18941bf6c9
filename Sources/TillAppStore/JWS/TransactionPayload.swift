import TillBilling
import TillJSON

/// JWSTransactionDecodedPayload (facts/jws §4): every field may be absent, unknown members are kept
/// and written again.
///
/// A payload by itself proves nothing; `VerifiedTransaction` is the one that was verified.
public struct TransactionPayload: Equatable, Sendable, WrittenPayload {
    private(set) var source: JSONObject?

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
    public var type: ProductType?
    /// As it was written; Apple promises a UUID.
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
    /// As it was written: `Sandbox`, `Production`, or a local test's.
    public var environment: String?
    /// ISO 3166-1 alpha-3.
    public var storefront: String?
    public var storefrontID: String?
    public var transactionReason: TransactionReason?
    /// Thousandths of the currency's unit, total for the quantity after discounts.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    public var appTransactionID: String?
    public var advancedCommerce: AdvancedCommerceTransaction?
    public var billingPlanType: BillingPlanType?
    public var commitment: Commitment?
    public var previousOriginalTransactionID: String?
    /// Base64 of the device's hash; only in a JWS obtained on a device.
    public var deviceVerification: String?
    public var deviceVerificationNonce: String?

    /// The offer a price came from. Apple writes its fields flat, beside the others.
    public struct Offer: Equatable, Sendable {
        public var type: OfferType?
        /// Absent for introductory offers.
        public var identifier: String?
        public var discountType: OfferDiscountType?
        /// ISO 8601 duration of the whole offer: `P1M`.
        public var period: String?

        init?(_ json: JSONObject) throws(JSONError) {
            type = try json.int("offerType").map(OfferType.init(rawValue:))
            identifier = try json.string("offerIdentifier")
            discountType = try json.string("offerDiscountType").map(OfferDiscountType.init(rawValue:))
            period = try json.string("offerPeriod")
            if type == nil, identifier == nil, discountType == nil, period == nil { return nil }
        }

        init(promotionalIdentifier: String) {
            type = .promotional
            identifier = promotionalIdentifier
        }

        static func add(_ offer: Offer?, to members: inout JSONMembers) {
            members.add("offerType", offer?.type)
            members.add("offerIdentifier", offer?.identifier)
            members.add("offerDiscountType", offer?.discountType)
            members.add("offerPeriod", offer?.period)
        }
    }

    /// Where a monthly plan with a twelve-month commitment stands.
    public struct Commitment: Equatable, Sendable, WrittenPayload {
        let source: JSONObject?
        public let billingPeriodNumber: Int?
        public let expiresDate: Instant?
        public let priceMilliunits: Int64?
        public let totalBillingPeriods: Int?

        init(_ json: JSONObject) throws(JSONError) {
            source = json
            billingPeriodNumber = try json.int("billingPeriodNumber")
            expiresDate = try json.instant("commitmentExpiresDate")
            priceMilliunits = try json.int64("commitmentPrice")
            totalBillingPeriods = try json.int("totalBillingPeriods")
        }

        var members: JSONMembers {
            var members = JSONMembers()
            members.add("billingPeriodNumber", billingPeriodNumber)
            members.add("commitmentExpiresDate", expiresDate)
            members.add("commitmentPrice", priceMilliunits)
            members.add("totalBillingPeriods", totalBillingPeriods)
            return members
        }
    }

    /// Nothing known yet; a receipt's record fills in what it has.
    init() {}

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
        transactionID = try json.string("transactionId")
        originalTransactionID = try json.string("originalTransactionId")
        webOrderLineItemID = try json.string("webOrderLineItemId")
        bundleID = try json.string("bundleId")
        productID = try json.string("productId")
        subscriptionGroupID = try json.string("subscriptionGroupIdentifier")
        purchaseDate = try json.instant("purchaseDate")
        originalPurchaseDate = try json.instant("originalPurchaseDate")
        expiresDate = try json.instant("expiresDate")
        quantity = try json.int("quantity")
        type = try json.string("type").map(ProductType.init(rawValue:))
        appAccountToken = try json.string("appAccountToken")
        ownership = try json.string("inAppOwnershipType").map(Ownership.init(rawValue:))
        signedDate = try json.instant("signedDate")
        revocationDate = try json.instant("revocationDate")
        revocationReason = try json.int("revocationReason").map(RevocationReason.init(rawValue:))
        revocationType = try json.string("revocationType").map(RevocationType.init(rawValue:))
        revocationPercentage = try json.int("revocationPercentage")
        isUpgraded = try json.bool("isUpgraded")
        offer = try Offer(json)
        environment = try json.string("environment")
        storefront = try json.string("storefront")
        storefrontID = try json.string("storefrontId")
        transactionReason = try json.string("transactionReason").map(TransactionReason.init(rawValue:))
        priceMilliunits = try json.int64("price")
        currency = try json.string("currency")
        appTransactionID = try json.string("appTransactionId")
        advancedCommerce = try json.object("advancedCommerceInfo").map(AdvancedCommerceTransaction.init)
        billingPlanType = try json.string("billingPlanType").map(BillingPlanType.init(rawValue:))
        commitment = try json.object("commitmentInfo").map(Commitment.init)
        previousOriginalTransactionID = try json.string("previousOriginalTransactionId")
        deviceVerification = try json.string("deviceVerification")
        deviceVerificationNonce = try json.string("deviceVerificationNonce")
    }

    var members: JSONMembers {
        var members = JSONMembers()
        members.add("transactionId", transactionID)
        members.add("originalTransactionId", originalTransactionID)
        members.add("webOrderLineItemId", webOrderLineItemID)
        members.add("bundleId", bundleID)
        members.add("productId", productID)
        members.add("subscriptionGroupIdentifier", subscriptionGroupID)
        members.add("purchaseDate", purchaseDate)
        members.add("originalPurchaseDate", originalPurchaseDate)
        members.add("expiresDate", expiresDate)
        members.add("quantity", quantity)
        members.add("type", type)
        members.add("appAccountToken", appAccountToken)
        members.add("inAppOwnershipType", ownership)
        members.add("signedDate", signedDate)
        members.add("revocationDate", revocationDate)
        members.add("revocationReason", revocationReason)
        members.add("revocationType", revocationType)
        members.add("revocationPercentage", revocationPercentage)
        members.add("isUpgraded", isUpgraded)
        TransactionPayload.Offer.add(offer, to: &members)
        members.add("environment", environment)
        members.add("storefront", storefront)
        members.add("storefrontId", storefrontID)
        members.add("transactionReason", transactionReason)
        members.add("price", priceMilliunits)
        members.add("currency", currency)
        members.add("appTransactionId", appTransactionID)
        members.add("advancedCommerceInfo", advancedCommerce)
        members.add("billingPlanType", billingPlanType)
        members.add("commitmentInfo", commitment)
        members.add("previousOriginalTransactionId", previousOriginalTransactionID)
        members.add("deviceVerification", deviceVerification)
        members.add("deviceVerificationNonce", deviceVerificationNonce)
        return members
    }
}
