import TillAppStore
import TillBilling
import TillCrypto

/// The content of an app receipt: a SET of attributes, each with a type, a version and a value
/// (facts/pkcs7-receipt §3).
struct ReceiptContent {
    var app: EmulatedApp
    var environment: Environment
    var purchases: [ListedPurchase]
    var created: Instant
    /// Nil if the account never got the app.
    var download: AppDownload?
    /// `identifierForVendor` of the device the receipt is for, 16 bytes; or any other bytes.
    var device: [UInt8]
    /// 200 random bytes: the opaque value and the attributes nobody knows the meaning of.
    var noise: [UInt8]

    /// Apple's own words for volume purchases, too (facts/verify-receipt §5, `receipt_type`).
    private var type: String {
        let buyer = app.volumePurchaseExpires == nil ? "Production" : "ProductionVPP"
        return environment == .production ? buyer : buyer + "Sandbox"
    }

    /// Attribute 7, whose meaning nobody outside Apple knows. Here it begins with the download's number, by which
    /// `/verifyReceipt` finds whose receipt it is, though there be no purchase in it.
    private var opaque7: [UInt8] {
        withUnsafeBytes(of: (download?.appTransaction ?? 0).bigEndian) { Array($0) } + noise.dropFirst(86).prefix(52)
    }

    /// The number that `opaque7` begins with; nil if there is none.
    static func appTransaction(of payload: ReceiptPayload) -> Int64? {
        guard let bytes = payload.opaque7?.prefix(8), bytes.count == 8 else { return nil }
        let number = Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        return number > 0 ? number : nil
    }

    /// DER. Attributes stand in the order of their encodings, as in Apple's own receipts.
    func encoded() -> [UInt8] {
        let inProduction = environment == .production
        let bundle = DERWriter.utf8String(app.bundleID)
        let opaque = Array(noise.prefix(16))
        // The hash covers the whole inner DER of the bundle id, not just its text (facts/pkcs7-receipt §4.2).
        let hash = Digest.sha1.hash(device + opaque + bundle)
        func number(_ production: Int64) -> [UInt8] { DERWriter.integer(inProduction ? production : 0) }
        var attributes = [
            attribute(0, DERWriter.utf8String(type)),
            attribute(1, number(app.appleID)),
            attribute(2, bundle),
            attribute(3, DERWriter.utf8String(app.version)),
            attribute(4, version: 2, opaque),
            attribute(5, hash),
            attribute(6, Array(noise.dropFirst(16).prefix(70))),
            attribute(7, opaque7),
            attribute(8, date(inProduction ? download?.downloaded ?? created : nil)),
            attribute(9, DERWriter.integer(1_345_531_954)),
            attribute(10, DERWriter.ia5String("4+")),
            attribute(11, number(app.developerID)),
            attribute(12, date(created)),
            attribute(13, DERWriter.integer(170_200)),
            attribute(14, DERWriter.integer(207)),
            attribute(15, number(app.downloadID)),
            attribute(16, number(app.versionID)),
            attribute(18, date(inProduction ? download?.downloaded ?? created : EmulatedApp.sandboxFirstPurchase)),
            attribute(
                19, DERWriter.utf8String(inProduction ? download?.originalVersion ?? app.originalVersion : "1.0")),
            attribute(20, DERWriter.utf8String("")),
            attribute(25, DERWriter.integer(3)),
        ]
        // Its absence means never.
        if let expires = app.volumePurchaseExpires { attributes.append(attribute(21, date(expires))) }
        for listed in purchases { attributes.append(attribute(17, purchase(listed))) }
        return DERWriter.setOf(attributes)
    }

    /// One in-app purchase (facts/pkcs7-receipt §3.2).
    private func purchase(_ listed: ListedPurchase) -> [UInt8] {
        let transaction = listed.transaction
        let empty = DERWriter.utf8String("")
        var attributes = [
            attribute(1701, DERWriter.integer(transaction.quantity)),
            attribute(1702, DERWriter.utf8String(transaction.productID.text)),
            attribute(1703, DERWriter.utf8String(transaction.id.text)),
            attribute(1704, date(transaction.purchased)),
            attribute(1705, DERWriter.utf8String(transaction.originalID.text)),
            attribute(1706, date(transaction.firstPurchased)),
            attribute(1707, DERWriter.integer(transaction.kind.receiptNumber)),
            attribute(1708, date(transaction.subscription?.expires)),
            attribute(1709, empty),
            attribute(1710, DERWriter.integer(0)),
            attribute(1711, DERWriter.integer(transaction.subscription?.lineItem ?? 0)),
            attribute(1712, date(listed.cancelled)),
            attribute(1713, DERWriter.integer(listed.isTrial ? 1 : 0)),
        ]
        for unknown in Int64(1714)...1718 { attributes.append(attribute(unknown, empty)) }
        attributes.append(attribute(1719, DERWriter.integer(listed.isIntroductory ? 1 : 0)))
        if let offer = listed.promotionalOfferID { attributes.append(attribute(1721, DERWriter.utf8String(offer))) }
        attributes.append(attribute(1722, DERWriter.integer(0)))
        return DERWriter.setOf(attributes)
    }

    private func attribute(_ type: Int64, version: Int64 = 1, _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence(DERWriter.integer(type), DERWriter.integer(version), DERWriter.octetString(value))
    }

    /// An empty text is how a receipt says "no date".
    private func date(_ instant: Instant?) -> [UInt8] {
        DERWriter.ia5String(instant.map(AppleTime.receipt) ?? "")
    }
}

/// What the store knows of one app. Numbers are Apple's in production and 0 in sandbox.
public struct EmulatedApp: Sendable, Hashable {
    public var bundleID: String
    public var appleID: Int64
    /// CFBundleVersion.
    public var version: String
    public var originalVersion: String
    var developerID: Int64 = 125_402_914
    var downloadID: Int64 = 74_011_462_945_433
    var versionID: Int64 = 863_855_306
    /// Of an app bought in volume: when its receipts expire. Nil: bought as usual, and for ever.
    public var volumePurchaseExpires: Instant?

    public init(
        bundleID: String, appleID: Int64 = 690_661_663, version: String = "1", originalVersion: String = "1.0"
    ) {
        self.bundleID = bundleID
        self.appleID = appleID
        self.version = version
        self.originalVersion = originalVersion
    }

    /// When every sandbox account got every app: 2013-08-01T07:00:00Z (facts/verify-receipt §5).
    static let sandboxFirstPurchase = Instant(seconds: 1_375_340_400)
}
