import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

@Suite("A verification can be explained, check by check")
struct VerificationRecordTests {
    private static let authority = TestAuthority()
    private static let rsa = TestAuthority(keys: .rsa)
    private var authority: TestAuthority { Self.authority }

    private func notification(_ changes: [String: JSONValue?] = [:], signer: TestAuthority? = nil) -> [UInt8] {
        let inner = signer ?? authority
        let data: [String: JSONValue?] = [
            "signedTransactionInfo": .string(inner.sign(TestPayloads.transaction())),
            "signedRenewalInfo": .string(authority.sign(TestPayloads.renewal())),
        ]
        return Array(authority.sign(TestPayloads.notification(data: data, changes)).utf8)
    }

    private func passes(_ record: VerificationRecord, _ code: CheckCode) -> Bool {
        record.checks.contains { $0.code == code && $0.outcome == .passed }
    }

    @Test("For a sound notification every check passes, with certificates, date, hashes and the tokens inside")
    func soundNotification() throws {
        let proof = notification()
        let record = try authority.verifier().explain(proof, as: .notification)
        #expect(record.isOK && record.failed == nil && record.verdict == "ok")
        #expect(record.size == proof.count && record.sha256 == Digest.sha256.hash(proof))
        #expect(record.checks.map(\.code) == CheckCode.all(of: .notification))
        let skipped = record.checks.filter { $0.outcome != .passed }
        #expect(skipped.map(\.code) == [.appNumber, .nestedAppTransaction])
        #expect(skipped.allSatisfy { $0.outcome == .skipped(.notAsked) })
        #expect(record.verifiedAt?.instant == TestAuthority.today && record.verifiedAt?.source == .signedDate)
        #expect(record.certificates.map(\.position) == [.leaf, .intermediate, .root])
        #expect(record.certificates.map(\.key) == ["EC P-256", "EC P-256", "EC P-256"])
        #expect(record.certificates[0].markers == ["1.2.840.113635.100.6.11.1"])
        #expect(record.certificates[1].markers == ["1.2.840.113635.100.6.2.1"])
        #expect(record.certificates[2].sha256 == Digest.sha256.hash(authority.root.der))
        #expect(record.certificates[0].issuer == record.certificates[1].subject)
        #expect(record.certificates[0].notBefore.seconds == TestAuthority.validity.lowerBound)
        #expect(record.certificates.allSatisfy { !$0.serial.isEmpty })
        let payload = try #require(CompactToken(proof)?.payload)
        #expect(record.checks.first { $0.code == .payload }?.inputSHA256 == Digest.sha256.hash(payload))
        #expect(record.nested.map(\.name) == ["signedTransactionInfo", "signedRenewalInfo"])
        #expect(record.nested.allSatisfy { $0.record.isOK && passes($0.record, .signature) })
        let inner = record.nested[0].record
        #expect(inner.checks.first { $0.code == .app }?.expected == "com.example.learn")
    }

    @Test("A receipt's certificates are listed too, with RSA keys and the date of attribute 12")
    func soundReceipt() throws {
        let proof = Self.rsa.receipt(TestReceipts.content(), hasSignedAttributes: true)
        let record = try Self.rsa.verifier().explain(proof, as: .receipt, device: TestReceipts.device)
        #expect(record.isOK && record.checks.allSatisfy { $0.outcome == .passed })
        #expect(record.verifiedAt?.source == .receiptAttribute)
        #expect(record.certificates.map(\.key) == ["RSA 2048", "RSA 2048", "RSA 2048"])
        let other = try Self.rsa.verifier().explain(proof, as: .receipt, device: [1, 2, 3, 4, 5, 6])
        #expect(other.failed?.code == .device && other.verdict == "wrong_device")
    }

