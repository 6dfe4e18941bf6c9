import Foundation
import Testing
import TillBilling
import TillSQL
import TillSQLite
import TillTestDatabases

@testable import TillLedger

@Suite("Proofs that are saved first") struct SavedProofTests {
    private let now = Instant(seconds: 1_790_000_000)

    private func insert(
        _ id: String, _ kind: ProofTable.Kind = .signedTransaction, by caller: String, device: String? = nil,
        at network: String? = nil, for user: String? = nil, in connection: any Connection
    ) throws -> Bool {
        try SavedProofTable(connection).insert(
            TransactionID(id), in: .sandbox, kind: kind, body: [1],
            by: WaitingProofTable.Submitter(
                name: caller, namedUser: user, claimedOrder: nil, device: device.map { DeviceID($0) },
                network: network), at: now)
    }

    @Test("Each kind of proof is due separately, and its callers take turns", arguments: LedgerDatabase.each)
    func turns(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let now = now
            let due = try await ledger.write { connection -> ([String], [String]) in
                for number in 0..<5 { _ = try insert("r\(number)", .receipt, by: "user:eve", in: connection) }
                for number in 0..<5 { _ = try insert("e\(number)", by: "user:eve", in: connection) }
                for user in ["ann", "ben"] { _ = try insert(user, by: "user:\(user)", in: connection) }
                let table = SavedProofTable(connection)
                return (
                    try table.due(.signedTransaction, in: .sandbox, at: now, limit: 4).map(\.transactionID.text),
                    try table.due(.receipt, in: .sandbox, at: now, limit: 2).map(\.transactionID.text)
                )
            }
            #expect(due.0 == ["e0", "ann", "ben", "e1"])
            #expect(due.1 == ["r0", "r1"])
        }
    }

    private func firstTwo(
        of kind: ProofTable.Kind = .signedTransaction,
        after insertAll: @Sendable @escaping (any Connection) throws -> Void
    ) async throws -> [String] {
        let now = now
        var names: [String] = []
        try await withLedger { ledger in
            names = try await ledger.write { connection in
                try insertAll(connection)
                return try SavedProofTable(connection).due(kind, in: .sandbox, at: now, limit: 2)
                    .map { $0.submitter.namedUser ?? $0.submitter.name }
            }
        }
        return names
    }

    @Test("Four hundred callers of one proof, many proofs from one address or many for one user delay no other caller")
    func fairness() async throws {
        #expect(
            try await firstTwo { connection in
                for number in 0..<400 { _ = try insert("1", by: "user:\(number)", at: "203.0.113.7", in: connection) }
                _ = try insert("2", by: "user:ann", at: "203.0.113.7", in: connection)
            } == ["user:0", "user:ann"])
        #expect(
            try await firstTwo { connection in
                for number in 0..<400 {
                    _ = try insert("\(number)", by: "user:\(number)", at: "203.0.113.7", in: connection)
                }
                _ = try insert("ann", by: "user:ann", at: "198.51.100.1", in: connection)
            } == ["user:0", "user:ann"])
        #expect(
            try await firstTwo { connection in
                for number in 0..<400 { _ = try insert("\(number)", by: "key:shop", for: "eve", in: connection) }
                _ = try insert("ann", by: "key:shop", for: "ann", in: connection)
            } == ["eve", "ann"])
    }

    @Test("All callers together have sixty-four variants of one proof")
    func ofOne() async throws {
        try await withLedger { ledger in
            let stored = try await ledger.write { connection in
                try (0..<400).count { try insert("1", by: "user:\($0)", in: connection) }
            }
            #expect(stored == 64)
        }
    }

    @Test("Production and sandbox are separate queues")
    func environments() async throws {
        try await withLedger { ledger in
            let now = now
            let due = try await ledger.write { connection in
                for number in 0..<1_100 { _ = try insert("\(number)", by: "user:\(number)", in: connection) }
                let table = SavedProofTable(connection)
                _ = try table.insert(
                    TransactionID("p"), in: .production, kind: .signedTransaction, body: [1],
                    by: WaitingProofTable.Submitter(name: "user:ann", namedUser: nil, claimedOrder: nil), at: now)
                return try table.due(.signedTransaction, in: .production, at: now, limit: 5)
            }
            #expect(due.map(\.transactionID.text) == ["p"])
        }
    }

    @Test("A caller has eight variants of one proof, and a repeated one does not count", arguments: LedgerDatabase.each)
    func variants(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            let (stored, count) = try await ledger.write { connection -> ([Bool], Int64) in
                var stored: [Bool] = []
                for device in [0, 1, 2, 3, 4, 5, 6, 7, 3, 8] {
                    stored.append(try insert("1", by: "user:eve", device: "\(device)", in: connection))
                }
                stored.append(try insert("2", by: "user:eve", device: "8", in: connection))
                stored.append(try insert("1", by: "user:ann", device: "8", in: connection))
                return (stored, try SavedProofTable(connection).count())
            }
            #expect(stored == Array(repeating: true, count: 9) + [false, true, true])
            #expect(count == 10)
        }
    }

    @Test("A receipt and its signed copy are two proofs, each saved once")
    func kinds() async throws {
        try await withLedger { ledger in
            let (stored, count) = try await ledger.write { connection -> ([Bool], Int64) in
                let kinds: [ProofTable.Kind] = [.receipt, .signedTransaction, .receipt, .signedTransaction]
                return (
                    try kinds.map { try insert("1", $0, by: "user:ann", in: connection) },
                    try SavedProofTable(connection).count()
                )
            }
            #expect(stored == [true, true, true, true] && count == 2)
        }
    }
}
