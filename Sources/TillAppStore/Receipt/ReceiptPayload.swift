import TillBilling
import TillCrypto

/// The content of an app receipt (facts/pkcs7-receipt §3.1): a set of numbered attributes, in any order. By itself it
/// proves nothing; a `VerifiedReceipt` contains a verified one.
///
/// Instants are whole seconds, and nil if the receipt has an empty text. An attribute that Apple does not document is
/// also nil if its format changes; `attributes` contains its raw value.
public struct ReceiptPayload: Equatable, Sendable {
    /// The numbers of the attributes; the property of the same name describes each.
    package enum Attribute: Int64 {
        case receiptType = 0
        case appAppleID = 1
        case bundleID = 2
        case applicationVersion = 3
        case opaqueValue = 4
        case deviceHash = 5
        case opaque6 = 6
        case opaque7 = 7
        case downloadDate = 8
        case fulfillmentToolVersion = 9
        case ageRating = 10
        case developerID = 11
        case creationDate = 12
        case number13 = 13
        case number14 = 14
        case downloadID = 15
        case versionExternalIdentifier = 16
        case purchases = 17
        case originalPurchaseDate = 18
        case originalApplicationVersion = 19
        case text20 = 20
        case expirationDate = 21
        case number25 = 25
    }

    /// Every attribute in the order of the receipt, including unknown and repeated ones.
    public let attributes: [ReceiptAttribute]

    /// `Production`, `ProductionSandbox`, …; an absent type must not count as production.
    public internal(set) var receiptType: String?
    /// 0 in the sandbox.
    public internal(set) var appAppleID: Int64?
    public internal(set) var bundleID: String?
    /// CFBundleVersion on iOS, CFBundleShortVersionString on macOS.
    public internal(set) var applicationVersion: String?
    /// The raw bytes.
    public internal(set) var opaqueValue: [UInt8]?
    /// The expected value of `SHA-1(device ‖ opaque value ‖ bundle id's DER)`.
    public internal(set) var deviceHash: [UInt8]?
    /// The raw bytes; their meaning is not public.
    public internal(set) var opaque6: [UInt8]?
    /// The raw bytes; their meaning is not public.
    public internal(set) var opaque7: [UInt8]?
    public internal(set) var downloadDate: Instant?
    /// The version of the tool that made the receipt.
    public internal(set) var fulfillmentToolVersion: Int64?
    /// `4+` to `17+`.
    public internal(set) var ageRating: String?
    /// 0 in the sandbox.
    public internal(set) var developerID: Int64?
    /// The date at which certificates are verified.
    public internal(set) var creationDate: Instant?
    /// Meaning unknown.
    public internal(set) var number13: Int64?
    /// Meaning unknown.
    public internal(set) var number14: Int64?
    /// The app's download; 0 in the sandbox, sometimes above 2^53.
    public internal(set) var downloadID: Int64?
    /// The app's revision; 0 in the sandbox.
    public internal(set) var versionExternalIdentifier: Int64?
    public internal(set) var purchases: [ReceiptPurchase] = []
    /// When the app was first obtained.
    public internal(set) var originalPurchaseDate: Instant?
    public internal(set) var originalApplicationVersion: String?
    /// Meaning unknown; always empty.
    public internal(set) var text20: String?
    /// Volume purchases only.
    public internal(set) var expirationDate: Instant?
    /// Meaning unknown; always 3.
    public internal(set) var number25: Int64?

    /// Every type that occurs, known or not.
    public var attributeTypes: Set<Int64> { Set(attributes.map(\.type)) }

    /// The attributes that decisions use. A repeated one would be ambiguous, so it is refused.
    private static let onlyOnce = ReceiptAttribute.Types(
        [
            Attribute.receiptType, .bundleID, .applicationVersion, .opaqueValue, .deviceHash, .creationDate,
            .originalApplicationVersion, .expirationDate,
        ].map(\.rawValue))

    /// Parses an unverified content: a set of attributes, possibly inside one more OCTET STRING.
    ///
    /// - Throws: if the structure, or a documented attribute, is malformed.
    init(_ content: [UInt8]) throws(VerificationError) {
        attributes = try ReceiptAttribute.all(in: Self.unwrapped(content))
        try ReceiptAttribute.refuseRepeated(Self.onlyOnce, in: attributes)
        for attribute in attributes {
            try take(attribute)
            takeUndocumented(attribute)
        }
    }

    /// The content as DER, with the attributes in their original order. It equals the input if that was DER and not
    /// wrapped in a second OCTET STRING.
    public func encoded() -> [UInt8] { ReceiptAttribute.set(attributes) }