    @Test("The failed check is named, earlier ones passed, and later ones were not reached")
    func failures() throws {
        let payload = TestPayloads.transaction()
        let certificates = authority.certificates
        var flaws = TestAuthority.Flaws()
        flaws.leafMarker = nil
        let unmarkedLeaf = TestAuthority(flaws)
        flaws = TestAuthority.Flaws()
        flaws.intermediateMarker = nil
        let unmarked = TestAuthority(flaws)
        let late = TestPayloads.transaction(["signedDate": .int(TestAuthority.validity.upperBound * 1_000)])
        let cases: [(TestAuthority, String, CheckCode, Verdict)] = [
            (authority, "e30", .parse, .malformed), (authority, "e30.AAAA.AAAA", .payload, .malformed),
            (authority, authority.sign(TestPayloads.renewal()), .kind, .malformed),
            (authority, authority.sign(TestPayloads.transaction(["productId": nil])), .fields, .malformed),
            (authority, authority.sign(payload: Array(payload.encoded().utf8), header: [1]), .header, .malformed),
            (authority, authority.sign(payload, x5c: []), .certificateList, .missingX5C),
            (authority, authority.sign(payload, alg: "none"), .algorithm, .malformed),
            (authority, authority.sign(payload, x5c: [certificates[0]]), .certificateCount, .chainLength),
            (
                authority, authority.sign(payload, header: ["alg": "ES256", "x5c": [1, 2, 3]]), .certificateEncoding,
                .badCertificate
            ),
            (authority, authority.sign(payload, x5c: [[1], [2], [3]]), .certificates, .badCertificate),
            (TestAuthority(), authority.sign(payload), .chain, .chainUntrusted),
            (authority, authority.sign(late), .validity, .chainExpired),
            (unmarkedLeaf, unmarkedLeaf.sign(payload), .leafMarker, .missingOID),
            (unmarked, unmarked.sign(payload), .intermediateMarker, .missingOID),
            (authority, TestAuthority().sign(payload, x5c: certificates), .signature, .badSignature),
            (authority, authority.sign(TestPayloads.transaction(["bundleId": "x.y"])), .app, .wrongApp),
            (
                authority, authority.sign(TestPayloads.transaction(["environment": "Sandbox"])), .environment,
                .wrongEnvironment
            ),
        ]
        for (trusted, text, code, verdict) in cases {
            let verifier = try trusted.verifier()
            let record = verifier.explain(Array(text.utf8), as: .transaction)
            #expect(record.failed?.code == code && record.failed?.outcome == .failed(verdict), "\(code)")
            #expect(record.verdict == verdict.rawValue && !record.isOK)
            let codes = CheckCode.all(of: .transaction)
            #expect(record.checks.map(\.code) == codes)
            let place = try #require(codes.firstIndex(of: code))
            #expect(record.checks[..<place].allSatisfy { $0.outcome == .passed }, "\(code)")
            #expect(record.checks[(place + 1)...].allSatisfy { $0.outcome == .skipped(.notReached) }, "\(code)")
        }
    }

    @Test("Untrusted certificates are shown in the order they came")
    func presented() throws {
        let stranger = TestAuthority()
        let record = try authority.verifier().explain(
            Array(stranger.sign(TestPayloads.transaction()).utf8), as: .transaction)
        #expect(record.certificates.map(\.position) == [.presented, .presented])
        #expect(record.certificates[0].sha256 == Digest.sha256.hash(stranger.leaf.der))
        #expect(record.failed?.explanation?.isEmpty == false, "OpenSSL's words")
    }

    @Test("A nested token that fails is named, and one that was not reached is not called good")
    func nested() throws {
        let verifier = try authority.verifier()
        let foreign = verifier.explain(notification(signer: TestAuthority()), as: .notification)
        #expect(foreign.failed?.code == .nestedTransaction && foreign.verdict == "chain_untrusted")
        #expect(foreign.nested[0].record.failed?.code == .chain)
        #expect(foreign.nested[1].record.verdict == "not-verified" && !foreign.nested[1].record.isOK)
        let other = verifier.explain(notification(["data": nil]), as: .notification)
        #expect(other.failed?.code == .app && other.nested.isEmpty)
        let outer = try TestAuthority().verifier().explain(notification(), as: .notification)
        #expect(outer.failed?.code == .chain)
        #expect(outer.nested.allSatisfy { $0.record.verdict == "not-verified" && !passes($0.record, .signature) })
    }

    @Test("The date's source is stated: the policy, the payload, the creation date, or now")
    func dates() throws {
        var policy = authority.policy()
        policy.at = Instant(seconds: 1_740_000_000)
        let at = try SignedDataVerifier(policy: policy).explain(notification(), as: .notification)
        #expect(at.verifiedAt?.instant.seconds == 1_740_000_000 && at.verifiedAt?.source == .policy)
        let verifier = try authority.verifier()
        #expect(verifier.explain(notification(["signedDate": nil]), as: .notification).verifiedAt?.source == .now)
        let app = Array(authority.sign(TestPayloads.appTransaction()).utf8)
        #expect(verifier.explain(app, as: .appTransaction).verifiedAt?.source == .receiptCreationDate)
    }

    @Test("Explaining neither uses nor fills the cache of chains")
    func cache() throws {
        let verifier = try authority.verifier()
        #expect(verifier.explain(notification(), as: .notification).isOK)
        #expect(verifier.cachedChainCount == 0)
        _ = try verifier.notification(notification())
        #expect(verifier.explain(notification(), as: .notification).certificates.count == 3)
    }

