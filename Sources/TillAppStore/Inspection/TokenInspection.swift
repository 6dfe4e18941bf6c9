import TillBilling
import TillCrypto
import TillJSON

extension ProofInspection {
    /// Any JWS of Apple's. For inspection, its payload may lack fields that processing a purchase needs.
    static func token(
        _ text: [UInt8], _ verificationPolicy: VerificationPolicy, _ recorder: VerificationRecorder
    ) -> ProofInspection {
        let checks = ProofChecks(verificationPolicy, recorder: recorder)
        var fields: [String: JSONValue] = [:]
        do throws(VerificationError) {
            let proof = try InspectedToken(text, limit: SignedDataVerifier.notificationLimit, checks)
            recorder.kind = proof.kind.proof
            fields = proof.fields
            var nested: [(name: NestedToken, reading: InspectedToken, recorder: VerificationRecorder?)] = []
            for name in NestedToken.allCases {
                let read = try checks.nested(proof.nestedToken(name), name) { inner, text throws(VerificationError) in
                    let reading = try InspectedToken(text, limit: SignedDataVerifier.tokenLimit, inner)
                    try inner.check(reading.kind, is: name.kind)
                    return reading
                }
                guard let read else { continue }
                fields[name.rawValue] = read.reading.payload
                nested.append((name, read.reading, read.recorder))
            }
            try proof.verify(checks, &fields)
            for (name, reading, recorder) in nested {
                guard verificationPolicy.requiresTrust else {
                    recorder?.complete(okUnverified)
                    continue
                }
                _ = try checks.verify((reading, recorder), name, inside: proof.unverified) {
                    inner, reading throws(VerificationError) in
                    var ignored: [String: JSONValue] = [:]
                    try reading.verify(inner, &ignored)
                }
            }
            recorder.complete(verificationPolicy.requiresTrust ? nil : okUnverified)
        } catch {
            // The journal has recorded the failure.
        }
        return ProofInspection(fields, recorder)
    }
}

/// A JWS with its payload as raw JSON.
private struct InspectedToken {
    let token: CompactToken
    /// Nil if it is not a JSON object; the header check then refuses it.
    let header: JWSHeader?
    let payload: JSONValue
    let kind: TokenKind
    /// The object that states the app, its number and the environment.
    let subject: JSONValue

    init(_ text: [UInt8], limit: Int, _ checks: ProofChecks) throws(VerificationError) {
        let token = try checks.parse(text, limit: limit)
        let payload = try checks.check(.payload) { () throws(VerificationError) in
            checks.recorder?.look(at: token.payload)
            guard let payload = try? JSONValue(decoding: token.payload), payload.object != nil else {
                throw VerificationError(.malformed, "payload")
            }
            if let date = Self.statedDate(in: payload), Self.milliseconds(date) == nil {
                throw VerificationError(.malformed, "signedDate")
            }
            return payload
        }
        self.token = token
        self.payload = payload
        header = JWSHeader(token.header)
        kind = TokenKind { key in payload[key.description] != nil }
        let parts = ["data", "summary", "externalPurchaseToken", "appData"].lazy.compactMap { payload[$0] }
        let part = parts.first { $0.object?.isEmpty == false }
        subject = kind == .notification ? part ?? payload : payload
    }

    /// The date as written: a number of milliseconds, or its digits.
    private static func statedDate(in payload: JSONValue) -> JSONValue? {
        [payload["signedDate"], payload["receiptCreationDate"]].lazy.compactMap { $0 }.first { !$0.isNull }
    }

    private static func milliseconds(_ date: JSONValue) -> Int64? {
        switch date {
        case .string(let digits): Int64(digits)
        // A date beyond 64 bits is outside every certificate's validity.
        default: date.number.map { JSONText.floor($0) ?? ($0 < 0 ? .min : .max) }
        }
    }

    private var environment: JSONValue? {
        if kind == .notification {
            guard let id = subject["externalPurchaseId"]?.string else { return subject["environment"] }
            return .string(NotificationPayload.environment(ofExternalPurchase: id))
        }
        let stated = payload["environment"].flatMap { $0 == "" || $0.isNull ? nil : $0 }
        return stated ?? payload["receiptType"]
    }

    var unverified: UnverifiedPayload {
        let date = Self.statedDate(in: payload).flatMap(Self.milliseconds)
        let isSigned = payload["signedDate"].map { !$0.isNull } ?? false
        return UnverifiedPayload(
            kind: kind.proof, bundleID: subject["bundleId"]?.string, appAppleID: subject["appAppleId"]?.int,
            environment: environment?.string, date: date.map { Instant(milliseconds: $0) },
            dateSource: isSigned ? .signedDate : .receiptCreationDate)
    }

    func nestedToken(_ name: NestedToken) -> String? {
        guard kind == .notification, let text = subject[name.rawValue]?.string, !text.isEmpty else { return nil }
        return text
    }

    var fields: [String: JSONValue] {
        guard let header else { return [:] }
        return [
            "alg": header.json["alg"] ?? .null,
            "x5cCount": .int(Int64(header.certificates.count)),
            "payload": payload,
            "kind": .string(kind.rawValue),
            "bundleId": subject["bundleId"] ?? .null,
            "appAppleId": subject["appAppleId"] ?? .null,
            "environment": environment ?? .null,
            "signedDate": Self.statedDate(in: payload) ?? .null,
        ]
    }

    func verify(_ checks: ProofChecks, _ fields: inout [String: JSONValue]) throws(VerificationError) {
        let header = try checks.header(of: token)
        let unverified = unverified
        if checks.verificationPolicy.requiresTrust {
            try authenticate(header, unverified, checks, &fields)
        } else {
            fields["leafSubject"] = header.certificates.first?.string.flatMap { Base64.decode($0) }
                .flatMap { Certificate(der: $0) }.map { .string($0.subject) }
        }
        try checks.subject(of: unverified)
    }

    private func authenticate(
        _ header: JWSHeader, _ unverified: UnverifiedPayload, _ checks: ProofChecks, _ fields: inout [String: JSONValue]
    ) throws(VerificationError) {
        let date = checks.date(of: unverified, now: checks.verificationPolicy.now())
        if !header.certificates.isEmpty, header.json["alg"] == .string(JWSHeader.algorithm) {
            let isStated = checks.verificationPolicy.at != nil || unverified.date != nil
            fields["effectiveDate"] = isStated ? .int(date.seconds) : "now"
        }
        let chain = try checks.chain(of: header, at: date)
        fields["leafSubject"] = .string(chain.leaf.subject)
        fields["leafNotBefore"] = .int(chain.leaf.notBefore)
        fields["leafNotAfter"] = .int(chain.leaf.notAfter)
        fields["rootSha256"] = .string(hexadecimal(chain.root.sha256))
        let third = header.certificates[2].string.flatMap { Base64.decode($0) }
        fields["x5c2EqualsAnchor"] = .bool(third == chain.root.der)
        try checks.signatureVerifier(of: token, chain)
    }
}
