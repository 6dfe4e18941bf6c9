import TillBilling

/// The content of an app receipt (facts/pkcs7-receipt §3.1): a set of numbered attributes, in any order. By itself it
/// proves nothing; `VerifiedReceipt` is the one that was verified.
///
/// Instants are of whole seconds, and nil also where the receipt has an empty text. Attributes that Apple does not
/// document are nil too if they are not as they always were; `attributes` has them as they are.
public struct ReceiptPayload: Equatable, Sendable {
    /// The numbers of the attributes; each property says what its own holds.
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

    /// Every attribute in the order of the receipt: known, unknown, repeated.
    public let attributes: [ReceiptAttribute]

    /// `Production`, `ProductionSandbox`, … ; absent must not read as production.
    public internal(set) var receiptType: String?
    /// 0 in the sandbox.
    public internal(set) var appAppleID: Int64?
    public internal(set) var bundleID: String?
    /// CFBundleVersion on iOS, CFBundleShortVersionString on macOS.
    public internal(set) var applicationVersion: String?
    /// As it is.
    public internal(set) var opaqueValue: [UInt8]?
    /// What `SHA-1(device ‖ opaque value ‖ bundle id's DER)` must be.
    public internal(set) var deviceHash: [UInt8]?
    /// As it is; nobody outside Apple knows its meaning.
    public internal(set) var opaque6: [UInt8]?
    /// As it is; nobody outside Apple knows its meaning.
    public internal(set) var opaque7: [UInt8]?
    public internal(set) var downloadDate: Instant?
    /// The version of the tool that made the receipt.
    public internal(set) var fulfillmentToolVersion: Int64?
    /// `4+` to `17+`.
    public internal(set) var ageRating: String?
    /// 0 in the sandbox.
    public internal(set) var developerID: Int64?
    /// The moment that certificates are judged at.
    public internal(set) var creationDate: Instant?
    /// Of unknown meaning.
    public internal(set) var number13: Int64?
    /// Of unknown meaning.
    public internal(set) var number14: Int64?
    /// The app's download; 0 in the sandbox, above 2^53 for some.
    public internal(set) var downloadID: Int64?
    /// The app's revision; 0 in the sandbox.
    public internal(set) var versionExternalIdentifier: Int64?
    public internal(set) var purchases: [ReceiptPurchase] = []
    /// When the app was first obtained.
    public internal(set) var originalPurchaseDate: Instant?
    public internal(set) var originalApplicationVersion: String?
    /// Of unknown meaning; always empty.
    public internal(set) var text20: String?
    /// Volume purchases only.
    public internal(set) var expirationDate: Instant?
    /// Of unknown meaning; always 3.
    public internal(set) var number25: Int64?

    /// Every type that occurs, known or not.
    public var attributeTypes: Set<Int64> { Set(attributes.map(\.type)) }

    /// What we decide on: with two of one, the reader would choose which counts.
    private static let onlyOnce = Set(
        [
            Attribute.receiptType, .bundleID, .applicationVersion, .opaqueValue, .deviceHash, .creationDate,
            .originalApplicationVersion, .expirationDate,
        ].map(\.rawValue))

    /// Reads a content that proves nothing: a set of attributes, perhaps inside one more OCTET STRING.
    ///
    /// - Throws: if anything of the structure, or of a documented attribute, is not as it must be.
    init(_ content: [UInt8]) throws(ASN1Reader.Malformation) {
        attributes = try ReceiptAttribute.all(in: Self.unwrapped(content))
        try ReceiptAttribute.refuseRepeated(Self.onlyOnce, in: attributes)
        for attribute in attributes {
            try take(attribute)
            takeUndocumented(attribute)
        }
    }

    /// The content as DER: the attributes in the order they had. It equals what was read where that was DER and not
    /// wrapped twice.
    public func encoded() -> [UInt8] { ReceiptAttribute.set(attributes) }

    /// The octets of the first attribute of this type: the one the device hash is about.
    func octets(ofType type: Int64) -> [UInt8]? { attributes.first { $0.type == type }.map { Array($0.value) } }

    /// Some receipts hold the set in one more OCTET STRING.
    private static func unwrapped(_ content: [UInt8]) throws(ASN1Reader.Malformation) -> ArraySlice<UInt8> {
        guard let tag = content.first, tag & ~0x20 == ASN1Reader.Tag.octetString else { return content[...] }
        return try ASN1Reader.octets(ASN1Reader.single(content[...]))
    }

    private mutating func take(_ attribute: ReceiptAttribute) throws(ASN1Reader.Malformation) {
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

    /// Attributes that Apple does not document, and on which nothing is decided: what cannot be read is as if absent.
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
    /// The environment that `receiptType` means: nil for Xcode's receipts, unknown types, and none at all.
    public var environment: Environment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        default: nil
        }
    }
}
