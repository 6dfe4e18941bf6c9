import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// The signed part of `SKPaymentTransaction.transactionReceipt`: one purchase, with every value as text
/// (facts/verify-receipt §9).
struct OldStyleReceiptContent {
    /// In the order of the text.
    let lines: [(key: String, value: String)]

    /// - Parameters:
    ///   - itemID: the product's number in the store.
    ///   - device: 16 bytes of identifierForVendor.
    init(_ transaction: StoreTransaction, app: EmulatedApp, itemID: Int64, device: [UInt8]) {
        let listed = ListedPurchase.all([transaction])[0]
        var lines: [(key: String, value: String)] = []
        func add(_ key: String, _ value: String) { lines.append((key, value)) }
        func addDate(_ key: String, _ instant: Instant) {
            add(key, AppleTime.gmt(instant))
            add(key + "-ms", AppleTime.milliseconds(instant))
            add(key + "-pst", AppleTime.pacific(instant))
        }
        addDate("original-purchase-date", transaction.firstPurchased)
        addDate("purchase-date", transaction.purchased)
        add("unique-identifier", Self.hexadecimal(Digest.sha1.hash(device)))
        if let vendor = UniqueID(bytes: device) { add("unique-vendor-identifier", vendor.description.uppercased()) }
        add("original-transaction-id", transaction.originalID.text)
        add("transaction-id", transaction.id.text)
        add("product-id", transaction.productID.text)
        add("item-id", String(itemID))
        add("quantity", String(transaction.quantity))
        add("bid", app.bundleID)
        add("bvrs", app.version)
        if transaction.environment == .production {
            add("app-item-id", String(app.appleID))
            add("version-external-identifier", String(app.versionID))
        }
        if let subscription = transaction.subscription {
            add("expires-date", AppleTime.milliseconds(subscription.expires))
            add("expires-date-formatted", AppleTime.gmt(subscription.expires))
            add("expires-date-formatted-pst", AppleTime.pacific(subscription.expires))
            add("web-order-line-item-id", String(subscription.lineItem))
            add("is-trial-period", listed.isTrial ? "true" : "false")
            add("is-in-intro-offer-period", listed.isIntroductory ? "true" : "false")
        }
        self.lines = lines
    }

    var purchaseInfo: [UInt8] { Self.text(lines) }

    /// `/verifyReceipt` returns the same keys with underscores.
    var members: [String: JSONValue] { Self.members(lines.map { ($0.key, $0.value) }) }

    static func members(_ lines: [(String, String)]) -> [String: JSONValue] {
        Dictionary(
            lines.map { (String($0.0.map { $0 == "-" ? "_" : $0 }), JSONValue.string($0.1)) },
            uniquingKeysWith: { _, last in last })
    }

    /// NeXTSTEP property-list text in Apple's layout. Nothing needs an escape: valid ids and bundle ids contain no
    /// special characters, and quotation marks are removed, so no value can start a line of its own.
    static func text(_ lines: [(key: String, value: String)]) -> [UInt8] {
        let rows = lines.map { "\t\"\($0.key)\" = \"\($0.value.filter { $0 != "\"" })\";\n" }
        return Array(("{\n" + rows.joined() + "}").utf8)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension Issuer {
    /// An old-style receipt with this `purchaseInfo`. Its signature is Apple's version 2: RSA of 1024 bits with SHA-1
    /// over the version and the purchase, the only measured form (facts/verify-receipt §9). Version 3 is longer, and
    /// its hashed content is not documented.
    public func transactionReceipt(purchaseInfo: [UInt8], environment: StoreEnvironment) throws(SigningError) -> [UInt8]
    {
        let version: UInt8 = 2
        let signature = try purchaseSigner.key.signSHA1([version] + purchaseInfo)
        let certificate = purchaseSigner.chain.first ?? []
        let length = withUnsafeBytes(of: UInt32(truncatingIfNeeded: certificate.count).bigEndian) { Array($0) }
        var lines: [(key: String, value: String)] = [
            ("signature", Base64.encode([version] + signature + length + certificate)),
            ("purchase-info", Base64.encode(purchaseInfo)),
        ]
        // Production receipts do not name the environment.
        if environment == .sandbox { lines.append(("environment", environment.rawValue)) }
        lines.append(("pod", environment == .sandbox ? "100" : "17"))
        lines.append(("signing-status", "0"))
        return OldStyleReceiptContent.text(lines)
    }
}