    /// The octets of the first attribute of this type, which is the one that the device hash covers.
    func octets(ofType type: Int64) -> [UInt8]? { attributes.first { $0.type == type }.map { Array($0.value) } }

    /// Some receipts wrap the set in one more OCTET STRING.
    private static func unwrapped(_ content: [UInt8]) throws(VerificationError) -> ArraySlice<UInt8> {
        guard let tag = content.first, tag & ~0x20 == ASN1Reader.Tag.octetString else { return content[...] }
        return try ASN1Reader.octets(ASN1Reader.single(content[...]))
    }

    private mutating func take(_ attribute: ReceiptAttribute) throws(VerificationError) {
        switch Attribute(rawValue: attribute.type) {
        case .receiptType: receiptType = try attribute.text()
        case .bundleID: bundleID = try attribute.text()
        case .applicationVersion: applicationVersion = try attribute.text()
        case .opaqueValue: opaqueValue = Array(attribute.value)
        case .deviceHash: deviceHash = Array(attribute.value)
        case .ageRating: ageRating = try attribute.text()
        case .creationDate: creationDate = try attribute.date()
        case .purchases: purchases.append(try ReceiptPurchase(attribute.value))
        case .originalApplicationVersion: originalApplicationVersion = try attribute.text()
        case .expirationDate: expirationDate = try attribute.date()
        default: break
        }
    }

    /// Reads attributes that Apple does not document and no decision uses: an unreadable one counts as absent.
    private mutating func takeUndocumented(_ attribute: ReceiptAttribute) {
        switch Attribute(rawValue: attribute.type) {
        case .appAppleID: appAppleID = try? attribute.integer()
        case .opaque6: opaque6 = Array(attribute.value)
        case .opaque7: opaque7 = Array(attribute.value)
        case .downloadDate: downloadDate = try? attribute.date()
        case .fulfillmentToolVersion: fulfillmentToolVersion = try? attribute.integer()
        case .developerID: developerID = try? attribute.integer()
        case .number13: number13 = try? attribute.integer()
        case .number14: number14 = try? attribute.integer()
        case .downloadID: downloadID = try? attribute.integer()
        case .versionExternalIdentifier: versionExternalIdentifier = try? attribute.integer()
        case .originalPurchaseDate: originalPurchaseDate = try? attribute.date()
        case .text20: text20 = try? attribute.text()
        case .number25: number25 = try? attribute.integer()
        default: break
        }
    }
}

extension ReceiptPayload {
    /// The environment of `receiptType`: nil for Xcode's receipts, unknown types, and a missing type.
    public var environment: StoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        default: nil
        }
    }
}

/// One purchase in a receipt (facts/pkcs7-receipt §3.2). Instants are whole seconds, and nil if the record has an empty
/// text.
public struct ReceiptPurchase: Equatable, Sendable {
    /// The numbers of the attributes; the property of the same name describes each.
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

    /// Every attribute in the order of the record, including unknown and repeated ones.
    public let attributes: [ReceiptAttribute]

    public internal(set) var quantity: Int64?
    public internal(set) var productID: String?
    /// `0` in Xcode's receipts.
    public internal(set) var transactionID: String?
    /// For a renewal, the date of the renewal.
    public internal(set) var purchaseDate: Instant?
    /// Absent in Xcode's receipts.
    public internal(set) var originalTransactionID: String?
    public internal(set) var originalPurchaseDate: Instant?
    /// `ProductType.init(receiptNumber:)` converts it.
    public internal(set) var productType: Int64?
    public internal(set) var expiresDate: Instant?
    /// Meaning unknown; always empty.
    public internal(set) var text1709: String?
    /// Probably the product's number in the App Store; 0 in the sandbox.
    public internal(set) var productAppleID: Int64?
    public internal(set) var webOrderLineItemID: Int64?
    /// If set, Apple has refunded or revoked the purchase, and it counts as never made.
    public internal(set) var cancellationDate: Instant?
    /// 1 for yes.
    public internal(set) var isTrialPeriod: Int64?
    /// Meaning unknown; always empty.
    public internal(set) var texts1714To1718: [Int64: String] = [:]
    /// 1 for yes.
    public internal(set) var isInIntroductoryOfferPeriod: Int64?
    /// Only if an offer was used.
    public internal(set) var promotionalOfferID: String?
    /// Meaning unknown; 0 in newer receipts.
    public internal(set) var number1722: Int64?

    /// Every type that occurs, known or not.
    public var attributeTypes: Set<Int64> { Set(attributes.map(\.type)) }

