import TillBilling

/// The content of an app receipt (facts/pkcs7-receipt §3): a set of numbered attributes, in any order, of which
/// unknown ones are skipped. By itself it proves nothing; `VerifiedReceipt` is the one that was verified.
public struct ReceiptPayload: Sendable {
    /// Type 0: `Production`, `ProductionSandbox`, … ; absent must not read as production.
    public internal(set) var receiptType: String?
    /// Type 1; 0 in the sandbox.
    public internal(set) var appAppleID: Int64?
    /// Type 2.
    public internal(set) var bundleID: String?
    /// Type 3.
    public internal(set) var applicationVersion: String?
    /// Type 4, as it is.
    public internal(set) var opaqueValue: [UInt8]?
    /// Type 5: what `SHA-1(device ‖ opaque value ‖ bundle id's DER)` must be.
    public internal(set) var deviceHash: [UInt8]?
    /// Type 8.
    public internal(set) var downloadDate: Instant?
    /// Type 10.
    public internal(set) var ageRating: String?
    /// Type 11; 0 in the sandbox.
    public internal(set) var developerID: Int64?
    /// Type 12: the moment that certificates are judged at.
    public internal(set) var creationDate: Instant?
    /// Type 15.
    public internal(set) var downloadID: Int64?
    /// Type 16.
    public internal(set) var versionExternalIdentifier: Int64?
    /// Type 17, one each.
    public internal(set) var purchases: [ReceiptPurchase] = []
    /// Type 18.
    public internal(set) var originalPurchaseDate: Instant?
    /// Type 19.
    public internal(set) var originalApplicationVersion: String?
    /// Type 21: volume purchases only.
    public internal(set) var expirationDate: Instant?
    /// Every type that occurs, known or not.
    public internal(set) var attributeTypes: Set<Int64> = []

    /// What we decide on: with two of one, the reader would choose which counts.
    private static let onlyOnce: Set<Int64> = [0, 2, 3, 4, 5, 12, 19, 21]

    /// Type 2 as it is, for the device hash.
    var bundleIDOctets: [UInt8]?

    /// - Throws: if anything of the structure, or of a documented attribute, is not as it must be.
    init(_ content: [UInt8]) throws(ASN1Reader.Malformation) {
        try Self.eachAttribute(of: Self.unwrapped(content)[...]) { type, value throws(ASN1Reader.Malformation) in
            guard attributeTypes.insert(type).inserted || !Self.onlyOnce.contains(type) else {
                throw ASN1Reader.Malformation("attribute \(type) twice")
            }
            try take(type, value)
        }
    }

    /// Some receipts hold the set in one more OCTET STRING.
    private static func unwrapped(_ content: [UInt8]) throws(ASN1Reader.Malformation) -> [UInt8] {
        guard let tag = content.first, tag & ~0x20 == ASN1Reader.Tag.octetString else { return content }
        return Array(try ASN1Reader.octets(ASN1Reader.single(content[...])))
    }

    private mutating func take(_ type: Int64, _ value: ArraySlice<UInt8>) throws(ASN1Reader.Malformation) {
        switch type {
        case 0: receiptType = try Self.text(value)
        case 2:
            bundleID = try Self.text(value)
            bundleIDOctets = Array(value)
        case 3: applicationVersion = try Self.text(value)
        case 4: opaqueValue = Array(value)
        case 5: deviceHash = Array(value)
        case 10: ageRating = try Self.text(value)
        case 12: creationDate = try Self.date(value)
        case 17: purchases.append(try ReceiptPurchase(value))
        case 19: originalApplicationVersion = try Self.text(value)
        case 21: expirationDate = try Self.date(value)
        default: takeUndocumented(type, value)
        }
    }

    /// Attributes that Apple does not document, and on which nothing is decided: what cannot be read is as if absent.
    private mutating func takeUndocumented(_ type: Int64, _ value: ArraySlice<UInt8>) {
        switch type {
        case 1: appAppleID = try? Self.integer(value)
        case 8: downloadDate = try? Self.date(value)
        case 11: developerID = try? Self.integer(value)
        case 15: downloadID = try? Self.integer(value)
        case 16: versionExternalIdentifier = try? Self.integer(value)
        case 18: originalPurchaseDate = try? Self.date(value)
        default: break
        }
    }

