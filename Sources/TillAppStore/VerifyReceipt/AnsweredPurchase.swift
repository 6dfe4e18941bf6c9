import TillBilling
import TillJSON

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
