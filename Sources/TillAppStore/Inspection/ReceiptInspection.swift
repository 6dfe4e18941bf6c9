import TillBilling
import TillCrypto

extension ProofInspection {
    /// An app receipt, DER or BER.
    static func receipt(_ bytes: [UInt8], _ policy: InspectionPolicy) -> ProofInspection {
        var inspection = ProofInspection(.receipt)
        judged(&inspection) { inspection throws(VerificationFailure) in
            guard bytes.count <= SignedDataVerifier.receiptLimit else {
                throw VerificationFailure(.malformed, "longer than \(SignedDataVerifier.receiptLimit) bytes")
            }
            let (message, payload) = try ReceiptContainer.read(bytes)
            inspection.fields = payload.fields
            inspection.fields["payload_length"] = .int(Int64(message.content.count))
            let container = try ReceiptContainer(message, payload)
            container.describe(in: &inspection)
            guard message.attributesMatchContent else { throw VerificationFailure(.badSignature, "messageDigest") }
            let isSignatureValid = message.isSignatureValid()
            inspection.fields["signature_valid"] = .bool(isSignatureValid)
            guard let created = payload.creationDate?.seconds else {
                throw VerificationFailure(.malformed, "creation date")
            }
            let chain = container.judgeChain(policy, created: created, in: &inspection)
            if let device = policy.device {
                inspection.fields["device_hash_valid"] = .bool(container.matches(device: device))
            }
            if policy.isLocal {
                inspection.verdict = okUnverified
            } else {
                try container.checkChain(try chain.get(), policy, in: &inspection)
                guard isSignatureValid else { throw VerificationFailure(.badSignature) }
            }
            try container.checkSubject(policy)
        }
        return inspection
    }
}

extension ReceiptContainer {
    fileprivate func describe(in inspection: inout ProofInspection) {
        inspection.fields["digest"] = .string(digest.rawValue)
        // The end of a long name tells more than its beginning.
        let end = String.UnicodeScalarView(signer.subject.unicodeScalars.suffix(120))
        inspection.fields["signer"] = .string(String(end))
        inspection.fields["cert_count"] = .int(Int64(message.certificates.count))
        inspection.fields["signed_attrs"] = .bool(message.hasSignedAttributes)
    }

    /// The chain at the time the policy asks about, and beside it what it was when the receipt was made.
    fileprivate func judgeChain(
        _ policy: InspectionPolicy, created: Int64, in inspection: inout ProofInspection
    ) -> Result<[Certificate], VerificationFailure> {
        guard let trust = policy.trustStore else { return .failure(VerificationFailure(.badRoot)) }
        func judge(_ seconds: Int64) -> Result<[Certificate], VerificationFailure> {
            Result { () throws(VerificationFailure) in try chain(trust: trust, at: seconds) }
        }
        let atCreation = judge(created)
        inspection.fields["chain_at_creation"] = .string(Self.verdict(of: atCreation))
        return policy.at.map(judge) ?? atCreation
    }

    private static func verdict(of result: Result<[Certificate], VerificationFailure>) -> String {
        switch result {
        case .success: Verdict.ok.rawValue
        case .failure(let failure): failure.verdict.rawValue
        }
    }

    fileprivate func checkChain(
        _ chain: [Certificate], _ policy: InspectionPolicy, in inspection: inout ProofInspection
    ) throws(VerificationFailure) {
        inspection.fields["rootSha256"] = chain.last.map { .string(hexadecimal($0.sha256)) }
        guard signer.hasExtension(SigningChain.leafMarker) else { throw VerificationFailure(.missingOID, "leaf") }
        let isMarked = chain.count > 1 && chain[1].hasExtension(SigningChain.intermediateMarker)
        inspection.fields["intermediate_oid"] = .bool(isMarked)
        if !isMarked, policy.requiresIntermediateMarker { throw VerificationFailure(.missingOID, "intermediate") }
        guard chain.count == 3 else { throw VerificationFailure(.chainUntrusted, "\(chain.count) certificates") }
    }

    fileprivate func checkSubject(_ policy: InspectionPolicy) throws(VerificationFailure) {
        if let bundleID = policy.bundleID, payload.bundleID != bundleID {
            throw VerificationFailure(.wrongApp, "bundleId")
        }
        let environment = payload.environment?.rawValue ?? payload.receiptType
        if let expected = policy.environment, environment != expected {
            throw VerificationFailure(.wrongEnvironment, payload.receiptType ?? "none")
        }
        if let device = policy.device, !matches(device: device) { throw VerificationFailure(.wrongDevice) }
    }
}

extension ReceiptPayload {
    /// Under the names that Apple's verifyReceipt uses, with instants in milliseconds.
    fileprivate var fields: [String: JSONValue] {
        var fields: [String: JSONValue] = [
            "receipt_type": .text(receiptType), "bundle_id": .text(bundleID),
            "application_version": .text(applicationVersion),
            "original_application_version": .text(originalApplicationVersion),
            "receipt_creation_date_ms": .milliseconds(creationDate),
            "expiration_date_ms": .milliseconds(expirationDate),
            "in_app": .array(purchases.map(\.fields)),
            "attribute_types": .array(attributeTypes.sorted().map(JSONValue.int)),
        ]
        fields["opaque_hex"] = opaqueValue.map { .string(hexadecimal($0)) }
        fields["sha1_hex"] = deviceHash.map { .string(hexadecimal($0)) }
        if attributeTypes.contains(10) { fields["age_rating"] = .text(ageRating) }
        return fields
    }
}

extension ReceiptPurchase {
    /// Only what the record has; an attribute without value is `null`.
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
        let present = all.filter { attributeTypes.contains($0.0) }.map { ($0.1, $0.2) }
        return .object(Dictionary(present, uniquingKeysWith: { first, _ in first }))
    }
}

extension JSONValue {
    fileprivate static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
    fileprivate static func number(_ number: Int64?) -> JSONValue { number.map(JSONValue.int) ?? .null }
    fileprivate static func milliseconds(_ instant: Instant?) -> JSONValue { .number(instant?.milliseconds) }
}
