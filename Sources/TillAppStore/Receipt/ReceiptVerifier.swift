import TillBilling
import TillCrypto

extension ProofChecks {
    func receipt(_ bytes: [UInt8]) throws(VerificationError) -> VerifiedReceipt {
        let message = try parseReceipt(bytes)
        let container = try read(message)
        let bundleID = try check(.fields) { () throws(VerificationError) in
            guard let bundleID = container.payload.bundleID,
                (1...VerifiedTransaction.nameLimit).contains(bundleID.utf8.count)
            else { throw VerificationError(.malformed, "bundle id") }
            return bundleID
        }
        let signer = try signer(of: message)
        let certificates = chains == nil ? [] : [signer.der] + container.intermediates.map(\.der)
        let cached = cachedChain(of: container, certificates)
        let chain = if let cached { cached } else { try chain(of: container, signer: signer) }
        try checkSignature(of: message)
        if cached == nil { chains?.remember(chain, ofReceipt: certificates, now: verificationPolicy.now()) }
        let environment = try environment(of: container.unverified)
        try checkDevice(of: container)
        observer?.observe(chain.questions, signedAt: container.creationDate)
        return VerifiedReceipt(
            payload: container.payload, environment: environment, bundleID: bundleID,
            creationDate: container.creationDate)
    }

    /// Parses the container.
    func parseReceipt(_ bytes: [UInt8]) throws(VerificationError) -> SignedMessage {
        try check(.parse) { () throws(VerificationError) in
            recorder?.look(at: bytes)
            guard bytes.count <= SignedDataVerifier.receiptLimit else {
                let limit = SignedDataVerifier.receiptLimit
                throw VerificationError(.malformed, "longer than \(limit) bytes", zh: "长度超过 \(limit) 字节")
            }
            do throws(SignedMessage.FormatError) {
                return try SignedMessage(bytes)
            } catch {
                throw VerificationError(.malformed, error.rawValue)
            }
        }
    }

    /// Reads the content without verifying certificate or signature.
    func read(_ message: SignedMessage) throws(VerificationError) -> ReceiptContainer {
        try check(.payload) { () throws(VerificationError) in
            recorder?.look(at: message.content)
            let payload = try ReceiptPayload(message.content)
            guard let creationDate = payload.creationDate else {
                throw VerificationError(.malformed, "creation date", zh: "创建日期")
            }
            return ReceiptContainer(message: message, payload: payload, creationDate: creationDate)
        }
    }

    /// The signer's certificate, which the message contains and its signer information names. Also checks that the
    /// signer information covers this content.
    func signer(of message: SignedMessage) throws(VerificationError) -> Certificate {
        let signer = try check(.certificateList) { () throws(VerificationError) in
            recorder?.compare(expected: nil, found: String(message.certificates.count))
            guard let signer = message.signer else {
                throw VerificationError(.badCertificate, "no signer", zh: "缺少签名者的证书")
            }
            return signer
        }
        try check(.algorithm) { () throws(VerificationError) in
            recorder?.compare(expected: "sha256, sha1", found: message.digest?.rawValue)
            guard message.digest != nil else {
                throw VerificationError(.malformed, SignedMessage.FormatError.unknownDigest.rawValue)
            }
        }
        if message.hasSignedAttributes {
            try check(.signedAttributes) { () throws(VerificationError) in
                guard message.attributesMatchContent else {
                    throw VerificationError(.badSignature, "messageDigest")
                }
            }
        }
        return signer
    }

    func chain(
        of container: ReceiptContainer, signer: Certificate
    ) throws(VerificationError) -> SigningChain {
        let date = date(of: container.unverified, now: container.creationDate)
        return try chain(leaf: signer, others: container.intermediates, trust: roots(), at: date)
    }

    /// The chain of these certificates, if it was verified recently. A record shows every check, so it makes them all.
    private func cachedChain(of container: ReceiptContainer, _ certificates: [[UInt8]]) -> SigningChain? {
        guard recorder == nil, let chains else { return nil }
        let now = verificationPolicy.now()
        return chains.receiptChain(
            of: certificates, at: date(of: container.unverified, now: container.creationDate).seconds, now: now)
    }

    func checkSignature(of message: SignedMessage) throws(VerificationError) {
        try check(.signature) { () throws(VerificationError) in
            recorder?.look(at: message.content)
            guard message.isSignatureValid() else { throw VerificationError(.badSignature) }
        }
    }

