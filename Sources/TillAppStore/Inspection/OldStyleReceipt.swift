import TillBilling
import TillCrypto
import TillJSON

/// An old-style transactionReceipt (facts/verify-receipt §9): one purchase as NeXTSTEP property-list text, signed by a
/// certificate of the iTunes Store. It is for inspection only: its environment is unsigned, so it never yields a
/// verified transaction.
public struct OldStyleReceipt: Equatable, Sendable {
    /// The text around the signed part.
    let outer: PropertyText
    /// The signed bytes.
    public let purchaseInfo: [UInt8]
    public let purchase: OldStylePurchase

    /// Real receipts have two kilobytes.
    static let sizeLimit = 1 << 20

    /// Parses the property-list text; nil if it contains no purchase.
    public init?(_ text: [UInt8]) {
        guard let outer = Self.outer(text), let receipt = OldStyleReceipt(outer) else { return nil }
        self = receipt
    }

    init?(_ outer: PropertyText) {
        guard let info = Self.purchaseInfo(in: outer), let purchase = OldStylePurchase(info) else { return nil }
        self.outer = outer
        purchaseInfo = info
        self.purchase = purchase
    }

    static func outer(_ text: [UInt8]) -> PropertyText? { text.count <= sizeLimit ? PropertyText(text) : nil }

    static func purchaseInfo(in outer: PropertyText) -> [UInt8]? {
        outer["purchase-info"].flatMap { Base64.decode($0.utf8.filter { !ProofText.isBlank($0) }) }
    }

    /// The unsigned lines: `environment`, `pod`, `signing-status` and any others.
    public var unsigned: [String: String] {
        outer.dictionary.filter { $0.key != "signature" && $0.key != "purchase-info" }
    }

    /// Unsigned. Production receipts do not state their environment.
    var environment: String { outer["environment"] ?? StoreEnvironment.production.rawValue }

    /// The receipt as property-list text, with every line it was read from.
    public func encoded() -> [UInt8] { outer.encoded }

    /// The blob of the signature: version, signature, and the signer's certificate.
    struct Signature {
        let version: UInt8
        let bytes: [UInt8]
        let certificate: [UInt8]

        /// Nil unless the version is one that Apple has used and the length matches it.
        init?(_ blob: [UInt8]) {
            guard let version = blob.first, let length = [2: 128, 3: 256][version] else { return nil }
            let bytes = blob.dropFirst().prefix(length)
            let count = blob.dropFirst(1 + length).prefix(4)
            guard bytes.count == length, count.count == 4 else { return nil }
            let certificate = blob.dropFirst(5 + length)
            guard count.reduce(0, { $0 << 8 | Int($1) }) == certificate.count else { return nil }
            self.version = version
            self.bytes = Array(bytes)
            self.certificate = Array(certificate)
        }

        /// Version 2 signs with SHA-1; so does version 3, according to all available reports.
        func isValid(of purchaseInfo: [UInt8], by leaf: Certificate) -> Bool {
            leaf.publicKey?.isValidRSA(signature: bytes, of: [version] + purchaseInfo, digest: .sha1) ?? false
        }

        /// Whether the pinned key for this version's signers issued the certificate.
        func issued(_ leaf: Certificate) -> Bool {
            let key =
                version == 2
                ? Certificate(der: AppleRoots.iTunesStoreCA2009)?.publicKey
                : PublicKey(der: AppleRoots.iTunesStoreKeyVersion3)
            return key.map(leaf.isSigned(by:)) ?? false
        }

        /// Whether one of these roots issued the certificate directly. The blob holds only one certificate, so another
        /// store has no intermediate between its root and its signer.
        func issued(_ leaf: Certificate, by roots: [Certificate]) -> Bool {
            roots.contains { root in
                guard let key = root.publicKey, leaf.issuer == root.subject, leaf != root else { return false }
                return leaf.isSigned(by: key)
            }
        }
    }
}

extension ProofInspection {
    /// - Parameter text: property-list text, decoded if it arrived as base64.
    static func oldStyleReceipt(
        _ text: [UInt8], _ verificationPolicy: VerificationPolicy, _ recorder: VerificationRecorder
    ) -> ProofInspection {
        let checks = ProofChecks(verificationPolicy, recorder: recorder)
        var fields: [String: JSONValue] = [:]
        do throws(VerificationError) {
            let receipt = try checks.oldStyleReceipt(text)
            recorder.found(unsigned: receipt.unsigned)
            fields = receipt.fields
            let blob = receipt.outer["signature"].flatMap { Base64.decode($0) } ?? []
            guard let signature = OldStyleReceipt.Signature(blob) else {
                recorder.complete(extractOnly, "the signature does not have Apple's format")
                return ProofInspection(fields, recorder)
            }
            let leaf = try checks.signer(signature)
            fields.merge(receipt.fields(of: signature, leaf)) { _, new in new }
            try checks.check(receipt, signature, leaf)
            try checks.checkApp(of: UnverifiedPayload(kind: .oldStyleReceipt, bundleID: receipt.purchase.bundleID))
            if case .any = verificationPolicy.environment {
                // The environment is only reported.
            } else {
                recorder.skipUnsigned(
                    .environment, expected: verificationPolicy.environment.text, found: receipt.environment)
            }
            recorder.complete()
        } catch {
            // The journal has recorded the failure.
        }
        return ProofInspection(fields, recorder)
    }
}

