import TillBilling
import TillCrypto

/// An app receipt taken apart, its signature and chain not yet asked about (facts/pkcs7-receipt §2).
struct ReceiptContainer: Sendable {
    let message: SignedMessage
    let payload: ReceiptPayload
    /// Present in the message, and named by its signer information.
    let signer: Certificate
    let digest: Digest

    /// Container and payload, without the certificate and signature: as far as a receipt can be read at all.
    static func read(_ bytes: [UInt8]) throws(VerificationFailure) -> (SignedMessage, ReceiptPayload) {
        let message: SignedMessage
        do throws(SignedMessage.Malformation) {
            message = try SignedMessage(bytes)
        } catch {
            throw VerificationFailure(.malformed, error.rawValue)
        }
        do throws(ASN1Reader.Malformation) {
            return (message, try ReceiptPayload(message.content))
        } catch {
            throw VerificationFailure(.malformed, "receipt: \(error.reason)")
        }
    }

    /// - Throws: `bad_certificate` without the signer's certificate, `malformed` for a digest no receipt has,
    ///   `bad_signature` if signed attributes name another content.
    init(_ message: SignedMessage, _ payload: ReceiptPayload) throws(VerificationFailure) {
        guard let signer = message.signer else { throw VerificationFailure(.badCertificate, "no signer") }
        guard let digest = message.digest else {
            throw VerificationFailure(.malformed, SignedMessage.Malformation.unknownDigest.rawValue)
        }
        self.message = message
        self.payload = payload
        self.signer = signer
        self.digest = digest
    }

    var intermediates: [Certificate] { message.certificates.filter { $0 !== signer } }

    func chain(trust: TrustStore, at seconds: Int64) throws(VerificationFailure) -> [Certificate] {
        try SigningChain.path(leaf: signer, others: intermediates, trust: trust, at: seconds)
    }

    /// Whether the receipt was made for this device: its identifierForVendor (16 bytes), or on a Mac its MAC address
    /// (6 bytes). The hash stays SHA-1 (facts/pkcs7-receipt §4.2).
    func matches(device: [UInt8]) -> Bool {
        guard let opaque = payload.opaqueValue, let bundle = payload.bundleIDOctets, let hash = payload.deviceHash
        else { return false }
        return Digest.sha1.hash(device + opaque + bundle) == hash
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
