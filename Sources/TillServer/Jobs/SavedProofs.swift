import TillAppStore
import TillBilling
import TillStorage

/// Grants what was answered before it was settled (G4, order 2; G5): nobody needs to come back for it. A row goes after
/// its settlement is durable; if the process dies in between, it is settled once more, which changes nothing.
public struct SavedProofs: Sendable {
    private let server: Server
    private static let batch = 50
    /// Receipts between two batches of signed transactions: looking at one takes longer.
    private static let receiptBatch = 10

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due until none is left: signed transactions before receipts, and the callers in turns.
    /// Returns how many were settled, or wait for Apple's word from now on. One that can't be settled never stands in
    /// the way of the next, and Apple is not asked here.
    @discardableResult
    public func settleAll() async throws -> Int {
        var settled = 0
        while !PlantedMistake.forgetsSavedProofs.isPlanted {
            let now = server.clock()
            let due = try await server.database.read { session in
                let table = SavedProofTable(session)
                return try table.due(.signedTransaction, at: now, limit: Self.batch)
                    + table.due(.receipt, at: now, limit: Self.receiptBatch)
            }
            guard !due.isEmpty else { return settled }
            for saved in due where try await settle(saved) { settled += 1 }
        }
        return settled
    }

    private func settle(_ saved: SavedProofTable.Stored) async throws -> Bool {
        guard let origin = Settle.Origin(saved.bearer) else {
            return try await postpone(saved, "nobody of the name \(saved.bearer.name)")
        }
        let believed: Believed<VerifiedTransaction>
        do throws(ProofRefusal) {
            believed =
                switch saved.kind {
                case .signedTransaction:
                    try await server.verifier.transaction(String(decoding: saved.body, as: UTF8.self))
                case .receipt: try await server.verifier.transaction(saved.transactionID, inReceipt: saved.body)
                }
        } catch {
            // It was good when it came: the configuration has changed since, and may change back.
            return try await postpone(saved, "\(error.refusal.rawValue): \(error.detail)")
        }
        let proof = Settle.Proof(kind: saved.kind, bytes: saved.body, isUnderDoubt: believed.isUnderDoubt)
        do {
            switch saved.kind {
            case .signedTransaction: _ = try await server.settle(believed.value, proof: proof, origin: origin)
            // What Apple has to be asked about waits there from now on.
            case .receipt:
                _ = try await server.settleReceipt.withoutAsking(believed.value, proof: proof, origin: origin)
            }
        } catch let fault as DatabaseFault where !fault.isRetryable {
            return try await postpone(saved, "\(fault.kind.rawValue): \(fault.detail)")
        }
        try await server.database.write { try SavedProofTable($0).remove(saved.sequence) }
        return true
    }

    private func postpone(_ saved: SavedProofTable.Stored, _ why: String) async throws -> Bool {
        let due = server.clock().adding(seconds: SettleReceipt.pause(after: saved.attempts))
        try await server.database.write { try SavedProofTable($0).postpone(saved.sequence, until: due, detail: why) }
        return false
    }
}
