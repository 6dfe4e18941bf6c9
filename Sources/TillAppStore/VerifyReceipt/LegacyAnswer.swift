import TillBilling
import TillJSON

/// What is answered about an old-style transaction receipt: one purchase, flat, and beside it what became of its
/// subscription (facts/verify-receipt §9).
public struct LegacyAnswer: Sendable, Equatable {
    public var receipt: LegacyPurchase?
    /// The newest transaction of a subscription that runs.
    public var latest: LegacyPurchase?
    /// The last transaction of a subscription that has ended (status 21006).
    public var latestExpired: LegacyPurchase?
    public var autoRenewStatus: AutoRenewStatus?
    public var autoRenewProductID: String?
    public var expirationIntent: ExpirationIntent?
    public var isInBillingRetryPeriod: Bool?
    public var cancellationReason: RevocationReason?

    public init() {}

    /// Takes its members out of the answer's; nil if the receipt in it is none of these.
    init?(_ members: inout AnswerMembers) throws(UnusableAnswer) {
        guard let receipt = members.rest["receipt"]?.object, LegacyPurchase.isOne(receipt) else { return nil }
        try visitMembers(&members)
    }

    mutating func visitMembers<V: AnswerVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.object("receipt", &receipt)
        try visitor.object("latest_receipt_info", &latest)
        try visitor.object("latest_expired_receipt_info", &latestExpired)
        // A number here, and text beside a unified receipt.
        try visitor.number("auto_renew_status", &autoRenewStatus)
        try visitor.text("auto_renew_product_id", &autoRenewProductID)
        try visitor.digits("expiration_intent", &expirationIntent)
        try visitor.digit("is_in_billing_retry_period", &isInBillingRetryPeriod)
        try visitor.digits("cancellation_reason", &cancellationReason)
    }
}

/// One purchase as an old-style receipt tells of it.
public struct LegacyPurchase: AnswerObject {
    public var bundleID: String?
    public var bundleVersion: String?
    /// The product's number in the App Store.
    public var itemID: String?
    /// The app's number; production only.
    public var appItemID: String?
    public var versionExternalIdentifier: String?
    public var quantity: Int64?
    public var productID: String?
    public var transactionID: String?
    public var originalTransactionID: String?
    public var purchaseDate: Instant?
    public var originalPurchaseDate: Instant?
    /// Subscriptions only. Written as milliseconds under its plain name.
    public var expiresDate: Instant?
    public var webOrderLineItemID: String?
    public var isTrialPeriod: Bool?
    public var isInIntroOfferPeriod: Bool?
    public var cancellationDate: Instant?
    public var cancellationReason: RevocationReason?
    /// The device of old: 40 hexadecimal digits.
    public var uniqueIdentifier: String?
    public var uniqueVendorIdentifier: String?
    /// Members that no version of this page knew.
    public var other: [String: JSONValue] = [:]

    public init() {}

    /// Told from an app receipt by what only each of them has.
    static func isOne(_ receipt: [String: JSONValue]) -> Bool {
        receipt["bid"] != nil
            || (receipt["transaction_id"] != nil && receipt["in_app"] == nil && receipt["bundle_id"] == nil)
    }

    package mutating func visitMembers<V: AnswerVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.text("bid", &bundleID)
        try visitor.text("bvrs", &bundleVersion)
        try visitor.text("item_id", &itemID)
        try visitor.text("app_item_id", &appItemID)
        try visitor.text("version_external_identifier", &versionExternalIdentifier)
        try visitor.digits("quantity", &quantity)
        try visitor.text("product_id", &productID)
        try visitor.text("transaction_id", &transactionID)
        try visitor.text("original_transaction_id", &originalTransactionID)
        try visitor.instant("purchase_date", &purchaseDate)
        try visitor.instant("original_purchase_date", &originalPurchaseDate)
        try visitor.legacyExpiry(&expiresDate)
        try visitor.text("web_order_line_item_id", &webOrderLineItemID)
        try visitor.truth("is_trial_period", &isTrialPeriod)
        try visitor.truth("is_in_intro_offer_period", &isInIntroOfferPeriod)
        try visitor.instant("cancellation_date", &cancellationDate)
        try visitor.digits("cancellation_reason", &cancellationReason)
        try visitor.text("unique_identifier", &uniqueIdentifier)
        try visitor.text("unique_vendor_identifier", &uniqueVendorIdentifier)
    }
}