    /// The attributes that decisions use. A repeated one would be ambiguous, so it is refused.
    private static let onlyOnce = ReceiptAttribute.Types(
        [
            Attribute.quantity, .productID, .transactionID, .purchaseDate, .originalTransactionID,
            .originalPurchaseDate, .productType, .expiresDate, .webOrderLineItemID, .cancellationDate,
            .isTrialPeriod, .isInIntroductoryOfferPeriod, .promotionalOfferID,
        ].map(\.rawValue))

    init(_ set: ArraySlice<UInt8>) throws(VerificationError) {
        attributes = try ReceiptAttribute.all(in: set)
        try ReceiptAttribute.refuseRepeated(Self.onlyOnce, in: attributes)
        for attribute in attributes {
            try take(attribute)
            takeUndocumented(attribute)
        }
    }

    /// The record as DER, with the attributes in their original order.
    public func encoded() -> [UInt8] { ReceiptAttribute.set(attributes) }

    private mutating func take(_ attribute: ReceiptAttribute) throws(VerificationError) {
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

    /// Reads attributes that no decision uses: an unreadable one counts as absent.
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

/// One numbered attribute of a receipt or of one of its purchases (facts/pkcs7-receipt §3), named here or not.
public struct ReceiptAttribute: Equatable, Sendable {
    public let type: Int64
    /// Almost always 1; 2 for the opaque value of App Store receipts.
    public let version: Int64
    /// The octets inside the OCTET STRING, which for most types are DER themselves.
    public let value: ArraySlice<UInt8>

    /// The attribute as DER: `SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
    var der: [UInt8] {
        DERWriter.sequence(
            DERWriter.integer(type), DERWriter.integer(version), DERWriter.octetString(Array(value)))
    }

    /// The attributes as the DER of a set, in their given order: App Store receipts use DER's order, Xcode sorts by
    /// type (facts/pkcs7-receipt §3).
    static func set(_ attributes: [ReceiptAttribute]) -> [UInt8] {
        DERWriter.value(tag: ASN1Reader.Tag.set, attributes.flatMap(\.der))
    }

    /// `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, in any order.
    static func all(in set: ArraySlice<UInt8>) throws(VerificationError) -> [ReceiptAttribute] {
        let outer = try ASN1Reader.single(set)
        guard outer.tag == ASN1Reader.Tag.set else { throw ASN1Reader.malformed("no set of attributes") }
        var rest = ASN1Reader(outer.content)
        var attributes: [ReceiptAttribute] = []
        while !rest.isAtEnd {
            var fields = ASN1Reader(try rest.next(ASN1Reader.Tag.sequence).content)
            let type = try ASN1Reader.integer(fields.next())
            let version = try ASN1Reader.integer(fields.next())
            let value = try ASN1Reader.octets(fields.next())
            try fields.end()
            attributes.append(ReceiptAttribute(type: type, version: version, value: value))
        }
        return attributes
    }

    /// Types within 64 numbers of each other. A long receipt asks about half a million attributes, and hashing each of
    /// them would take longer than reading it.
    struct Types {
        private let first: Int64
        private var bits: UInt64 = 0

        init(_ types: [Int64]) {
            first = types.min() ?? 0
            for type in types {
                precondition(type - first < 64, "the types of one set are close to each other")
                bits |= 1 << UInt64(type - first)
            }
        }

        /// The bit of a type; 0 if it is none of these.
        fileprivate func bit(_ type: Int64) -> UInt64 {
            guard type >= first, type < first + 64 else { return 0 }
            return bits & 1 << UInt64(type - first)
        }
    }

    /// - Throws: if a type of `onlyOnce` occurs more than once.
    static func refuseRepeated(
        _ onlyOnce: Types, in attributes: [ReceiptAttribute]
    ) throws(VerificationError) {
        var seen: UInt64 = 0
        for attribute in attributes {
            let bit = onlyOnce.bit(attribute.type)
            guard seen & bit == 0 else { throw ASN1Reader.malformed("attribute \(attribute.type) twice") }
            seen |= bit
        }
    }

    // MARK: - Values of attributes. An attribute without octets has no value.

    func text() throws(VerificationError) -> String? {
        value.isEmpty ? nil : try ASN1Reader.text(ASN1Reader.single(value))
    }

    func integer() throws(VerificationError) -> Int64? {
        value.isEmpty ? nil : try ASN1Reader.integer(ASN1Reader.single(value))
    }

    /// RFC 3339; Xcode writes offsets such as `+0300`. An empty text means no date.
    func date() throws(VerificationError) -> Instant? {
        guard let text = try text(), !text.isEmpty else { return nil }
        guard let instant = Instant(rfc3339: text) else { throw ASN1Reader.malformed("no date") }
        return instant
    }
}
