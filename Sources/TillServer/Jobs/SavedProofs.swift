import TillAppStore
import TillBilling
import TillStorage

/// Grants what was answered before it was settled (G4, order 2; G5): nobody needs to come back for it. A row goes after
/// its settlement is durable; if the process dies in between, it is settled once more, which changes nothing.
public struct SavedProofs: Sendable {
    private let server: Server
    private static let batch = 50

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due, the longest overdue first, until none is left. Returns how many were settled. One
    /// that can't be settled never stands in the way of the next.
    @discardableResult
    public func settleAll() async throws -> Int {
        var settled = 0
        while !PlantedMistake.forgetsSavedProofs.isPlanted {
            let now = server.clock()
            let due = try await server.database.read { try SavedProofTable($0).due(at: now, limit: Self.batch) }
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
            case .receipt: _ = try await server.settleReceipt(believed.value, proof: proof, origin: origin)
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
