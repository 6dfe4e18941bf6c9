import TillBilling
import TillCrypto

/// An app receipt taken apart, its signature and chain not yet asked about (facts/pkcs7-receipt §2).
struct ReceiptContainer: Sendable {
    let message: SignedMessage
    let payload: ReceiptPayload
    /// Attribute 12: the moment that certificates are judged at.
    let creationDate: Instant

    var intermediates: [Certificate] { message.certificates.filter { $0 !== message.signer } }

    var claims: ProofClaims {
        ProofClaims(
            kind: .receipt, bundleID: payload.bundleID, environment: Self.environment(of: payload),
            date: creationDate, dateSource: .receiptAttribute)
    }

    /// Apple's two by the receipt's type; a local test's by its own name. A type that only looks like an environment
    /// of Apple's is none.
    private static func environment(of payload: ReceiptPayload) -> String? {
        if let environment = payload.environment { return environment.rawValue }
        return payload.receiptType.flatMap { Environment(rawValue: $0) == nil ? $0 : nil }
    }

    /// Whether the receipt was made for this device: its identifierForVendor (16 bytes), or on a Mac its MAC address
    /// (6 bytes). The hash stays SHA-1 (facts/pkcs7-receipt §4.2).
    func matches(device: [UInt8]) -> Bool {
        guard let opaque = payload.octets(ofType: 4), let bundle = payload.octets(ofType: 2),
            let hash = payload.octets(ofType: 5)
        else { return false }
        return Digest.sha1.hash(device + opaque + bundle) == hash
    }
}
