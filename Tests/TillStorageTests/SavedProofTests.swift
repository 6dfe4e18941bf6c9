import Testing
import TillBilling

@testable import TillStorage

@Suite("Proofs that are saved first") struct SavedProofTests {
    private let now = Instant(seconds: 1_790_000_000)

    private func insert(
        _ id: String, _ kind: ProofTable.Kind = .signedTransaction, by caller: String, device: String? = nil,
        in session: any Session
    ) throws -> Bool {
        try SavedProofTable(session).insert(
            TransactionID(id), in: .sandbox, kind: kind, body: [1],
            by: WaitingProofTable.Bearer(
                name: caller, namedUser: nil, claimedOrder: nil, device: device.map { DeviceID($0) }), at: now)
    }

    @Test("each kind is due by itself, and its callers take turns")
    func turns() async throws {
        try await withLedger { ledger in
            let now = now
            let due = try await ledger.write { session -> ([String], [String]) in
                for number in 0..<5 { _ = try insert("r\(number)", .receipt, by: "user:eve", in: session) }
                for number in 0..<5 { _ = try insert("e\(number)", by: "user:eve", in: session) }
                for user in ["ann", "ben"] { _ = try insert(user, by: "user:\(user)", in: session) }
                let table = SavedProofTable(session)
                return (
                    try table.due(.signedTransaction, at: now, limit: 4).map(\.transactionID.text),
                    try table.due(.receipt, at: now, limit: 2).map(\.transactionID.text)
                )
            }
            #expect(due.0 == ["e0", "ann", "ben", "e1"])
            #expect(due.1 == ["r0", "r1"])
        }
    }

    @Test("a caller has eight variants of one proof, and the same one again is none")
    func variants() async throws {
        try await withLedger { ledger in
            let (kept, count) = try await ledger.write { session -> ([Bool], Int64) in
                var kept: [Bool] = []
                for device in [0, 1, 2, 3, 4, 5, 6, 7, 3, 8] {
                    kept.append(try insert("1", by: "user:eve", device: "\(device)", in: session))
                }
                kept.append(try insert("2", by: "user:eve", device: "8", in: session))
                kept.append(try insert("1", by: "user:ann", device: "8", in: session))
                return (kept, try SavedProofTable(session).count())
            }
            #expect(kept == Array(repeating: true, count: 9) + [false, true, true])
            #expect(count == 10)
        }
    }
}
