import Testing
import TillAppStore
import TillBilling
import TillCrypto

@Suite(
    "Verdicts and fields equal those of an independent implementation",
    .enabled(if: Oracle.isPresent, Comment(rawValue: Oracle.absence)))
struct OracleTests {
    @Test("They are equal for every shared proof and chain, down to the last field")
    func sharedProofs() throws {
        let rows = SharedVectors.proofs
        let answers = try Oracle.answers(
            rows.map { row in
                var policy = row.policy.object ?? [:]
                policy["roots"] = nil
                return Oracle.Question(
                    id: row.id, bytes: row.bytes, kind: .transaction, format: row.format, policy: policy,
                    roots: row.policy["roots"]?.array?.compactMap { $0.string.map(SharedVectors.bytes) } ?? [],
                    expect: row.expect)
            })
        #expect(answers.count == rows.count)
        for row in rows {
            let answer = try #require(answers[row.id])
            let inspection = row.inspect()
            #expect(inspection.verdict == answer.verdict, "\(row.id)")
            let differences = Oracle.differences(inspection.fields, answer.fields)
            #expect(differences.isEmpty, "\(row.id): \(differences.joined(separator: "; "))")
        }
    }

    @Test("They are equal for generated tokens and receipts, of kinds that the shared ones lack")
    func generatedProofs() throws {
        let questions = OracleCases.tokens + OracleCases.receipts + OldStyleCases.all
        let answers = try Oracle.answers(questions)
        #expect(answers.count == questions.count && questions.count >= 100)
        for question in questions {
            let answer = try #require(answers[question.id])
            let inspection = ProofInspection.inspect(question.bytes, policy: OracleCases.policy(of: question))
            #expect(inspection.verdict == answer.verdict, "\(question.id): \(inspection.detail)")
            let differences = Oracle.differences(inspection.fields, answer.fields)
            #expect(differences.isEmpty, "\(question.id): \(differences.joined(separator: "; "))")
        }
    }
}
