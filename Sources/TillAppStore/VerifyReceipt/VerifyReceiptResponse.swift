import TillBilling
import TillJSON

/// The complete response of verifyReceipt (facts/verify-receipt §4 to §7, §9). All reading and writing of its JSON is
/// here; the server's own `POST /verifyReceipt` uses it too.
///
/// Values that Apple may add (receipt types, reasons, whole members) survive reading and writing. Writing always
/// produces Apple's usual form: text for nearly all values, and three forms of each moment.
public struct VerifyReceiptResponse: Sendable, Equatable {
    public var status: VerifyReceiptStatus
    /// The environment's name in the response; absent in most failures and for old-style receipts.
    public var environment: String?
    /// Meaningful for the statuses 21100 to 21199.
    public var isRetryable: Bool?
    /// For an app receipt.
    public var receipt: ResponseReceipt?
    /// The newest receipt in base64; only for receipts with auto-renewable subscriptions.
    public var latestReceipt: String?
    public var latestReceiptInfo: [ResponsePurchase]?
    public var pendingRenewalInfo: [ResponseRenewal]?
    /// For an old-style receipt.
    public var legacy: LegacyResponse?
    /// Members that this version does not know.
    public var other: [String: JSONValue] = [:]

    public init(status: VerifyReceiptStatus) { self.status = status }

    /// Why a body is not a verifyReceipt response.
    public enum FormatError: Error, Sendable, Equatable {
        case empty
        /// Not JSON, for example an HTML page.
        case notJSON
        /// JSON, but this member is missing or has a wrong type.
        case member(String)
    }

    /// - Parameter bytes: the body of an HTTP response; the caller limits its length.
    public init(decoding bytes: [UInt8]) throws(FormatError) {
        guard bytes.contains(where: { !ProofText.isBlank($0) }) else { throw .empty }
        guard let value = try? JSONValue(decoding: bytes) else { throw .notJSON }
        guard let object = value.object else { throw .member("") }
        try self.init(ResponseMembers(object))
    }

    private init(_ given: ResponseMembers) throws(FormatError) {
        var members = given
        // `true` and "" are not accepted: a status must be a number.
        guard case .int? = members.rest["status"].map({ Self.whole($0) }),
            let status = try members.number("status")
        else { throw .member("status") }
        self.status = VerifyReceiptStatus(rawValue: status)
        try visitCommon(&members)
        // Existing clients read the one spelling, the documentation names the other.
        let hyphened = try members.truth("is-retryable")
        let underscored = try members.truth("is_retryable")
        isRetryable = hyphened ?? underscored
        legacy = try LegacyResponse(&members)
        if legacy == nil {
            try visitUnified(&members)
        }
        other = members.rest
        guard self.status.treatment != .genuine || receipt != nil || legacy != nil else {
            throw .member("receipt")
        }
    }

    /// Converts a text of digits to its number.
    private static func whole(_ value: JSONValue) -> JSONValue {
        value.string.flatMap { Int64($0) }.map { .int($0) } ?? value
    }

    private mutating func visitCommon<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.text("environment", &environment)
        try visitor.text("latest_receipt", &latestReceipt)
    }

    /// The members for an app receipt.
    private mutating func visitUnified<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.object("receipt", &receipt)
        try visitor.objects("latest_receipt_info", &latestReceiptInfo)
        try visitor.objects("pending_renewal_info", &pendingRenewalInfo)
    }

    /// The response in Apple's format.
    public var json: JSONValue {
        var (copy, writer) = (self, ResponseWriter(members: other))
        writer.put("status", .int(status.rawValue))
        writer.put("is-retryable", isRetryable.map { .bool($0) })
        copy.visitCommon(&writer)
        copy.visitUnified(&writer)
        copy.legacy?.visitMembers(&writer)
        return .object(writer.members)
    }
}

/// The `receipt` object of an app receipt (facts/verify-receipt §5).
public struct ResponseReceipt: ResponseObject {
    /// `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox`; others survive.
    public var receiptType: String?
    /// The app's number in the App Store; 0 outside production.
    public var adamID: Int64?
    /// Apple repeats the number here.
    public var appItemID: Int64?
    public var bundleID: String?
    public var applicationVersion: String?
    public var originalApplicationVersion: String?
    /// 0 or absent in the sandbox.
    public var downloadID: Int64?
    /// 0 or absent in the sandbox.
    public var versionExternalIdentifier: Int64?
    public var creationDate: Instant?
    /// When Apple answered.
    public var requestDate: Instant?
    /// When the customer first obtained the app.
    public var originalPurchaseDate: Instant?
    public var preorderDate: Instant?
    /// Volume purchases only.
    public var expirationDate: Instant?
    /// Unordered. Finished consumables are missing; an empty list is valid.
    public var inApp: [ResponsePurchase]?
    /// Members that this version does not know.
    public var other: [String: JSONValue] = [:]

    public init() {}

