import TillBilling
import TillCrypto

extension SignedDataVerifier {
    /// An app receipt (PKCS#7), as `appStoreReceiptURL` holds it: DER, or the BER that Xcode writes.
    ///
    /// Certificates are judged at the receipt's own creation date, which is signed: receipts outlive the certificate
    /// that signed them (facts/pkcs7-receipt §4.1).
    ///
    /// - Parameters:
    ///   - bytes: at most 8 MiB.
    ///   - device: the identifier that the receipt must have been made for; nil leaves it unasked.
    public func receipt(_ bytes: [UInt8], device: [UInt8]? = nil) throws(VerificationFailure) -> VerifiedReceipt {
        guard bytes.count <= Self.receiptLimit else {
            throw VerificationFailure(.malformed, "longer than \(Self.receiptLimit) bytes")
        }
        let (message, payload) = try ReceiptContainer.read(bytes)
        guard let creationDate = payload.creationDate else { throw VerificationFailure(.malformed, "creation date") }
        guard let bundleID = payload.bundleID, (1...VerifiedTransaction.nameLimit).contains(bundleID.utf8.count) else {
            throw VerificationFailure(.malformed, "bundle id")
        }
        let container = try ReceiptContainer(message, payload)
        guard message.attributesMatchContent else { throw VerificationFailure(.badSignature, "messageDigest") }
        let chain = try container.chain(trust: trust, at: (policy.at ?? creationDate).seconds)
        guard container.signer.hasExtension(SigningChain.leafMarker) else {
            throw VerificationFailure(.missingOID, "leaf")
        }
        guard chain.count > 1, chain[1].hasExtension(SigningChain.intermediateMarker) else {
            throw VerificationFailure(.missingOID, "intermediate")
        }
        guard chain.count == 3 else { throw VerificationFailure(.chainUntrusted, "\(chain.count) certificates") }
        guard message.isSignatureValid() else { throw VerificationFailure(.badSignature) }
        try checkApp(bundleID: bundleID)
        guard let environment = payload.environment, policy.environments?.contains(environment) ?? true else {
            throw VerificationFailure(.wrongEnvironment, payload.receiptType ?? "none")
        }
        if let device, !container.matches(device: device) { throw VerificationFailure(.wrongDevice) }
        witness?.saw(SigningChain.questions(along: chain), signedAt: creationDate)
        return VerifiedReceipt(
            payload: payload, environment: environment, bundleID: bundleID, creationDate: creationDate)
    }

    /// The same receipt as clients post it: base64 text, in which white space means nothing.
    public func receipt(
        base64 text: some StringProtocol, device: [UInt8]? = nil
    ) throws(VerificationFailure) -> VerifiedReceipt {
        guard text.utf8.count <= Self.receiptLimit / 3 * 4 + (1 << 20),
            let bytes = Base64.decode(text.utf8.filter { !ProofText.isBlank($0) })
        else { throw VerificationFailure(.malformed, "base64") }
        return try receipt(bytes, device: device)
    }
}

/// What proofs look like as text.
enum ProofText {
    static func isBlank(_ unit: UInt8) -> Bool { unit == 0x20 || (0x09...0x0D).contains(unit) }

    static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return Array(bytes[first...last])
    }
}
