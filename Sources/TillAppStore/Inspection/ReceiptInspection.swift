import TillBilling
import TillCrypto
import TillJSON

extension ProofInspection {
    /// An app receipt, DER or BER.
    static func receipt(
        _ bytes: [UInt8], _ verificationPolicy: VerificationPolicy, _ recorder: VerificationRecorder
    ) -> ProofInspection {
        let checks = ProofChecks(verificationPolicy, recorder: recorder)
        var fields: [String: JSONValue] = [:]
        do throws(VerificationError) {
            let message = try checks.parseReceipt(bytes)
            let container = try checks.read(message)
            fields = container.payload.fields
            fields["payload_length"] = .int(Int64(message.content.count))
            container.describeSigner(in: &fields)
            let signer = try checks.signer(of: message)
            container.describeTrust(verificationPolicy, signer, in: &fields)
            if verificationPolicy.requiresTrust {
                _ = try checks.chain(of: container, signer: signer)
                try checks.checkSignature(of: message)
            }
            try checks.subject(of: container.unverified)
            try checks.checkDevice(of: container)
            recorder.complete(verificationPolicy.requiresTrust ? nil : okUnverified)
        } catch {
            // The journal has recorded the failure.
        }
        return ProofInspection(fields, recorder)
    }
}

extension ReceiptContainer {
    /// A fixed day, 2025-12-01, at which the chain of every receipt is also verified: the oracle of the shared test
    /// vectors reports that result, and so does `till verify`.
    private static let referenceDate: Int64 = 1_764_547_200

    fileprivate func describeSigner(in fields: inout [String: JSONValue]) {
        guard let signer = message.signer, let digest = message.digest else { return }
        fields["digest"] = .string(digest.rawValue)
        // The end of a long name is more informative than its beginning.
        let end = String.UnicodeScalarView(signer.subject.unicodeScalars.suffix(120))
        fields["signer"] = .string(String(end))
        fields["cert_count"] = .int(Int64(message.certificates.count))
        fields["signed_attrs"] = .bool(message.hasSignedAttributes)
    }

    /// Reports the results of later checks even if an earlier one fails.
    fileprivate func describeTrust(
        _ verificationPolicy: VerificationPolicy, _ signer: Certificate, in fields: inout [String: JSONValue]
    ) {
        fields["signature_valid"] = .bool(message.isSignatureValid())
        if let device = verificationPolicy.device { fields["device_hash_valid"] = .bool(matches(device: device)) }
        guard let trust = verificationPolicy.trust else { return }
        func verify(_ date: Instant) -> Result<[Certificate], VerificationError> {
            Result { () throws(VerificationError) in
                try SigningChain.path(leaf: signer, others: intermediates, trust: trust, at: date.seconds)
            }
        }
        let atCreation = verify(creationDate)
        fields["chain_at_creation"] = .string(Self.verdict(of: atCreation))
        fields["chain_at_2025_12_01"] = .string(Self.verdict(of: verify(Instant(seconds: Self.referenceDate))))
        guard verificationPolicy.requiresTrust, let chain = try? (verificationPolicy.at.map(verify) ?? atCreation).get()
        else { return }
        fields["rootSha256"] = chain.last.map { .string(hexadecimal($0.sha256)) }
        guard signer.hasExtension(SigningChain.leafMarker) else { return }
        let isMarked = chain.count > 1 && chain[1].hasExtension(SigningChain.intermediateMarker)
        fields["intermediate_oid"] = .bool(isMarked)
    }

    private static func verdict(of result: Result<[Certificate], VerificationError>) -> String {
        switch result {
        case .success: Verdict.ok.rawValue
        case .failure(let failure): failure.verdict.rawValue
        }
    }
}

extension ReceiptPayload {
    /// The fields under verifyReceipt's names, with instants in milliseconds.
    fileprivate var fields: [String: JSONValue] {
        let types = attributeTypes
        var fields: [String: JSONValue] = [
            "receipt_type": .text(receiptType), "bundle_id": .text(bundleID),
            "application_version": .text(applicationVersion),
            "original_application_version": .text(originalApplicationVersion),
            "receipt_creation_date_ms": .milliseconds(creationDate),
            "expiration_date_ms": .milliseconds(expirationDate),
            "in_app": .array(purchases.map(\.fields)),
            "attribute_types": .array(types.sorted().map(JSONValue.int)),
        ]
        fields["opaque_hex"] = opaqueValue.map { .string(hexadecimal($0)) }
        fields["sha1_hex"] = deviceHash.map { .string(hexadecimal($0)) }
        if types.contains(10) { fields["age_rating"] = .text(ageRating) }
        return fields
    }
}

extension ReceiptPurchase {
    /// The fields that the record contains; an attribute without a value is `null`.
    fileprivate var fields: JSONValue {
        let all: [(Int64, String, JSONValue)] = [
            (1701, "quantity", .number(quantity)),
            (1702, "product_id", .text(productID)),
            (1703, "transaction_id", .text(transactionID)),
            (1704, "purchase_date_ms", .milliseconds(purchaseDate)),
            (1705, "original_transaction_id", .text(originalTransactionID)),
            (1706, "original_purchase_date_ms", .milliseconds(originalPurchaseDate)),
            (1707, "product_type", .number(productType)),
            (1708, "expires_date_ms", .milliseconds(expiresDate)),
            (1711, "web_order_line_item_id", .number(webOrderLineItemID)),
            (1712, "cancellation_date_ms", .milliseconds(cancellationDate)),
            (1713, "is_trial_period", .number(isTrialPeriod)),
            (1719, "is_in_intro_offer_period", .number(isInIntroductoryOfferPeriod)),
            (1721, "promotional_offer_id", .text(promotionalOfferID)),
        ]
        let types = attributeTypes
        let present = all.filter { types.contains($0.0) }.map { ($0.1, $0.2) }
        return .object(Dictionary(present, uniquingKeysWith: { first, _ in first }))
    }
}

extension JSONValue {
    fileprivate static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
    fileprivate static func number(_ number: Int64?) -> JSONValue { number.map(JSONValue.int) ?? .null }
    fileprivate static func milliseconds(_ instant: Instant?) -> JSONValue { .number(instant?.milliseconds) }
}