    @Test("The record as JSON has stable names")
    func json() throws {
        let json = try authority.verifier().explain(notification(signer: TestAuthority()), as: .notification).json
        let inner = json["nested"]?["signedTransactionInfo"]
        #expect(json["kind"] == "jws-notification" && json["verdict"] == "chain_untrusted")
        #expect(json["failed"] == "nested_transaction" && inner?["failed"] == "chain")
        #expect(json["sha256"]?.string?.count == 64 && json["size"]?.int ?? 0 > 1_000)
        #expect(json["verifiedAt"]?["source"] == "signedDate")
        #expect(json["verifiedAt"]?["unixSeconds"]?.int == TestAuthority.today.seconds)
        let checks = try #require(inner?["checks"]?.array)
        #expect(checks.count == CheckCode.all(of: .transaction).count)
        #expect(checks.contains(["code": "app", "outcome": "skipped", "reason": "not_reached"]))
        let certificate = try #require(json["certificates"]?[0])
        #expect(
            Set(certificate.object?.keys.map { $0 } ?? []) == [
                "position", "subject", "issuer", "serial", "sha256", "notBefore", "notAfter", "key", "markers",
            ])
    }

    @Test("Every check has a sentence in both languages, and a place in some kind's order")
    func sentences() {
        for code in CheckCode.allCases {
            #expect(!code.sentence.en.isEmpty && !code.sentence.zh.isEmpty && code.sentence.en != code.sentence.zh)
            #expect(ProofInspection.Kind.allCases.contains { CheckCode.all(of: $0).contains(code) }, "\(code)")
        }
    }

    @Test("Text from a proof can't fill the record: long texts are truncated")
    func bounds() throws {
        let long = String(repeating: "x", count: 30_000)
        for changes in [["bundleId": JSONValue.string(long)], ["environment": .string(long)]] {
            let jws = authority.sign(TestPayloads.transaction(changes))
            let record = try authority.verifier().explain(Array(jws.utf8), as: .transaction)
            #expect(!record.isOK && record.json.encoded().utf8.count < 10_000)
        }
        let lines = (0..<9_000).map { "\"\($0)\" = \"\(long.prefix(50))\";" }.joined()
        let text = "{\"purchase-info\" = \"\(Base64Text.encode("{}"))\";\(lines)}"
        let record = try authority.verifier().explain(Array(text.utf8), as: .oldStyleReceipt)
        #expect(record.verdict == "extract-only" && record.unsigned.count == 32)
    }

    @Test(
        "An armoured receipt is read under any label, and text with a byte order mark is text",
        arguments: ["PKCS7", "CMS", "PKCS #7 SIGNED DATA", "RECEIPT"])
    func armour(label: String) throws {
        let receipt = Self.rsa.receipt(TestReceipts.content())
        var policy = InspectionPolicy { TestAuthority.today }
        policy.roots = [Self.rsa.root.der]
        let text = PEM.encode(receipt, label: label)
        for form in [text, text.replacing("\n", with: "\r\n"), "\u{FEFF}" + text, "\u{FEFF}" + Base64.encode(receipt)] {
            let inspection = ProofInspection.inspect(Array(form.utf8), policy: policy)
            #expect(inspection.isOK && inspection.kind == .receipt, "\(inspection.detail)")
        }
        let cut = ProofInspection.inspect(Array(text.utf8.prefix(200)), policy: policy)
        #expect(cut.verdict == "malformed" && cut.kind == .receipt)
    }

    @Test(
        "An unrecognized proof is treated as a notification if it has dots, else as a receipt",
        arguments: [
            ("a.b.c", "jws-notification"), ("", "pkcs7-receipt"), ("hello", "pkcs7-receipt"),
            ("{}", "old-style-receipt"),
        ])
    func kinds(text: String, kind: String) {
        let inspection = ProofInspection.inspect(Array(text.utf8), policy: InspectionPolicy { TestAuthority.today })
        #expect(inspection.kind.rawValue == kind && inspection.verdict == "malformed")
        #expect(inspection.record.failed?.code == .parse)
        #expect(inspection.record.checks.dropFirst().allSatisfy { $0.outcome == .skipped(.notReached) })
    }

    @Test("Dates at the ends of the range are reported without a trap", arguments: [Int64.min, -1, .max])
    func extremes(milliseconds: Int64) throws {
        let jws = authority.sign(TestPayloads.transaction(["signedDate": .int(milliseconds)]))
        let record = try authority.verifier().explain(Array(jws.utf8), as: .transaction)
        #expect(record.failed?.code == .validity && !record.json.encoded().isEmpty)
    }
}

extension JSONValue {
    fileprivate subscript(index: Int) -> JSONValue? {
        array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
    }
}