    func checkDevice(of container: ReceiptContainer) throws(VerificationError) {
        guard let device = verificationPolicy.device else { return }
        try check(.device) { () throws(VerificationError) in
            recorder?.compare(expected: container.payload.deviceHash.map { hexadecimal($0) }, found: nil)
            guard container.matches(device: device) else { throw VerificationError(.wrongDevice) }
        }
    }
}

/// Text forms of proofs.
enum ProofText {
    static func isBlank(_ unit: UInt8) -> Bool { unit == 0x20 || (0x09...0x0D).contains(unit) }

    static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(bytes[first...last])
    }
}

/// A parsed app receipt; its signature and chain are not yet verified (facts/pkcs7-receipt §2).
struct ReceiptContainer: Sendable {
    let message: SignedMessage
    let payload: ReceiptPayload
    /// Attribute 12: the date at which certificates are verified.
    let creationDate: Instant

    var intermediates: [Certificate] { message.certificates.filter { $0 !== message.signer } }

    var unverified: UnverifiedPayload {
        UnverifiedPayload(
            kind: .receipt, bundleID: payload.bundleID, environment: Self.environment(of: payload),
            date: creationDate, dateSource: .receiptAttribute)
    }

    /// One of Apple's two environments by the receipt's type, or a local test's own name. A type that merely equals the
    /// name of an environment is ignored.
    private static func environment(of payload: ReceiptPayload) -> String? {
        if let environment = payload.environment { return environment.rawValue }
        let isApples = [StoreEnvironment.production, .sandbox].contains { $0.rawValue == payload.receiptType }
        return isApples ? nil : payload.receiptType
    }

    /// Whether the receipt was made for this device: its identifierForVendor (16 bytes), or a Mac's MAC address (6
    /// bytes). The hash is always SHA-1 (facts/pkcs7-receipt §4.2).
    func matches(device: [UInt8]) -> Bool {
        guard let opaque = payload.octets(ofType: 4), let bundle = payload.octets(ofType: 2),
            let hash = payload.octets(ofType: 5)
        else { return false }
        return Digest.sha1.hash(device + opaque + bundle) == hash
    }
}

/// An app receipt whose signature was verified. Only a `SignedDataVerifier` creates one.
public struct VerifiedReceipt: Sendable {
    public let payload: ReceiptPayload
    public let environment: StoreEnvironment
    public let bundleID: String
    /// When Apple made the receipt.
    public let creationDate: Instant

    init(payload: ReceiptPayload, environment: StoreEnvironment, bundleID: String, creationDate: Instant) {
        self.payload = payload
        self.environment = environment
        self.bundleID = bundleID
        self.creationDate = creationDate
    }

    /// The receipt's record of one transaction; nil if there is none, or if it lacks a product or date.
    ///
    /// If a receipt contains a transaction twice, the record with a cancellation date counts.
    public func transaction(_ id: TransactionID) -> VerifiedTransaction? {
        let records = payload.purchases.indices.filter { payload.purchases[$0].transactionID == id.text }
        let record = records.first { payload.purchases[$0].cancellationDate != nil } ?? records.first
        return record.flatMap { transaction(of: payload.purchases[$0]) }
    }

    /// Every purchase in the receipt that has an id, product and date. Their order is meaningless, and finished
    /// consumables are missing from receipts (facts/pkcs7-receipt §3.2).
    public var transactions: [VerifiedTransaction] { payload.purchases.compactMap(transaction(of:)) }

    private func transaction(of record: ReceiptPurchase) -> VerifiedTransaction? {
        var payload = TransactionPayload()
        payload.transactionID = record.transactionID
        payload.originalTransactionID = record.originalTransactionID.flatMap { $0.isEmpty ? nil : $0 }
        payload.productID = record.productID
        payload.bundleID = bundleID
        payload.purchaseDate = record.purchaseDate
        payload.originalPurchaseDate = record.originalPurchaseDate
        payload.expiresDate = record.expiresDate
        payload.quantity = record.quantity.map { Int($0) }
        payload.typeText = record.productType.map { ProductType(receiptNumber: $0)?.rawValue ?? String($0) }
        payload.revocationDate = record.cancellationDate
        payload.webOrderLineItemID = record.webOrderLineItemID.flatMap { $0 == 0 ? nil : String($0) }
        payload.offer = record.promotionalOfferID.flatMap {
            $0.isEmpty ? nil : TransactionPayload.Offer(promotionalIdentifier: $0)
        }
        payload.environment = environment.rawValue
        payload.signedDate = creationDate
        let signed = SignedFields(payload)
        guard let essentials = try? VerifiedTransaction.RequiredFields(signed) else { return nil }
        return VerifiedTransaction(essentials, signed, environment: environment, source: .receipt)
    }
}
