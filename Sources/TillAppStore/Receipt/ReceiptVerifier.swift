import TillBilling
import TillCrypto

extension ProofChecks {
    func receipt(_ bytes: [UInt8]) throws(VerificationFailure) -> VerifiedReceipt {
        let message = try parseReceipt(bytes)
        let container = try read(message)
        let bundleID = try check(.fields) { () throws(VerificationFailure) in
            guard let bundleID = container.payload.bundleID,
                (1...VerifiedTransaction.nameLimit).contains(bundleID.utf8.count)
            else { throw VerificationFailure(.malformed, "bundle id") }
            return bundleID
        }
        let signer = try signer(of: message)
        let chain = try chain(of: container, signer: signer)
        try checkSignature(of: message)
        let environment = try environment(of: container.claims)
        try checkDevice(of: container)
        witness?.saw(chain.questions, signedAt: container.creationDate)
        return VerifiedReceipt(
            payload: container.payload, environment: environment, bundleID: bundleID,
            creationDate: container.creationDate)
    }

    /// Takes the container apart.
    func parseReceipt(_ bytes: [UInt8]) throws(VerificationFailure) -> SignedMessage {
        try check(.parse) { () throws(VerificationFailure) in
            journal?.look(at: bytes)
            guard bytes.count <= SignedDataVerifier.receiptLimit else {
                throw VerificationFailure(.malformed, "longer than \(SignedDataVerifier.receiptLimit) bytes")
            }
            do throws(SignedMessage.Malformation) {
                return try SignedMessage(bytes)
            } catch {
                throw VerificationFailure(.malformed, error.rawValue)
            }
        }
    }

    /// Reads the content, without the certificate and signature: as far as a receipt can be read at all.
    func read(_ message: SignedMessage) throws(VerificationFailure) -> ReceiptContainer {
        try check(.payload) { () throws(VerificationFailure) in
            journal?.look(at: message.content)
            let payload: ReceiptPayload
            do throws(ASN1Reader.Malformation) {
                payload = try ReceiptPayload(message.content)
            } catch {
                throw VerificationFailure(.malformed, "receipt: \(error.reason)")
            }
            guard let creationDate = payload.creationDate else {
                throw VerificationFailure(.malformed, "creation date")
            }
            return ReceiptContainer(message: message, payload: payload, creationDate: creationDate)
        }
    }

    /// The signer's certificate, present in the message and named by its signer information; and whether the signer
    /// information is about this content.
    func signer(of message: SignedMessage) throws(VerificationFailure) -> Certificate {
        let signer = try check(.certificateList) { () throws(VerificationFailure) in
            journal?.compare(expected: nil, found: String(message.certificates.count))
            guard let signer = message.signer else { throw VerificationFailure(.badCertificate, "no signer") }
            return signer
        }
        try check(.algorithm) { () throws(VerificationFailure) in
            journal?.compare(expected: "sha256, sha1", found: message.digest?.rawValue)
            guard message.digest != nil else {
                throw VerificationFailure(.malformed, SignedMessage.Malformation.unknownDigest.rawValue)
            }
        }
        if message.hasSignedAttributes {
            try check(.signedAttributes) { () throws(VerificationFailure) in
                guard message.attributesMatchContent else {
                    throw VerificationFailure(.badSignature, "messageDigest")
                }
            }
        }
        return signer
    }

    func chain(
        of container: ReceiptContainer, signer: Certificate
    ) throws(VerificationFailure) -> SigningChain {
        let date = date(of: container.claims, now: container.creationDate)
        return try chain(leaf: signer, others: container.intermediates, trust: roots(), at: date)
    }

    func checkSignature(of message: SignedMessage) throws(VerificationFailure) {
        try check(.signature) { () throws(VerificationFailure) in
            journal?.look(at: message.content)
            guard message.isSignatureValid() else { throw VerificationFailure(.badSignature) }
        }
    }

    func checkDevice(of container: ReceiptContainer) throws(VerificationFailure) {
        guard let device = demands.device else { return }
        try check(.device) { () throws(VerificationFailure) in
            journal?.compare(expected: container.payload.deviceHash.map { hexadecimal($0) }, found: nil)
            guard container.matches(device: device) else { throw VerificationFailure(.wrongDevice) }
        }
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
