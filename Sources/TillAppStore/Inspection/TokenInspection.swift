import TillBilling
import TillCrypto

extension ProofInspection {
    /// Any JWS of Apple's. The payload may lack what a settlement needs; here it is only looked at.
    static func token(_ text: [UInt8], _ policy: InspectionPolicy) -> ProofInspection {
        var inspection = ProofInspection(.unknown)
        judged(&inspection) { inspection throws(VerificationFailure) in
            let proof = try InspectedToken(text)
            inspection.kind = proof.inspectionKind
            proof.describe(in: &inspection)
            for name in InspectedToken.nestedNames {
                guard let nested = proof.nestedToken(name) else { continue }
                do throws(VerificationFailure) {
                    inspection.fields[name] = try InspectedToken(Array(nested.utf8)).payload
                } catch {
                    throw error.nested(in: name)
                }
            }
            if policy.isLocal {
                inspection.fields["leafSubject"] = proof.claimedLeafSubject
                inspection.verdict = okUnverified
            } else {
                try proof.authenticate(policy, trust: policy.trustStore, in: &inspection)
            }
            try proof.checkSubject(policy)
            if !policy.isLocal { try proof.checkNested(policy) }
        }
        return inspection
    }
}

extension InspectionPolicy {
    /// Nil if a root cannot be read.
    var trustStore: TrustStore? { SignedDataVerifier.trustStore(roots: anchors, isStrict: isStrict) }
}

/// A JWS whose payload is kept as it is.
private struct InspectedToken {
    let token: CompactToken
    let header: JWSHeader
    let payload: JSONValue
    let kind: TokenKind
    /// What the app, its number and the environment are read from.
    let subject: JSONValue

    static let nestedNames = ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"]

    init(_ text: [UInt8]) throws(VerificationFailure) {
        guard text.count <= SignedDataVerifier.notificationLimit else {
            throw VerificationFailure(.malformed, "longer than \(SignedDataVerifier.notificationLimit) bytes")
        }
        guard let token = CompactToken(text) else { throw VerificationFailure(.malformed, "not a compact JWS") }
        guard let header = JWSHeader(token.header) else { throw VerificationFailure(.malformed, "header") }
        guard let payload = try? JSONValue(decoding: token.payload), payload.object != nil else {
            throw VerificationFailure(.malformed, "payload")
        }
        self.token = token
        self.header = header
        self.payload = payload
        kind = TokenKind { key in payload[key.description] != nil }
        let parts = ["data", "summary", "appData", "externalPurchaseToken"].lazy.compactMap { payload[$0] }
        let part = parts.first { $0.object?.isEmpty == false }
        subject = kind == .notification ? part ?? payload : payload
        if let date = self.signedDate, date.number == nil { throw VerificationFailure(.malformed, "signedDate") }
    }

    var inspectionKind: ProofInspection.Kind {
        switch kind {
        case .notification: .notification
        case .appTransaction: .appTransaction
        case .transaction: .transaction
        case .renewal: .renewal
        }
    }

