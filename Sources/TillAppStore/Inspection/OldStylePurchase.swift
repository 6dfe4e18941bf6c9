import TillBilling

/// The signed part of an old-style receipt: one purchase (facts/verify-receipt §9). Every value is text; those that
/// mean something else have it here, nil if they do not read as it. By itself it proves nothing.
public struct OldStylePurchase: Equatable, Sendable {
    let text: PropertyText

    /// Reads the decoded `purchase-info`; nil if it is not UTF-8.
    public init?(_ purchaseInfo: [UInt8]) {
        guard let text = PropertyText(purchaseInfo) else { return nil }
        self.text = text
    }

    /// Every line, known or not, by its key's last value.
    public var lines: [String: String] { text.dictionary }

    /// The purchase as property-list text, with every line it was read from.
    public func encoded() -> [UInt8] { text.encoded }

    public var transactionID: String? { text["transaction-id"] }
    public var originalTransactionID: String? { text["original-transaction-id"] }
    public var productID: String? { text["product-id"] }
    /// `bid`.
    public var bundleID: String? { text["bid"] }
    /// `bvrs`.
    public var bundleVersion: String? { text["bvrs"] }
    public var quantity: Int64? { number("quantity") }
    /// `item-id`: the product's number in the App Store.
    public var itemID: Int64? { number("item-id") }
    /// `app-item-id`: the app's number in the App Store; production only.
    public var appItemID: Int64? { number("app-item-id") }
    /// Production only.
    public var versionExternalIdentifier: Int64? { number("version-external-identifier") }
    /// `purchase-date-ms`; the same date as text for people is in `lines`.
    public var purchaseDate: Instant? { milliseconds("purchase-date-ms") }
    /// `original-purchase-date-ms`; the same date as text for people is in `lines`.
    public var originalPurchaseDate: Instant? { milliseconds("original-purchase-date-ms") }
    /// 40 hexadecimal digits: the device's old UDID.
    public var uniqueIdentifier: String? { text["unique-identifier"] }
    /// A UUID: the device's identifierForVendor.
    public var uniqueVendorIdentifier: String? { text["unique-vendor-identifier"] }

    // Subscriptions only.

    /// `expires-date`, in milliseconds; the same date as text for people is in `lines`.
    public var expiresDate: Instant? { milliseconds("expires-date") }
    public var webOrderLineItemID: String? { text["web-order-line-item-id"] }
    public var isTrialPeriod: Bool? { truth("is-trial-period") }
    public var isInIntroductoryOfferPeriod: Bool? { truth("is-in-intro-offer-period") }

    private func number(_ key: String) -> Int64? { text[key].flatMap { Int64($0) } }
    private func milliseconds(_ key: String) -> Instant? { number(key).map { Instant(milliseconds: $0) } }

    private func truth(_ key: String) -> Bool? {
        switch text[key] {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }
}