    /// `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`
    static func eachAttribute(
        of set: ArraySlice<UInt8>,
        _ body: (Int64, ArraySlice<UInt8>) throws(ASN1Reader.Malformation) -> Void
    ) throws(ASN1Reader.Malformation) {
        let outer = try ASN1Reader.single(set)
        guard outer.tag == ASN1Reader.Tag.set else { throw ASN1Reader.Malformation("no set of attributes") }
        var attributes = ASN1Reader(outer.content)
        while !attributes.isAtEnd {
            var fields = ASN1Reader(try attributes.next(ASN1Reader.Tag.sequence).content)
            let type = try ASN1Reader.integer(fields.next())
            _ = try ASN1Reader.integer(fields.next())
            let value = try ASN1Reader.octets(fields.next())
            try fields.end()
            try body(type, value)
        }
    }

    // An attribute without octets has no value.

    static func text(_ value: ArraySlice<UInt8>) throws(ASN1Reader.Malformation) -> String? {
        value.isEmpty ? nil : try ASN1Reader.text(ASN1Reader.single(value))
    }

    static func integer(_ value: ArraySlice<UInt8>) throws(ASN1Reader.Malformation) -> Int64? {
        value.isEmpty ? nil : try ASN1Reader.integer(ASN1Reader.single(value))
    }

    /// RFC 3339; Xcode writes offsets like `+0300`. An empty text is no date.
    static func date(_ value: ArraySlice<UInt8>) throws(ASN1Reader.Malformation) -> Instant? {
        guard let text = try text(value), !text.isEmpty else { return nil }
        guard let instant = Instant(rfc3339: text) else { throw ASN1Reader.Malformation("no date") }
        return instant
    }
}

/// One purchase in a receipt (facts/pkcs7-receipt §3.2).
public struct ReceiptPurchase: Sendable {
    /// Type 1701.
    public internal(set) var quantity: Int64?
    /// Type 1702.
    public internal(set) var productID: String?
    /// Type 1703.
    public internal(set) var transactionID: String?
    /// Type 1704; of a renewal, its own date.
    public internal(set) var purchaseDate: Instant?
    /// Type 1705.
    public internal(set) var originalTransactionID: String?
    /// Type 1706.
    public internal(set) var originalPurchaseDate: Instant?
    /// Type 1707.
    public internal(set) var productType: Int64?
    /// Type 1708.
    public internal(set) var expiresDate: Instant?
    /// Type 1711.
    public internal(set) var webOrderLineItemID: Int64?
    /// Type 1712: the purchase counts as never made.
    public internal(set) var cancellationDate: Instant?
    /// Type 1713.
    public internal(set) var isTrialPeriod: Int64?
    /// Type 1719.
    public internal(set) var isInIntroductoryOfferPeriod: Int64?
    /// Type 1721.
    public internal(set) var promotionalOfferID: String?
    /// Every type that occurs, known or not.
    public internal(set) var attributeTypes: Set<Int64> = []

    private static let onlyOnce: Set<Int64> = [
        1701, 1702, 1703, 1704, 1705, 1706, 1707, 1708, 1711, 1712, 1713, 1719, 1721,
    ]

    init(_ set: ArraySlice<UInt8>) throws(ASN1Reader.Malformation) {
        try ReceiptPayload.eachAttribute(of: set) { type, value throws(ASN1Reader.Malformation) in
            guard attributeTypes.insert(type).inserted || !Self.onlyOnce.contains(type) else {
                throw ASN1Reader.Malformation("attribute \(type) twice")
            }
            switch type {
            case 1701: quantity = try ReceiptPayload.integer(value)
            case 1702: productID = try ReceiptPayload.text(value)
            case 1703: transactionID = try ReceiptPayload.text(value)
            case 1704: purchaseDate = try ReceiptPayload.date(value)
            case 1705: originalTransactionID = try ReceiptPayload.text(value)
            case 1706: originalPurchaseDate = try ReceiptPayload.date(value)
            case 1707: productType = try ReceiptPayload.integer(value)
            case 1708: expiresDate = try ReceiptPayload.date(value)
            case 1711: webOrderLineItemID = try ReceiptPayload.integer(value)
            case 1712: cancellationDate = try ReceiptPayload.date(value)
            case 1713: isTrialPeriod = try ReceiptPayload.integer(value)
            case 1719: isInIntroductoryOfferPeriod = try ReceiptPayload.integer(value)
            case 1721: promotionalOfferID = try ReceiptPayload.text(value)
            default: break
            }
        }
    }
}
