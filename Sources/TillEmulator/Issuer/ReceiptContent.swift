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
        var attributes = ReceiptAttributes<ReceiptPayload.Attribute>()
        attributes.add(.receiptType, DERWriter.utf8String(type))
        attributes.add(.appAppleID, number(app.appleID))
        attributes.add(.bundleID, bundle)
        attributes.add(.applicationVersion, DERWriter.utf8String(app.version))
        attributes.add(.opaqueValue, version: 2, opaque)
        attributes.add(.deviceHash, hash)
        attributes.add(.opaque6, Array(noise.dropFirst(16).prefix(70)))
        attributes.add(.opaque7, opaque7)
        attributes.add(.downloadDate, date(inProduction ? download?.downloaded ?? created : nil))
        attributes.add(.fulfillmentToolVersion, DERWriter.integer(1_345_531_954))
        attributes.add(.ageRating, DERWriter.ia5String("4+"))
        attributes.add(.developerID, number(app.developerID))
        attributes.add(.creationDate, date(created))
        attributes.add(.number13, DERWriter.integer(170_200))
        attributes.add(.number14, DERWriter.integer(207))
        attributes.add(.downloadID, number(app.downloadID))
        attributes.add(.versionExternalIdentifier, number(app.versionID))
        let obtained = inProduction ? download?.downloaded ?? created : EmulatedApp.sandboxFirstPurchase
        attributes.add(.originalPurchaseDate, date(obtained))
        let version = inProduction ? download?.originalVersion ?? app.originalVersion : "1.0"
        attributes.add(.originalApplicationVersion, DERWriter.utf8String(version))
        attributes.add(.text20, DERWriter.utf8String(""))
        attributes.add(.number25, DERWriter.integer(3))
        // Its absence means never.
        if let expires = app.volumePurchaseExpires { attributes.add(.expirationDate, date(expires)) }
        let alike = Self.alike
        for listed in purchases { attributes.add(.purchases, purchase(listed, alike)) }
        return attributes.encoded()
    }

    /// What every purchase has the same: the attributes of unknown meaning.
    private static var alike: ReceiptAttributes<ReceiptPurchase.Attribute> {
        var attributes = ReceiptAttributes<ReceiptPurchase.Attribute>()
        attributes.add(.text1709, DERWriter.utf8String(""))
        for unknown in ReceiptPurchase.unnamedTexts { attributes.add(number: unknown, DERWriter.utf8String("")) }
        attributes.add(.productAppleID, DERWriter.integer(0))
        attributes.add(.number1722, DERWriter.integer(0))
        return attributes
    }

    /// One in-app purchase (facts/pkcs7-receipt §3.2).
    private func purchase(
        _ listed: ListedPurchase, _ alike: ReceiptAttributes<ReceiptPurchase.Attribute>
    ) -> [UInt8] {
        let transaction = listed.transaction
        let purchased = date(transaction.purchased)
        var attributes = alike
        attributes.add(.quantity, DERWriter.integer(transaction.quantity))
        attributes.add(.productID, DERWriter.utf8String(transaction.productID.text))
        attributes.add(.transactionID, DERWriter.utf8String(transaction.id.text))
        attributes.add(.purchaseDate, purchased)
        attributes.add(.originalTransactionID, DERWriter.utf8String(transaction.originalID.text))
        let isFirst = transaction.firstPurchased == transaction.purchased
        attributes.add(.originalPurchaseDate, isFirst ? purchased : date(transaction.firstPurchased))
        if let type = transaction.kind.receiptNumber { attributes.add(.productType, DERWriter.integer(type)) }
        attributes.add(.expiresDate, date(transaction.subscription?.expires))
        attributes.add(.webOrderLineItemID, DERWriter.integer(transaction.subscription?.lineItem ?? 0))
        attributes.add(.cancellationDate, date(listed.cancelled))
        attributes.add(.isTrialPeriod, DERWriter.integer(listed.isTrial ? 1 : 0))
        attributes.add(.isInIntroductoryOfferPeriod, DERWriter.integer(listed.isIntroductory ? 1 : 0))
        if let offer = listed.promotionalOfferID { attributes.add(.promotionalOfferID, DERWriter.utf8String(offer)) }
        return attributes.encoded()
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
