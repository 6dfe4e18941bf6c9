import TillBilling

/// One purchase in a receipt (facts/pkcs7-receipt §3.2). Instants are of whole seconds, and nil also where the record
/// has an empty text.
public struct ReceiptPurchase: Equatable, Sendable {
    /// Every attribute in the order of the record: known, unknown, repeated.
    public let attributes: [ReceiptAttribute]

    /// Type 1701.
    public internal(set) var quantity: Int64?
    /// Type 1702.
    public internal(set) var productID: String?
    /// Type 1703; `0` from Xcode.
    public internal(set) var transactionID: String?
    /// Type 1704; of a renewal, its own date.
    public internal(set) var purchaseDate: Instant?
    /// Type 1705; absent from Xcode.
    public internal(set) var originalTransactionID: String?
    /// Type 1706.
    public internal(set) var originalPurchaseDate: Instant?
    /// Type 1707; `ProductType.init(receiptNumber:)` says what it means.
    public internal(set) var productType: Int64?
    /// Type 1708.
    public internal(set) var expiresDate: Instant?
    /// Type 1709, of unknown meaning; always empty.
    public internal(set) var text1709: String?
    /// Type 1710: the product's number in the App Store, as far as anybody can tell; 0 in the sandbox.
    public internal(set) var productAppleID: Int64?
    /// Type 1711.
    public internal(set) var webOrderLineItemID: Int64?
    /// Type 1712: the purchase counts as never made.
    public internal(set) var cancellationDate: Instant?
    /// Type 1713: 1 for yes.
    public internal(set) var isTrialPeriod: Int64?
    /// Types 1714 to 1718, of unknown meaning; always empty.
    public internal(set) var texts1714To1718: [Int64: String] = [:]
    /// Type 1719: 1 for yes.
    public internal(set) var isInIntroductoryOfferPeriod: Int64?
    /// Type 1721; only when one was used.
    public internal(set) var promotionalOfferID: String?
    /// Type 1722, of unknown meaning; 0 in newer receipts.
    public internal(set) var number1722: Int64?

    /// Every type that occurs, known or not.
    public var attributeTypes: Set<Int64> { Set(attributes.map(\.type)) }

    /// What is decided on: with two of one, the reader would choose which counts.
    private static let onlyOnce: Set<Int64> = [
        1701, 1702, 1703, 1704, 1705, 1706, 1707, 1708, 1711, 1712, 1713, 1719, 1721,
    ]

    init(_ set: ArraySlice<UInt8>) throws(ASN1Reader.Malformation) {
        attributes = try ReceiptAttribute.all(in: set)
        try ReceiptAttribute.refuseRepeated(Self.onlyOnce, in: attributes)
        for attribute in attributes {
            try take(attribute)
            takeUndocumented(attribute)
        }
    }

    /// The record as DER: the attributes in the order they had.
    public func encoded() -> [UInt8] { ReceiptAttribute.set(attributes) }

    private mutating func take(_ attribute: ReceiptAttribute) throws(ASN1Reader.Malformation) {
        switch attribute.type {
        case 1701: quantity = try attribute.integer()
        case 1702: productID = try attribute.text()
        case 1703: transactionID = try attribute.text()
        case 1704: purchaseDate = try attribute.date()
        case 1705: originalTransactionID = try attribute.text()
        case 1706: originalPurchaseDate = try attribute.date()
        case 1707: productType = try attribute.integer()
        case 1708: expiresDate = try attribute.date()
        case 1711: webOrderLineItemID = try attribute.integer()
        case 1712: cancellationDate = try attribute.date()
        case 1713: isTrialPeriod = try attribute.integer()
        case 1719: isInIntroductoryOfferPeriod = try attribute.integer()
        case 1721: promotionalOfferID = try attribute.text()
        default: break
        }
    }

    /// On these nothing is decided: what cannot be read is as if absent.
    private mutating func takeUndocumented(_ attribute: ReceiptAttribute) {
        switch attribute.type {
        case 1709: text1709 = try? attribute.text()
        case 1710: productAppleID = try? attribute.integer()
        case 1714...1718: texts1714To1718[attribute.type] = try? attribute.text()
        case 1722: number1722 = try? attribute.integer()
        default: break
        }
    }
}
