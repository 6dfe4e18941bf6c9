import TillBilling
import TillCrypto

/// An old-style transactionReceipt (facts/verify-receipt §9): one purchase as NeXTSTEP property-list text, signed by a
/// certificate of the iTunes Store. Only ever looked at: nothing verified comes out of it, because its environment is
/// not signed.
struct OldStyleReceipt {
    /// The dictionary around the signed part, none of which is signed.
    let outer: [String: String]
    /// The signed octets.
    let purchaseInfo: [UInt8]
    let purchase: [String: String]

    /// Real ones have two kilobytes.
    static let sizeLimit = 1 << 20

    init?(_ text: [UInt8]) {
        guard text.count <= Self.sizeLimit, let outer = Self.dictionary(text),
            let info = outer["purchase-info"].flatMap({ Base64.decode($0) }), let purchase = Self.dictionary(info)
        else { return nil }
        self.outer = outer
        purchaseInfo = info
        self.purchase = purchase
    }

    /// Production receipts do not state theirs. Nobody signed this.
    var environment: String { outer["environment"] ?? Environment.production.rawValue }

    /// Seconds since 1970.
    var purchaseDate: Int64? {
        purchase["purchase-date-ms"].flatMap { Int64($0) }.map { Instant(milliseconds: $0).seconds }
    }

    /// `"key" = "value";` as often as it occurs; nil if the text is not UTF-8.
    private static func dictionary(_ bytes: [UInt8]) -> [String: String]? {
        guard bytes.withUnsafeBufferPointer(JSONText.isUTF8) else { return nil }
        var result: [String: String] = [:]
        var rest = bytes[...]
        func quoted() -> String? {
            guard rest.first == UInt8(ascii: "\""),
                let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\""))
            else { return nil }
            let text = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            return text
        }
        func passesBlanks() -> Bool {
            rest = rest.drop(while: ProofText.isBlank)
            return true
        }
        func passes(_ mark: Unicode.Scalar) -> Bool {
            guard passesBlanks(), rest.first == UInt8(ascii: mark) else { return false }
            rest = rest.dropFirst()
            return true
        }
        while let start = rest.firstIndex(of: UInt8(ascii: "\"")) {
            let candidate = rest[start...]
            rest = candidate
            if let key = quoted(), !key.isEmpty, passes("="), passesBlanks(), let value = quoted(), passes(";") {
                result[key] = value
            } else {
                // This quote began no pair; the next one may.
                rest = candidate.dropFirst()
            }
        }
        return result
    }

    /// The signature's blob: version, signature, and its signer's certificate.
    struct Signature {
        let version: UInt8
        let bytes: [UInt8]
        let certificate: [UInt8]

        /// Nil unless it begins with a version that Apple has had and is as long as that version wants.
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

        /// Version 2 signs with SHA-1; so does version 3, as far as anybody has said.
        func isValid(of purchaseInfo: [UInt8], by key: PublicKey) -> Bool {
            key.isValidRSA(signature: bytes, of: [version] + purchaseInfo, digest: .sha1)
        }

        /// The key that issued the signers of this version.
        var issuerKey: PublicKey? {
            version == 2
                ? Certificate(der: AppleRoots.iTunesStoreCA2009)?.publicKey
                : PublicKey(der: AppleRoots.iTunesStoreKeyVersion3)
        }
    }
}

extension ProofInspection {
    static func oldStyleReceipt(_ text: [UInt8], _ policy: InspectionPolicy) -> ProofInspection {
        var inspection = ProofInspection(.oldStyleReceipt)
        guard let receipt = OldStyleReceipt(text) else {
            return refused(.oldStyleReceipt, .malformed, "no purchase-info")
        }
        let unsigned = receipt.outer.filter { $0.key != "signature" && $0.key != "purchase-info" }
        inspection.fields = [
            "environment": .string(receipt.environment),
            "outer": .object(unsigned.mapValues(JSONValue.string)),
            "purchase_info": .object(receipt.purchase.mapValues(JSONValue.string)),
            "transaction_id": receipt.purchase["transaction-id"].map(JSONValue.string) ?? .null,
        ]
        let blob = receipt.outer["signature"].flatMap { Base64.decode($0) } ?? []
        guard let signature = OldStyleReceipt.Signature(blob) else {
            inspection.verdict = extractOnly
            inspection.detail = "the signature is not of Apple's format"
            return inspection
        }
        judged(&inspection) { inspection throws(VerificationFailure) in
            try receipt.check(signature, in: &inspection)
            if let bundleID = policy.bundleID, receipt.purchase["bid"] != bundleID {
                throw VerificationFailure(.wrongApp, "bid")
            }
            if let environment = policy.environment, receipt.environment != environment {
                throw VerificationFailure(.wrongEnvironment, receipt.environment)
            }
        }
        return inspection
    }
}

extension OldStyleReceipt {
    /// The signer must have been issued by the pinned key of its version, and have signed. Whether it was valid at the
    /// purchase is told, not judged: Apple's own certificates had gaps.
    fileprivate func check(
        _ signature: Signature, in inspection: inout ProofInspection
    ) throws(VerificationFailure) {
        guard let leaf = Certificate(der: signature.certificate), let key = leaf.publicKey else {
            throw VerificationFailure(.badCertificate, "leaf")
        }
        let isIssued = signature.issuerKey.map(leaf.isSigned(by:)) ?? false
        let isSigned = signature.isValid(of: purchaseInfo, by: key)
        let wasValid = purchaseDate.map { leaf.notBefore <= $0 && $0 <= leaf.notAfter } ?? false
        inspection.fields["blob_version"] = .int(Int64(signature.version))
        inspection.fields["leafSubject"] = .string(leaf.subject)
        inspection.fields["leafIssuer"] = .string(leaf.issuer)
        inspection.fields["leafNotBefore"] = .int(leaf.notBefore)
        inspection.fields["leafNotAfter"] = .int(leaf.notAfter)
        inspection.fields["leaf_signed_by_itunes_ca"] = .bool(isIssued)
        inspection.fields["signature_valid"] = .bool(isSigned)
        inspection.fields["leaf_valid_at_purchase"] = .bool(wasValid)
        if signature.version == 2, let purchaseDate {
            inspection.fields["chain_to_apple_root"] = .string(Self.chainToAppleRoot(leaf, at: purchaseDate))
        }
        guard isIssued else { throw VerificationFailure(.chainUntrusted) }
        guard isSigned else { throw VerificationFailure(.badSignature) }
    }

    private static func chainToAppleRoot(_ leaf: Certificate, at seconds: Int64) -> String {
        guard let issuer = Certificate(der: AppleRoots.iTunesStoreCA2009),
            let trust = SignedDataVerifier.trustStore(roots: [AppleRoots.rootCA], isStrict: false)
        else { return Verdict.badRoot.rawValue }
        do throws(VerificationFailure) {
            _ = try SigningChain.path(leaf: leaf, others: [issuer], trust: trust, at: seconds)
            return Verdict.ok.rawValue
        } catch {
            return "\(error.verdict.rawValue): \(error.detail)"
        }
    }
}