    package mutating func visitMembers<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.text("receipt_type", &receiptType)
        try visitor.number("adam_id", &adamID)
        try visitor.number("app_item_id", &appItemID)
        try visitor.text("bundle_id", &bundleID)
        try visitor.text("application_version", &applicationVersion)
        try visitor.text("original_application_version", &originalApplicationVersion)
        try visitor.number("download_id", &downloadID)
        try visitor.number("version_external_identifier", &versionExternalIdentifier)
        try visitor.instant("receipt_creation_date", &creationDate)
        try visitor.instant("request_date", &requestDate)
        try visitor.instant("original_purchase_date", &originalPurchaseDate)
        try visitor.instant("preorder_date", &preorderDate)
        try visitor.instant("expiration_date", &expirationDate)
        try visitor.objects("in_app", &inApp)
    }
}

/// One transaction in `in_app` or `latest_receipt_info` (facts/verify-receipt §6).
public struct ResponsePurchase: ResponseObject {
    public var quantity: Int64?
    public var productID: String?
    public var transactionID: String?
    /// The first transaction of the chain; equals `transactionID` for a first purchase.
    public var originalTransactionID: String?
    public var purchaseDate: Instant?
    public var originalPurchaseDate: Instant?
    /// Subscriptions only.
    public var expiresDate: Instant?
    public var isTrialPeriod: Bool?
    public var isInIntroOfferPeriod: Bool?
    public var webOrderLineItemID: String?
    /// When Apple refunded or revoked the purchase; nil while it is valid.
    public var cancellationDate: Instant?
    public var cancellationReason: RevocationReason?
    public var promotionalOfferID: String?
    public var offerCodeReferenceName: String?
    /// Replaced by an upgrade.
    public var isUpgraded: Bool?
    public var subscriptionGroupID: String?
    public var ownership: Ownership?
    /// The text in the response; a UUID if StoreKit set it.
    public var appAccountToken: String?
    /// Members that this version does not know.
    public var other: [String: JSONValue] = [:]

    public init() {}

    package mutating func visitMembers<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure) {
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

/// One subscription in `pending_renewal_info` (facts/verify-receipt §7), with its next renewal.
public struct ResponseRenewal: ResponseObject {
    public var productID: String?
    public var originalTransactionID: String?
    /// The product that renews next.
    public var autoRenewProductID: String?
    public var autoRenewStatus: AutoRenewStatus?
    /// Only after expiry.
    public var expirationIntent: ExpirationIntent?
    public var isInBillingRetryPeriod: Bool?
    /// Only during a grace period.
    public var gracePeriodExpiresDate: Instant?
    /// Whether the customer consented to a price increase; only if consent was requested.
    public var priceConsentStatus: Bool?
    public var priceIncreaseStatus: PriceIncreaseStatus?
    public var offerCodeReferenceName: String?
    public var promotionalOfferID: String?
    /// Members that this version does not know.
    public var other: [String: JSONValue] = [:]

    public init() {}

    package mutating func visitMembers<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure) {
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

/// The response for an old-style transaction receipt: one purchase, and beside it the state of its subscription
/// (facts/verify-receipt §9).
public struct LegacyResponse: Sendable, Equatable {
    public var receipt: LegacyPurchase?
    /// The newest transaction of an active subscription.
    public var latest: LegacyPurchase?
    /// The last transaction of an expired subscription (status 21006).
    public var latestExpired: LegacyPurchase?
    public var autoRenewStatus: AutoRenewStatus?
    public var autoRenewProductID: String?
    public var expirationIntent: ExpirationIntent?
    public var isInBillingRetryPeriod: Bool?
    public var cancellationReason: RevocationReason?

    public init() {}

    /// Takes its members out of the response's; nil if the receipt is not an old-style one.
    init?(_ members: inout ResponseMembers) throws(VerifyReceiptResponse.FormatError) {
        guard let receipt = members.rest["receipt"]?.object, LegacyPurchase.isOne(receipt) else { return nil }
        try visitMembers(&members)
    }

    mutating func visitMembers<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure) {
        try visitor.object("receipt", &receipt)
        try visitor.object("latest_receipt_info", &latest)
        try visitor.object("latest_expired_receipt_info", &latestExpired)
        // A number here, but text in the response for an app receipt.
        try visitor.number("auto_renew_status", &autoRenewStatus)
        try visitor.text("auto_renew_product_id", &autoRenewProductID)
        try visitor.digits("expiration_intent", &expirationIntent)
        try visitor.digit("is_in_billing_retry_period", &isInBillingRetryPeriod)
        try visitor.digits("cancellation_reason", &cancellationReason)
    }
}

/// One purchase in the response for an old-style receipt.
public struct LegacyPurchase: ResponseObject {
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
    /// The device's former UDID: 40 hexadecimal digits.
    public var uniqueIdentifier: String?
    public var uniqueVendorIdentifier: String?
    /// Members that this version does not know.
    public var other: [String: JSONValue] = [:]

    public init() {}

    /// Distinguishes an old-style receipt from an app receipt by the members that only one of them has.
    static func isOne(_ receipt: [String: JSONValue]) -> Bool {
        receipt["bid"] != nil
            || (receipt["transaction_id"] != nil && receipt["in_app"] == nil && receipt["bundle_id"] == nil)
    }

    package mutating func visitMembers<V: ResponseVisitor>(_ visitor: inout V) throws(V.Failure) {
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
