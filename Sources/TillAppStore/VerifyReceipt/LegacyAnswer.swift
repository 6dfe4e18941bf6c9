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
        self.receipt = try members.object("receipt").map(LegacyPurchase.init)
        latest = try members.object("latest_receipt_info").map(LegacyPurchase.init)
        latestExpired = try members.object("latest_expired_receipt_info").map(LegacyPurchase.init)
        autoRenewStatus = try members.number("auto_renew_status").map { AutoRenewStatus(rawValue: Int($0)) }
        autoRenewProductID = try members.text("auto_renew_product_id")
        expirationIntent = try members.number("expiration_intent").map { ExpirationIntent(rawValue: Int($0)) }
        isInBillingRetryPeriod = try members.truth("is_in_billing_retry_period")
        cancellationReason = try members.number("cancellation_reason").map { RevocationReason(rawValue: Int($0)) }
    }

    func put(into members: inout [String: JSONValue]) {
        if let receipt { members["receipt"] = receipt.json }
        if let latest { members["latest_receipt_info"] = latest.json }
        if let latestExpired { members["latest_expired_receipt_info"] = latestExpired.json }
        // A number here, and text beside a unified receipt.
        members.putNumber("auto_renew_status", autoRenewStatus.map { Int64($0.rawValue) })
        members.putText("auto_renew_product_id", autoRenewProductID)
        members.putText("expiration_intent", expirationIntent.map { Int64($0.rawValue) })
        members.putDigit("is_in_billing_retry_period", isInBillingRetryPeriod)
        members.putText("cancellation_reason", cancellationReason.map { Int64($0.rawValue) })
    }
}

/// One purchase as an old-style receipt tells of it.
public struct LegacyPurchase: Sendable, Equatable {
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

    init(_ object: [String: JSONValue]) throws(UnusableAnswer) {
        var members = AnswerMembers(object)
        bundleID = try members.text("bid")
        bundleVersion = try members.text("bvrs")
        itemID = try members.text("item_id")
        appItemID = try members.text("app_item_id")
        versionExternalIdentifier = try members.text("version_external_identifier")
        quantity = try members.number("quantity")
        productID = try members.text("product_id")
        transactionID = try members.text("transaction_id")
        originalTransactionID = try members.text("original_transaction_id")
        purchaseDate = try members.instant("purchase_date")
        originalPurchaseDate = try members.instant("original_purchase_date")
        let stated = try members.instant("expires_date")
        let formatted = try members.instant(
            milliseconds: "expires_date_formatted_ms", gmt: "expires_date_formatted",
            pacific: "expires_date_formatted_pst")
        expiresDate = stated ?? formatted
        webOrderLineItemID = try members.text("web_order_line_item_id")
        isTrialPeriod = try members.truth("is_trial_period")
        isInIntroOfferPeriod = try members.truth("is_in_intro_offer_period")
        cancellationDate = try members.instant("cancellation_date")
        cancellationReason = try members.number("cancellation_reason").map { RevocationReason(rawValue: Int($0)) }
        uniqueIdentifier = try members.text("unique_identifier")
        uniqueVendorIdentifier = try members.text("unique_vendor_identifier")
        other = members.rest
    }

    var json: JSONValue {
        var members = other
        members.putText("bid", bundleID)
        members.putText("bvrs", bundleVersion)
        members.putText("item_id", itemID)
        members.putText("app_item_id", appItemID)
        members.putText("version_external_identifier", versionExternalIdentifier)
        members.putText("quantity", quantity)
        members.putText("product_id", productID)
        members.putText("transaction_id", transactionID)
        members.putText("original_transaction_id", originalTransactionID)
        members.putInstant("purchase_date", purchaseDate)
        members.putInstant("original_purchase_date", originalPurchaseDate)
        members.putInstant(
            milliseconds: "expires_date", gmt: "expires_date_formatted", pacific: "expires_date_formatted_pst",
            expiresDate)
        members.putText("web_order_line_item_id", webOrderLineItemID)
        members.putTruth("is_trial_period", isTrialPeriod)
        members.putTruth("is_in_intro_offer_period", isInIntroOfferPeriod)
        members.putInstant("cancellation_date", cancellationDate)
        members.putText("cancellation_reason", cancellationReason.map { Int64($0.rawValue) })
        members.putText("unique_identifier", uniqueIdentifier)
        members.putText("unique_vendor_identifier", uniqueVendorIdentifier)
        return .object(members)
    }
}
