import TillAppStore
import TillBilling
import TillCrypto
import TillSQL

/// The content of an app receipt: a SET of attributes, each with a type, a version and a value (facts/pkcs7-receipt
/// §3).
struct ReceiptContent {
    var app: EmulatedApp
    var environment: StoreEnvironment
    var purchases: [ListedPurchase]
    var created: Instant
    /// Nil if the account never downloaded the app.
    var download: AppDownload?
    /// `identifierForVendor` of the receipt's device, 16 bytes; or any other bytes.
    var device: [UInt8]
    /// 200 random bytes: for the opaque value and the attributes of unknown meaning.
    var noise: [UInt8]

    /// Apple's receipt types, those of volume purchases included (facts/verify-receipt §5, `receipt_type`).
    private var type: String {
        let buyer = app.volumePurchaseExpires == nil ? "Production" : "ProductionVPP"
        return environment == .production ? buyer : buyer + "Sandbox"
    }

    /// Attribute 7, whose meaning Apple does not publish. Here it starts with the download's number, by which
    /// `/verifyReceipt` finds the receipt's account, even without a purchase.
    private var opaque7: [UInt8] {
        withUnsafeBytes(of: (download?.appTransaction ?? 0).bigEndian) { Array($0) } + noise.dropFirst(86).prefix(52)
    }

    /// The number at the start of `opaque7`; nil if there is none.
    static func appTransaction(of payload: ReceiptPayload) -> Int64? {
        guard let bytes = payload.opaque7?.prefix(8), bytes.count == 8 else { return nil }
        let number = Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        return number > 0 ? number : nil
    }

    /// DER. Attributes are sorted by their encodings, as in Apple's receipts.
    func encoded() -> [UInt8] {
        let inProduction = environment == .production
        let bundle = DERWriter.utf8String(app.bundleID)
        let opaque = Array(noise.prefix(16))
        // The hash covers the whole inner DER of the bundle id, not only its text (facts/pkcs7-receipt §4.2).
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
        // Absence means no expiry.
        if let expires = app.volumePurchaseExpires { attributes.add(.expirationDate, date(expires)) }
        let alike = Self.alike
        for listed in purchases { attributes.add(.purchases, purchase(listed, alike)) }
        return attributes.encoded()
    }

    /// The attributes of unknown meaning, equal for all purchases.
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

    /// In a receipt an empty text means "no date".
    private func date(_ instant: Instant?) -> [UInt8] {
        DERWriter.ia5String(instant.map(AppleTime.receipt) ?? "")
    }
}

/// The store's data about one app. Numbers are Apple's in production and 0 in sandbox.
public struct EmulatedApp: Sendable, Hashable {
    public var bundleID: String
    public var appleID: Int64
    /// CFBundleVersion.
    public var version: String
    public var originalVersion: String
    var developerID: Int64 = 125_402_914
    var downloadID: Int64 = 74_011_462_945_433
    var versionID: Int64 = 863_855_306
    /// For an app bought in volume: the expiry of its receipts. Nil: bought normally, without expiry.
    public var volumePurchaseExpires: Instant?

    public init(
        bundleID: String, appleID: Int64 = 690_661_663, version: String = "1", originalVersion: String = "1.0"
    ) {
        self.bundleID = bundleID
        self.appleID = appleID
        self.version = version
        self.originalVersion = originalVersion
    }

    /// The purchase date of every app for every sandbox account: 2013-08-01T07:00:00Z (facts/verify-receipt §5).
    static let sandboxFirstPurchase = Instant(seconds: 1_375_340_400)
}

/// A SET of receipt attributes as DER (facts/pkcs7-receipt §3), with the reader's names. A heavy buyer's receipt has
/// half a million attributes, so equal ones are encoded once and byte comparisons are avoided.
struct ReceiptAttributes<Name: RawRepresentable<Int64>> {
    /// One encoded attribute.
    private struct Element {
        let type: Int64
        let bytes: [UInt8]

        init(_ type: Int64, version: Int64 = 1, _ value: [UInt8]) {
            self.type = type
            bytes = DERWriter.sequence(
                DERWriter.integer(type), DERWriter.integer(version), DERWriter.octetString(value))
        }
    }

    private var elements: [Element] = []

    mutating func add(_ name: Name, version: Int64 = 1, _ value: [UInt8]) {
        elements.append(Element(name.rawValue, version: version, value))
    }

    mutating func add(number: Int64, _ value: [UInt8]) { elements.append(Element(number, value)) }