extension ProofChecks {
    fileprivate func oldStyleReceipt(_ text: [UInt8]) throws(VerificationError) -> OldStyleReceipt {
        let outer = try check(.parse) { () throws(VerificationError) in
            recorder?.look(at: text)
            guard let outer = OldStyleReceipt.outer(text), let info = OldStyleReceipt.purchaseInfo(in: outer) else {
                throw VerificationError(.malformed, "no purchase-info")
            }
            return (text: outer, info: info)
        }
        return try check(.payload) { () throws(VerificationError) in
            recorder?.look(at: outer.info)
            guard let receipt = OldStyleReceipt(outer.text) else {
                throw VerificationError(.malformed, "purchase-info")
            }
            if let date = receipt.purchase.purchaseDate { recorder?.recordDate(at: date, from: .purchaseDate) }
            return receipt
        }
    }

    fileprivate func signer(_ signature: OldStyleReceipt.Signature) throws(VerificationError) -> Certificate {
        try check(.certificates) { () throws(VerificationError) in
            recorder?.look(at: signature.certificate)
            guard let leaf = Certificate(der: signature.certificate), leaf.publicKey != nil else {
                throw VerificationError(.badCertificate, "leaf")
            }
            recorder?.found(presented: [leaf])
            return leaf
        }
    }

    /// The signer must have been issued by the pinned key of its version or by a configured root, and have signed the
    /// receipt. Whether it was valid at the purchase is reported but not required: Apple's own certificates had gaps.
    fileprivate func check(
        _ receipt: OldStyleReceipt, _ signature: OldStyleReceipt.Signature, _ leaf: Certificate
    ) throws(VerificationError) {
        try check(.chain) { () throws(VerificationError) in
            recorder?.explain("issued by the iTunes Store's key of version \(signature.version)")
            guard signature.issued(leaf) || signature.issued(leaf, by: verificationPolicy.trust?.roots ?? []) else {
                throw VerificationError(.chainUntrusted)
            }
        }
        try check(.signature) { () throws(VerificationError) in
            recorder?.look(at: [signature.version] + receipt.purchaseInfo)
            guard signature.isValid(of: receipt.purchaseInfo, by: leaf) else {
                throw VerificationError(.badSignature)
            }
        }
    }
}

extension OldStyleReceipt {
    fileprivate var fields: [String: JSONValue] {
        [
            "environment": .string(environment),
            "outer": .object(unsigned.mapValues(JSONValue.string)),
            "purchase_info": .object(purchase.lines.mapValues(JSONValue.string)),
            "transaction_id": purchase.transactionID.map(JSONValue.string) ?? .null,
        ]
    }

    fileprivate func fields(of signature: Signature, _ leaf: Certificate) -> [String: JSONValue] {
        let purchased = purchase.purchaseDate?.seconds
        var fields: [String: JSONValue] = [
            "blob_version": .int(Int64(signature.version)),
            "leafSubject": .string(leaf.subject),
            "leafIssuer": .string(leaf.issuer),
            "leafNotBefore": .int(leaf.notBefore),
            "leafNotAfter": .int(leaf.notAfter),
            "leaf_signed_by_itunes_ca": .bool(signature.issued(leaf)),
            "signature_valid": .bool(signature.isValid(of: purchaseInfo, by: leaf)),
            "leaf_valid_at_purchase": .bool(
                purchased.map { leaf.notBefore <= $0 && $0 <= leaf.notAfter } ?? false),
        ]
        if signature.version == 2, let purchased {
            fields["chain_to_apple_root"] = .string(Self.chainToAppleRoot(leaf, at: purchased))
        }
        return fields
    }

    private static func chainToAppleRoot(_ leaf: Certificate, at seconds: Int64) -> String {
        guard let issuer = Certificate(der: AppleRoots.iTunesStoreCA2009),
            let trust = SignedDataVerifier.trustStore(roots: [AppleRoots.rootCA], isStrict: false)
        else { return Verdict.badRoot.rawValue }
        do throws(VerificationError) {
            _ = try SigningChain.path(leaf: leaf, others: [issuer], trust: trust, at: seconds)
            return Verdict.ok.rawValue
        } catch {
            return "\(error.verdict.rawValue): \(error.detail)"
        }
    }
}

