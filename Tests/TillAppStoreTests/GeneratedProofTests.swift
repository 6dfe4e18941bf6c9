import Testing
import TillAppStore

@Suite("Proofs generated here, of kinds that the shared ones lack, have their verdicts")
struct GeneratedProofTests {
    /// Every verdict other than `ok`; the oracle gives the same verdicts (`OracleTests`).
    private static let refused: [String: [String]] = [
        "malformed": [
            "chain: another algorithm", "form: two parts", "form: no JSON", "form: four parts",
            "notification: a nested token cut off", "receipt: base64 of the other alphabet", "receipt: base64 cut off",
            "receipt: no base64", "receipt: cut off", "receipt: empty", "receipt: no receipt", "receipt: not a set",
            "receipt: text", "receipt: nothing",
        ],
        "missing_x5c": ["chain: none", "chain: an empty list", "chain: none, and another algorithm"],
        "chain_length": ["chain: one", "chain: two", "chain: four"],
        "bad_certificate": ["chain: not base64", "chain: not certificates"],
        "chain_untrusted": [
            "chain: another root", "chain: an intermediate that may not sign", "receipt: without its intermediate",
            "receipt: another root",
        ],
        "chain_expired": [
            "transaction: a date before the certificate", "transaction: a date after the certificate",
            "transaction: verified at another time", "app transaction of before the certificate",
            "receipt: made after its certificate",
        ],
        "missing_oid": ["chain: in another order", "chain: no leaf marker", "chain: no intermediate marker"],
        "bad_signature": [
            "chain: a leaf of another curve", "signature: of another key", "signature: too short",
        ],
        "wrong_app": [
            "transaction: another app", "transaction: an app that is no text",
            "transaction: of Xcode, of another app", "notification: nothing it is about",
            "notification: another number", "notification: the number as text", "notification: another app",
            "receipt: another app",
        ],
        "wrong_environment": [
            "transaction: an unknown environment", "transaction: no environment", "transaction: an empty one",
            "transaction: asked of the sandbox", "transaction: not of Xcode",
            "notification: nothing, and no app asked for",
        ],
        "ok-unverified": ["transaction: decoded for Xcode"],
    ]

    @Test("Each proof has its verdict, and the record has the same one")
    func verdicts() {
        var verdicts: [String: String] = [:]
        for (verdict, ids) in Self.refused { for id in ids { verdicts[id] = verdict } }
        let questions = OracleCases.tokens + OracleCases.receipts
        #expect(Set(verdicts.keys).isSubset(of: Set(questions.map(\.id))))
        #expect(questions.count >= 90 && Set(questions.map(\.id)).count == questions.count)
        for question in questions {
            let inspection = ProofInspection.inspect(question.bytes, policy: OracleCases.policy(of: question))
            #expect(inspection.verdict == verdicts[question.id] ?? "ok", "\(question.id): \(inspection.detail)")
            #expect(inspection.record.checks.map(\.code) == CheckCode.all(of: inspection.kind))
            let failed = inspection.record.checks.filter { if case .failed = $0.outcome { true } else { false } }
            #expect(
                failed.count == (inspection.isOK || inspection.verdict == "ok-unverified" ? 0 : 1), "\(question.id)")
        }
    }
}