    var environment: String? {
        if kind == .notification, let id = subject["externalPurchaseId"]?.string {
            return NotificationPayload.environment(ofExternalPurchase: id)
        }
        let stated = subject["environment"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        return kind == .notification ? stated : stated ?? subject["receiptType"]?.string
    }

    /// Milliseconds since 1970, as they were written.
    var signedDate: JSONValue? {
        [payload["signedDate"], payload["receiptCreationDate"]].lazy.compactMap { $0 }.first { !$0.isNull }
    }

    var claimedLeafSubject: JSONValue? {
        header.certificates.first?.string.flatMap { Base64.decode($0) }.flatMap { Certificate(der: $0) }
            .map { .string($0.subject) }
    }

    func nestedToken(_ name: String) -> String? {
        guard kind == .notification, let text = subject[name]?.string, !text.isEmpty else { return nil }
        return text
    }

    func describe(in inspection: inout ProofInspection) {
        inspection.fields = [
            "alg": header.json["alg"] ?? .null,
            "x5cCount": .int(Int64(header.certificates.count)),
            "payload": payload,
            "kind": .string(kind.rawValue),
            "bundleId": subject["bundleId"] ?? .null,
            "appAppleId": subject["appAppleId"] ?? .null,
            "environment": environment.map(JSONValue.string) ?? .null,
            "signedDate": signedDate ?? .null,
        ]
    }

    func authenticate(
        _ policy: InspectionPolicy, trust: TrustStore?, in inspection: inout ProofInspection
    ) throws(VerificationFailure) {
        guard !header.certificates.isEmpty else { throw VerificationFailure(.missingX5C) }
        guard header.json["alg"] == .string(JWSHeader.algorithm) else { throw VerificationFailure(.malformed, "alg") }
        let stated = signedDate?.number.flatMap(JSONText.floor).map { Instant(milliseconds: $0).seconds }
        let seconds = policy.at ?? stated ?? policy.now().seconds
        inspection.fields["effectiveDate"] = policy.at == nil && stated == nil ? "now" : .int(seconds)
        let chain = try SigningChain(x5c: header.certificates, trust: trust, at: seconds)
        inspection.fields["leafSubject"] = .string(chain.leaf.subject)
        inspection.fields["leafNotBefore"] = .int(chain.leaf.notBefore)
        inspection.fields["leafNotAfter"] = .int(chain.leaf.notAfter)
        inspection.fields["rootSha256"] = .string(hexadecimal(chain.root.sha256))
        let third = header.certificates[2].string.flatMap { Base64.decode($0) }
        inspection.fields["x5c2EqualsAnchor"] = .bool(third == chain.root.der)
        try checkSignature(chain)
    }

    private func checkSignature(_ chain: SigningChain) throws(VerificationFailure) {
        guard token.signature.count == 64 else { throw VerificationFailure(.badSignature, "length") }
        guard let key = chain.leaf.publicKey, token.isSigned(by: key) else {
            throw VerificationFailure(.badSignature)
        }
    }

    /// App before environment, as Apple's libraries report it.
    func checkSubject(_ policy: InspectionPolicy) throws(VerificationFailure) {
        if kind != .renewal, let bundleID = policy.bundleID, subject["bundleId"]?.string != bundleID {
            throw VerificationFailure(.wrongApp, "bundleId")
        }
        if kind == .notification || kind == .appTransaction, let appAppleID = policy.appAppleID,
            policy.environment == Environment.production.rawValue, subject["appAppleId"]?.int != appAppleID
        {
            throw VerificationFailure(.wrongApp, "appAppleId")
        }
        if let expected = policy.environment, environment != expected {
            throw VerificationFailure(.wrongEnvironment, environment ?? "none")
        }
    }

    /// The tokens inside a notification must be Apple's too, of the same app and environment.
    func checkNested(_ policy: InspectionPolicy) throws(VerificationFailure) {
        let trust = policy.trustStore
        for name in Self.nestedNames {
            guard let text = nestedToken(name) else { continue }
            do throws(VerificationFailure) {
                let nested = try InspectedToken(Array(text.utf8))
                var ignored = ProofInspection(nested.inspectionKind)
                try nested.authenticate(policy, trust: trust, in: &ignored)
                var inner = policy
                inner.bundleID = policy.bundleID ?? subject["bundleId"]?.string
                inner.environment = policy.environment ?? environment
                guard nested.kind == Self.kind(ofNested: name) else {
                    throw VerificationFailure(.malformed, nested.kind.rawValue)
                }
                try nested.checkSubject(inner)
            } catch {
                throw error.nested(in: name)
            }
        }
    }

    private static func kind(ofNested name: String) -> TokenKind {
        switch name {
        case "signedTransactionInfo": .transaction
        case "signedRenewalInfo": .renewal
        default: .appTransaction
        }
    }
}