/// The signed part of an old-style receipt: one purchase (facts/verify-receipt §9). Every value is text; typed
/// properties are nil if the text does not parse. By itself it proves nothing.
public struct OldStylePurchase: Equatable, Sendable {
    let text: PropertyText

    /// Parses the decoded `purchase-info`; nil if it is not UTF-8.
    public init?(_ purchaseInfo: [UInt8]) {
        guard let text = PropertyText(purchaseInfo) else { return nil }
        self.text = text
    }

    /// Every line, known or not, by key; a repeated key has its last value.
    public var lines: [String: String] { text.dictionary }

    /// The purchase as property-list text, with every line it was read from.
    public func encoded() -> [UInt8] { text.encoded }

    public var transactionID: String? { text["transaction-id"] }
    public var originalTransactionID: String? { text["original-transaction-id"] }
    public var productID: String? { text["product-id"] }
    /// `bid`.
    public var bundleID: String? { text["bid"] }
    /// `bvrs`.
    public var bundleVersion: String? { text["bvrs"] }
    public var quantity: Int64? { number("quantity") }
    /// `item-id`: the product's number in the App Store.
    public var itemID: Int64? { number("item-id") }
    /// `app-item-id`: the app's number in the App Store; production only.
    public var appItemID: Int64? { number("app-item-id") }
    /// Production only.
    public var versionExternalIdentifier: Int64? { number("version-external-identifier") }
    /// `purchase-date-ms`; the same date as text for people is in `lines`.
    public var purchaseDate: Instant? { milliseconds("purchase-date-ms") }
    /// `original-purchase-date-ms`; the same date as text for people is in `lines`.
    public var originalPurchaseDate: Instant? { milliseconds("original-purchase-date-ms") }
    /// 40 hexadecimal digits: the device's old UDID.
    public var uniqueIdentifier: String? { text["unique-identifier"] }
    /// A UUID: the device's identifierForVendor.
    public var uniqueVendorIdentifier: String? { text["unique-vendor-identifier"] }

    // Subscriptions only.

    /// `expires-date`, in milliseconds; the same date as text for people is in `lines`.
    public var expiresDate: Instant? { milliseconds("expires-date") }
    public var webOrderLineItemID: String? { text["web-order-line-item-id"] }
    public var isTrialPeriod: Bool? { truth("is-trial-period") }
    public var isInIntroductoryOfferPeriod: Bool? { truth("is-in-intro-offer-period") }

    private func number(_ key: String) -> Int64? { text[key].flatMap { Int64($0) } }
    private func milliseconds(_ key: String) -> Instant? { number(key).map { Instant(milliseconds: $0) } }

    private func truth(_ key: String) -> Bool? {
        switch text[key] {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }
}

/// NeXTSTEP property-list text as in old-style receipts, outside and inside: repeated `"key" = "value";`
/// (facts/verify-receipt §9), without escapes.
struct PropertyText: Equatable, Sendable {
    struct Line: Equatable, Sendable {
        let key: String
        let value: String
    }

    /// In the order of the text, including repeated keys.
    let lines: [Line]

    /// Nil if the text is not UTF-8, or has too many combining marks in a row.
    init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.withUnsafeBufferPointer(JSONText.isUTF8),
            CombiningMarkCounter.isBounded(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        else { return nil }
        var reader = Reader(rest: bytes[...])
        var lines: [Line] = []
        while let start = reader.rest.firstIndex(of: UInt8(ascii: "\"")) {
            let candidate = reader.rest[start...]
            reader.rest = candidate
            if let line = reader.line() {
                lines.append(line)
            } else {
                // This quote did not begin a pair; the next one may.
                reader.rest = candidate.dropFirst()
            }
        }
        self.lines = lines
    }

    /// The last value of a key.
    subscript(key: String) -> String? { lines.last { $0.key == key }?.value }

    var dictionary: [String: String] {
        Dictionary(lines.map { ($0.key, $0.value) }, uniquingKeysWith: { _, last in last })
    }

    /// The text in Apple's layout.
    var encoded: [UInt8] {
        Array(("{\n" + lines.map { "\t\"\($0.key)\" = \"\($0.value)\";\n" }.joined() + "}").utf8)
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func line() -> Line? {
            guard let key = quoted(), !key.isEmpty, passes("=") else { return nil }
            skipBlanks()
            guard let value = quoted(), passes(";") else { return nil }
            return Line(key: key, value: value)
        }

        private mutating func quoted() -> String? {
            guard rest.first == UInt8(ascii: "\""), let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\""))
            else { return nil }
            let text = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            return text
        }

        private mutating func passes(_ mark: Unicode.Scalar) -> Bool {
            skipBlanks()
            guard rest.first == UInt8(ascii: mark) else { return false }
            rest = rest.dropFirst()
            return true
        }

        private mutating func skipBlanks() { rest = rest.drop(while: ProofText.isBlank) }
    }
}