    /// In DER's order, that of the encodings: they start with their length, then the type, which has as many bytes as
    /// the other types of the set (X.690 §11.6).
    func encoded() -> [UInt8] {
        let sorted = elements.sorted { left, right in
            if left.bytes.count != right.bytes.count { return left.bytes.count < right.bytes.count }
            if left.type != right.type { return left.type < right.type }
            return left.bytes.lexicographicallyPrecedes(right.bytes)
        }
        var content: [UInt8] = []
        content.reserveCapacity(sorted.reduce(0) { $0 + $1.bytes.count })
        for element in sorted { content += element.bytes }
        return DERWriter.value(tag: 0x31, content)
    }
}

/// One transaction in receipt form, which has fewer members than signed transactions (facts/verify-receipt §6,
/// pkcs7-receipt §3.2).
struct ListedPurchase: Sendable {
    let transaction: StoreTransaction
    /// The date of its refund, or of the upgrade that ended it.
    let cancelled: Instant?

    /// - Parameter transactions: all of one account, oldest first.
    static func all(_ transactions: [StoreTransaction]) -> [ListedPurchase] {
        var successors: [Int64: Instant] = [:]
        var listed: [ListedPurchase] = []
        listed.reserveCapacity(transactions.count)
        for transaction in transactions.reversed() {
            listed.append(ListedPurchase(transaction, succeeded: successors[transaction.original]))
            if transaction.subscription != nil, transaction.reason == "PURCHASE" {
                successors[transaction.original] = transaction.purchased
            }
        }
        return listed.reversed()
    }

    /// - Parameter succeeded: the date of the customer's next purchase in the same subscription.
    private init(_ transaction: StoreTransaction, succeeded: Instant?) {
        self.transaction = transaction
        if transaction.kind == .consumable {
            // A consumable's receipt never shows its refund (facts/business-rules §10).
            cancelled = nil
        } else if let revocation = transaction.revocation {
            cancelled = revocation.date
        } else {
            // Receipts express an upgrade as a cancellation (facts/business-rules §8.2).
            cancelled = transaction.isUpgraded ? succeeded ?? transaction.subscription?.expires : nil
        }
    }

    /// 1: an issue with the app; 0: any other reason, upgrades included. Nil while the purchase is valid.
    var cancellationReason: Int64? { cancelled.map { _ in transaction.revocation?.reason ?? 0 } }

    var isTrial: Bool { transaction.offer?.discount == .freeTrial }

    /// Paid introductory periods only: a free one is a trial.
    var isIntroductory: Bool { transaction.offer?.kind == .introductory && !isTrial }

    var promotionalOfferID: String? { transaction.offer?.identifier(of: .promotional) }
    var offerCodeName: String? { transaction.offer?.identifier(of: .code) }
}

extension StoreTransaction.Offer {
    /// The identifier, if it is an offer of this kind.
    func identifier(of kind: ProductOffer.Kind) -> String? { self.kind == kind ? identifier : nil }
}

/// Creates receipts of the store's current state.
struct ReceiptBuilder: Sendable {
    let store: Store
    let issuer: Issuer
    let configuration: EmulatorConfiguration
    let entropy: @Sendable (Int) -> [UInt8]

    /// The app receipt of an account, DER.
    ///
    /// - Parameter device: 16 bytes of identifierForVendor, to which the receipt's hash binds it; nil: random bytes.
    func appReceipt(account: String, bundleID: String, device: [UInt8]?) async throws -> [UInt8] {
        let (transactions, download) = try await store.ask { connection in
            (
                try TransactionTable.inReceipt(
                    account: account, bundleID: bundleID, limit: Store.receiptLimit, connection),
                try DownloadTable.find(account: account, bundleID: bundleID, connection)
            )
        }
        let content = ReceiptContent(
            app: configuration.app(bundleID), environment: configuration.environment,
            purchases: ListedPurchase.all(transactions),
            created: SkewedClock.current?.time(store.now) ?? store.now, download: download,
            device: device ?? entropy(16), noise: entropy(200))
        return try issuer.receipt(payload: content.encoded())
    }

    /// The old-style receipt of one paid transaction: property-list text (facts/verify-receipt §9).
    func transactionReceipt(_ transaction: StoreTransaction, device: [UInt8]?) async throws -> [UInt8] {
        let product = try await store.ask { try ProductTable.find(transaction.productID, $0) }
        let content = OldStyleReceiptContent(
            transaction, app: configuration.app(transaction.bundleID), itemID: product?.appleID ?? 0,
            device: device ?? entropy(16))
        return try issuer.transactionReceipt(
            purchaseInfo: content.purchaseInfo, environment: configuration.environment)
    }
}
