import TillBilling

/// The content of an app receipt (facts/pkcs7-receipt §3.1): a set of numbered attributes, in any order. By itself it
/// proves nothing; `VerifiedReceipt` is the one that was verified.
///
/// Instants are of whole seconds, and nil also where the receipt has an empty text. Attributes that Apple does not
/// document are nil too if they are not as they always were; `attributes` has them as they are.
public struct ReceiptPayload: Equatable, Sendable {
    /// Every attribute in the order of the receipt: known, unknown, repeated.
    public let attributes: [ReceiptAttribute]

    /// Type 0: `Production`, `ProductionSandbox`, … ; absent must not read as production.
    public internal(set) var receiptType: String?
    /// Type 1; 0 in the sandbox.
    public internal(set) var appAppleID: Int64?
    /// Type 2.
    public internal(set) var bundleID: String?
    /// Type 3: CFBundleVersion on iOS, CFBundleShortVersionString on macOS.
    public internal(set) var applicationVersion: String?
    /// Type 4, as it is.
    public internal(set) var opaqueValue: [UInt8]?
    /// Type 5: what `SHA-1(device ‖ opaque value ‖ bundle id's DER)` must be.
    public internal(set) var deviceHash: [UInt8]?
    /// Type 6, as it is; nobody outside Apple knows its meaning.
    public internal(set) var opaque6: [UInt8]?
    /// Type 7, as it is; nobody outside Apple knows its meaning.
    public internal(set) var opaque7: [UInt8]?
    /// Type 8.
    public internal(set) var downloadDate: Instant?
    /// Type 9: the version of the tool that made the receipt.
    public internal(set) var fulfillmentToolVersion: Int64?
    /// Type 10: `4+` to `17+`.
    public internal(set) var ageRating: String?
    /// Type 11; 0 in the sandbox.
    public internal(set) var developerID: Int64?
    /// Type 12: the moment that certificates are judged at.
    public internal(set) var creationDate: Instant?
    /// Type 13, of unknown meaning.
    public internal(set) var number13: Int64?
    /// Type 14, of unknown meaning.
    public internal(set) var number14: Int64?
    /// Type 15: the app's download; 0 in the sandbox, above 2^53 for some.
    public internal(set) var downloadID: Int64?
    /// Type 16: the app's revision; 0 in the sandbox.
    public internal(set) var versionExternalIdentifier: Int64?
    /// Type 17, one each.
    public internal(set) var purchases: [ReceiptPurchase] = []
    /// Type 18: when the app was first obtained.
    public internal(set) var originalPurchaseDate: Instant?
    /// Type 19.
    public internal(set) var originalApplicationVersion: String?
    /// Type 20, of unknown meaning; always empty.
    public internal(set) var text20: String?
    /// Type 21: volume purchases only.
    public internal(set) var expirationDate: Instant?
    /// Type 25, of unknown meaning; always 3.
    public internal(set) var number25: Int64?

    /// Every type that occurs, known or not.
    public var attributeTypes: Set<Int64> { Set(attributes.map(\.type)) }

    /// What we decide on: with two of one, the reader would choose which counts.
    private static let onlyOnce: Set<Int64> = [0, 2, 3, 4, 5, 12, 19, 21]

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
        switch attribute.type {
        case 0: receiptType = try attribute.text()
        case 2: bundleID = try attribute.text()
        case 3: applicationVersion = try attribute.text()
        case 4: opaqueValue = Array(attribute.value)
        case 5: deviceHash = Array(attribute.value)
        case 10: ageRating = try attribute.text()
        case 12: creationDate = try attribute.date()
        case 17: purchases.append(try ReceiptPurchase(attribute.value))
        case 19: originalApplicationVersion = try attribute.text()
        case 21: expirationDate = try attribute.date()
        default: break
        }
    }

    /// Attributes that Apple does not document, and on which nothing is decided: what cannot be read is as if absent.
    private mutating func takeUndocumented(_ attribute: ReceiptAttribute) {
        switch attribute.type {
        case 1: appAppleID = try? attribute.integer()
        case 6: opaque6 = Array(attribute.value)
        case 7: opaque7 = Array(attribute.value)
        case 8: downloadDate = try? attribute.date()
        case 9: fulfillmentToolVersion = try? attribute.integer()
        case 11: developerID = try? attribute.integer()
        case 13: number13 = try? attribute.integer()
        case 14: number14 = try? attribute.integer()
        case 15: downloadID = try? attribute.integer()
        case 16: versionExternalIdentifier = try? attribute.integer()
        case 18: originalPurchaseDate = try? attribute.date()
        case 20: text20 = try? attribute.text()
        case 25: number25 = try? attribute.integer()
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
