import TillBilling

/// One purchase in a receipt (facts/pkcs7-receipt §3.2). Instants are of whole seconds, and nil also where the record
/// has an empty text.
public struct ReceiptPurchase: Equatable, Sendable {
    /// The numbers of the attributes; each property says what its own holds.
    package enum Attribute: Int64 {
        case quantity = 1701
        case productID = 1702
        case transactionID = 1703
        case purchaseDate = 1704
        case originalTransactionID = 1705
        case originalPurchaseDate = 1706
        case productType = 1707
        case expiresDate = 1708
        case text1709 = 1709
        case productAppleID = 1710
        case webOrderLineItemID = 1711
        case cancellationDate = 1712
        case isTrialPeriod = 1713
        case isInIntroductoryOfferPeriod = 1719
        case promotionalOfferID = 1721
        case number1722 = 1722
    }

    /// Texts of unknown meaning, which have no names.
    package static let unnamedTexts: ClosedRange<Int64> = 1714...1718

    /// Every attribute in the order of the record: known, unknown, repeated.
    public let attributes: [ReceiptAttribute]

    public internal(set) var quantity: Int64?
    public internal(set) var productID: String?
    /// `0` from Xcode.
    public internal(set) var transactionID: String?
    /// Of a renewal, its own date.
    public internal(set) var purchaseDate: Instant?
    /// Absent from Xcode.
    public internal(set) var originalTransactionID: String?
    public internal(set) var originalPurchaseDate: Instant?
    /// `ProductType.init(receiptNumber:)` says what it means.
    public internal(set) var productType: Int64?
    public internal(set) var expiresDate: Instant?
    /// Of unknown meaning; always empty.
    public internal(set) var text1709: String?
    /// The product's number in the App Store, as far as anybody can tell; 0 in the sandbox.
    public internal(set) var productAppleID: Int64?
    public internal(set) var webOrderLineItemID: Int64?
    /// The purchase counts as never made.
    public internal(set) var cancellationDate: Instant?
    /// 1 for yes.
    public internal(set) var isTrialPeriod: Int64?
    /// Of unknown meaning; always empty.
    public internal(set) var texts1714To1718: [Int64: String] = [:]
    /// 1 for yes.
    public internal(set) var isInIntroductoryOfferPeriod: Int64?
    /// Only when one was used.
    public internal(set) var promotionalOfferID: String?
    /// Of unknown meaning; 0 in newer receipts.
    public internal(set) var number1722: Int64?

    /// Every type that occurs, known or not.
    public var attributeTypes: Set<Int64> { Set(attributes.map(\.type)) }

    /// What is decided on: with two of one, the reader would choose which counts.
    private static let onlyOnce = Set(
        [
            Attribute.quantity, .productID, .transactionID, .purchaseDate, .originalTransactionID,
            .originalPurchaseDate, .productType, .expiresDate, .webOrderLineItemID, .cancellationDate,
            .isTrialPeriod, .isInIntroductoryOfferPeriod, .promotionalOfferID,
        ].map(\.rawValue))

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
        switch Attribute(rawValue: attribute.type) {
        case .quantity: quantity = try attribute.integer()
        case .productID: productID = try attribute.text()
        case .transactionID: transactionID = try attribute.text()
        case .purchaseDate: purchaseDate = try attribute.date()
        case .originalTransactionID: originalTransactionID = try attribute.text()
        case .originalPurchaseDate: originalPurchaseDate = try attribute.date()
        case .productType: productType = try attribute.integer()
        case .expiresDate: expiresDate = try attribute.date()
        case .webOrderLineItemID: webOrderLineItemID = try attribute.integer()
        case .cancellationDate: cancellationDate = try attribute.date()
        case .isTrialPeriod: isTrialPeriod = try attribute.integer()
        case .isInIntroductoryOfferPeriod: isInIntroductoryOfferPeriod = try attribute.integer()
        case .promotionalOfferID: promotionalOfferID = try attribute.text()
        default: break
        }
    }

    /// On these nothing is decided: what cannot be read is as if absent.
    private mutating func takeUndocumented(_ attribute: ReceiptAttribute) {
        switch Attribute(rawValue: attribute.type) {
        case .text1709: text1709 = try? attribute.text()
        case .productAppleID: productAppleID = try? attribute.integer()
        case .number1722: number1722 = try? attribute.integer()
        case nil where Self.unnamedTexts.contains(attribute.type):
            texts1714To1718[attribute.type] = try? attribute.text()
        default: break
        }
    }
}
