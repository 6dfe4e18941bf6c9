import TillBilling
import TillJSON

/// One subscription in `pending_renewal_info` (facts/verify-receipt §7): what its next renewal will be.
public struct AnsweredRenewal: Sendable, Equatable {
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

    init(_ object: [String: JSONValue]) throws(UnusableAnswer) {
        var members = AnswerMembers(object)
        productID = try members.text("product_id")
        originalTransactionID = try members.text("original_transaction_id")
        autoRenewProductID = try members.text("auto_renew_product_id")
        autoRenewStatus = try members.number("auto_renew_status").map { AutoRenewStatus(rawValue: Int($0)) }
        expirationIntent = try members.number("expiration_intent").map { ExpirationIntent(rawValue: Int($0)) }
        isInBillingRetryPeriod = try members.truth("is_in_billing_retry_period")
        gracePeriodExpiresDate = try members.instant("grace_period_expires_date")
        priceConsentStatus = try members.truth("price_consent_status")
        priceIncreaseStatus = try members.number("price_increase_status").map { PriceIncreaseStatus(rawValue: Int($0)) }
        offerCodeReferenceName = try members.text("offer_code_ref_name")
        promotionalOfferID = try members.text("promotional_offer_id")
        other = members.rest
    }

    var json: JSONValue {
        var members = other
        members.putText("product_id", productID)
        members.putText("original_transaction_id", originalTransactionID)
        members.putText("auto_renew_product_id", autoRenewProductID)
        members.putText("auto_renew_status", autoRenewStatus.map { Int64($0.rawValue) })
        members.putText("expiration_intent", expirationIntent.map { Int64($0.rawValue) })
        members.putDigit("is_in_billing_retry_period", isInBillingRetryPeriod)
        members.putInstant("grace_period_expires_date", gracePeriodExpiresDate)
        members.putDigit("price_consent_status", priceConsentStatus)
        members.putText("price_increase_status", priceIncreaseStatus.map { Int64($0.rawValue) })
        members.putText("offer_code_ref_name", offerCodeReferenceName)
        members.putText("promotional_offer_id", promotionalOfferID)
        return .object(members)
    }
}
