import TillAppStore
import TillBilling
import TillLedger
import TillSQL

/// Grants what was answered before it was settled (G4, order 2; G5): nobody needs to come back for it. A row goes after
/// its settlement is durable; if the process dies in between, it is settled once more, which changes nothing.
public struct SavedProofs: Sendable {
    private let server: Server
    /// So few that who comes now is not behind many: the next batch is chosen anew.
    private static let batch = 10
    /// What comes first: a class is taken up when nothing of those before it is due. Looking at a receipt takes longer
    /// than at a signed transaction, and nobody pays for what comes from the sandbox.
    private static let classes: [(environment: Environment, kind: ProofTable.Kind)] = [
        (.production, .signedTransaction), (.production, .receipt), (.sandbox, .signedTransaction),
        (.sandbox, .receipt),
    ]

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due until none is left: production before sandbox, in each signed transactions before
    /// receipts, and the callers in turns. One that can't be settled never stands in the way of the next, and Apple is
    /// not asked here. Returns how many were settled, or wait for Apple's word from now on.
    @discardableResult
    public func settleAll() async throws -> Int {
        #if PLANTED_MISTAKES
            if PlantedMistake.forgetsSavedProofs.isPlanted { return 0 }
        #endif
        var settled = 0
        while true {
            let now = server.clock()
            let due = try await server.database.read { try Self.next(at: now, SavedProofTable($0)) }
            guard !due.isEmpty else { return settled }
            for saved in due where try await settle(saved) { settled += 1 }
        }
    }

    private static func next(at now: Instant, _ table: SavedProofTable) throws -> [SavedProofTable.Stored] {
        for (environment, kind) in classes {
            let due = try table.due(kind, in: environment, at: now, limit: batch)
            if !due.isEmpty { return due }
        }
        return []
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
        } catch let fault as DatabaseError where !fault.isRetryable {
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
