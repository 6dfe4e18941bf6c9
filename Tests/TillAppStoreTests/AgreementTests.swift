import Testing
import TillBilling
import TillCrypto
import TillJSON

@testable import TillAppStore

@Suite("A server's verdict, its explanation and an inspection's verdict agree")
struct AgreementTests {
    /// The server's verdict on a proof of that kind.
    private func plain(
        _ verifier: SignedDataVerifier, _ proof: [UInt8], _ kind: ProofInspection.Kind, device: [UInt8]? = nil
    ) -> VerificationError? {
        do throws(VerificationError) {
            switch kind {
            case .transaction: _ = try verifier.transaction(proof)
            case .renewal: _ = try verifier.renewalInfo(proof)
            case .appTransaction: _ = try verifier.appTransaction(proof)
            case .notification: _ = try verifier.notification(proof)
            default: _ = try verifier.receipt(proof, device: device)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Checks that the three agree. An inspection accepts any kind and requires no processing field: if one of these
    /// failed, the inspection continues and its verdict may differ.
    ///
    /// - Returns: the common verdict; nil if the inspection's may differ.
    @discardableResult
    private func agree(
        _ policy: TrustPolicy, _ proof: [UInt8], _ kind: ProofInspection.Kind, device: [UInt8]? = nil, _ name: String
    ) throws -> String? {
        let verifier = try SignedDataVerifier(policy: policy)
        let failure = plain(verifier, proof, kind, device: device)
        let record = verifier.explain(proof, as: kind, device: device)
        #expect(record.verdict == failure?.verdict.rawValue ?? "ok", "\(name)")
        #expect(record.detail == failure?.detail ?? "", "\(name)")
        #expect(plain(verifier, proof, kind, device: device) == failure, "\(name): with a remembered chain")
        if record.failed?.code == .kind || record.failed?.code == .fields { return nil }
        if record.nested.contains(where: { [.kind, .fields].contains($0.record.failed?.code) }) { return nil }

        var asked = InspectionPolicy(now: policy.now)
        asked.roots = policy.roots
        asked.bundleID = policy.bundleID
        asked.appAppleID = policy.appAppleID
        asked.environment = policy.environments?.first?.rawValue
        asked.at = policy.at?.seconds
        asked.isStrict = policy.isStrict
        asked.device = device
        let inspection = ProofInspection.inspect(proof, policy: asked)
        #expect(inspection.verdict == record.verdict, "\(name): \(inspection.detail) or \(record.detail)")
        if inspection.kind == kind, inspection.record.failed != nil {
            #expect(inspection.record.failed?.code == record.failed?.code, "\(name)")
        }
        return record.verdict
    }

    @Test(
        "They agree on every shared token and receipt",
        .enabled(if: SharedVectors.arePresent, SharedVectors.absence))
    func sharedProofs() throws {
        var verdicts: Set<String> = []
        for row in SharedVectors.proofs where row.format != "chain-json" && row.format != "oldstyle-b64" {
            guard let kind = ProofInspection.Kind(rawValue: row.kind) else { continue }
            for environment in [StoreEnvironment.production, .sandbox] {
                var policy = TrustPolicy(bundleID: row.policy["bundleId"]?.string, environments: [environment]) {
                    testNow
                }
                policy.roots = row.policy["roots"]?.array?.compactMap { $0.string.map(SharedVectors.bytes) } ?? []
                if policy.roots.isEmpty { policy.roots = AppleRoots.all }
                policy.appAppleID = row.policy["appAppleId"]?.int
                policy.isStrict = row.policy["strict"]?.bool ?? false
                policy.at = row.policy["at"]?.int.map { Instant(seconds: $0) }
                var proof = ProofText.trimmed(row.bytes)
                if row.format == "p7-der" { proof = row.bytes }
                if row.format == "p7-b64" { proof = Base64.decode(proof.filter { $0 > 0x20 }) ?? [] }
                let device = row.policy["deviceGuidHex"]?.string.map(bytesOfHexadecimal)
                if let verdict = try agree(policy, proof, kind, device: device, row.id) { verdicts.insert(verdict) }
            }
        }
        #expect(
            verdicts.isSuperset(of: [
                "ok", "malformed", "chain_expired", "chain_untrusted", "missing_oid", "wrong_environment",
            ]))
    }

    @Test("They agree on tokens with one character changed", arguments: 1...4 as ClosedRange<UInt64>)
    func damagedTokens(seed: UInt64) throws {
        let authority = OracleCases.authority
        var generator = SeededGenerator(state: seed)
        var policy = authority.policy()
        policy.appAppleID = 1_234_567_890
        let inner: [String: JSONValue?] = ["signedTransactionInfo": .string(authority.sign(TestPayloads.transaction()))]
        let proofs: [(String, ProofInspection.Kind)] = [
            (authority.sign(TestPayloads.transaction()), .transaction),
            (authority.sign(TestPayloads.renewal()), .renewal),
            (authority.sign(TestPayloads.appTransaction()), .appTransaction),
            (authority.sign(TestPayloads.notification(data: inner)), .notification),
        ]
        let letters = Array("ABab01-_.=!{".utf8)
        var refused = 0
        for (text, kind) in proofs {
            #expect(try agree(policy, Array(text.utf8), kind, "sound \(kind)") == "ok")
            for _ in 0..<60 {
                var damaged = Array(text.utf8)
                let place = Int.random(in: damaged.indices, using: &generator)
                damaged[place] = letters.randomElement(using: &generator) ?? 0
                let verdict = try agree(policy, damaged, kind, "\(kind), seed \(seed), place \(place)")
                if let verdict, verdict != "ok" { refused += 1 }
            }
        }
        #expect(refused > 150)
    }

    @Test("They agree on signed payloads with members changed or missing")
    func changedPayloads() throws {
        let authority = OracleCases.authority
        var generator = SeededGenerator(state: 11)
        var policy = authority.policy()
        policy.appAppleID = 1_234_567_890
        let values: [JSONValue?] = [
            nil, .null, "x", 7, -1, 1e300, true, [], ["a": 1], "Sandbox", "com.example.other", 1_900_000_000_000,
        ]
        var common = 0
        for _ in 0..<250 {
            let token = authority.sign(TestPayloads.transaction())
            let (payload, kind): (JSONValue, ProofInspection.Kind) =
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: (TestPayloads.transaction(), .transaction)
                case 1: (TestPayloads.renewal(), .renewal)
                case 2: (TestPayloads.appTransaction(), .appTransaction)
                default: (TestPayloads.notification(data: ["signedTransactionInfo": .string(token)]), .notification)
                }
            let keys = (payload.object ?? [:]).keys.sorted()
            let key = keys.randomElement(using: &generator) ?? ""
            let value = values.randomElement(using: &generator) ?? nil
            let changed = authority.sign(TestPayloads.changed(payload, [key: value]))
            let name = "\(kind): \(key) = \(value?.encoded() ?? "absent")"
            if try agree(policy, Array(changed.utf8), kind, name) != nil { common += 1 }
        }
        #expect(common > 80)
    }

    @Test("They agree on receipts with one octet changed, truncated, or with changed content")
    func damagedReceipts() throws {
        let authority = OracleCases.rsa
        var generator = SeededGenerator(state: 5)
        let policy = authority.policy()
        let plain = authority.receipt(TestReceipts.content())
        #expect(try agree(policy, plain, .receipt, device: TestReceipts.device, "sound") == "ok")
        for _ in 0..<150 {
            var damaged = plain
            let place = Int.random(in: 1..<damaged.count, using: &generator)
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            // A broken length turns the rest into other text; the text's meaning is not compared here.
            try agree(policy, damaged, .receipt, "octet \(place)")
        }
        for count in stride(from: 2, to: plain.count, by: 97) {
            try agree(policy, Array(plain.prefix(count)), .receipt, "\(count) octets")
        }
        for question in OracleCases.receipts where question.format == "p7-der" {
            try agree(policy, question.bytes, .receipt, question.id)
        }
        for question in OracleCases.tokens {
            try agree(OracleCases.authority.policy(), ProofText.trimmed(question.bytes), .transaction, question.id)
            try agree(OracleCases.authority.policy(), ProofText.trimmed(question.bytes), .notification, question.id)
        }
    }
}
