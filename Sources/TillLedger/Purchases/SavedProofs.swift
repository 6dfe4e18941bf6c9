import TillAppStore
import TillBilling
import TillSQL

/// Grants what was answered before it was settled (G4, order 2; G5): nobody needs to come back for it. A row goes after
/// its settlement is durable; if the process dies in between, it is settled once more, which changes nothing.
public struct SavedProofs: Sendable {
    private let ledger: Ledger
    /// So few that who comes now is not behind many: the next batch is chosen anew.
    private static let batch = 10
    /// What comes first: a class is taken up when nothing of those before it is due. Looking at a receipt takes longer
    /// than at a signed transaction, and nobody pays for what comes from the sandbox.
    private static let classes: [(environment: Environment, kind: ProofTable.Kind)] = [
        (.production, .signedTransaction), (.production, .receipt), (.sandbox, .signedTransaction),
        (.sandbox, .receipt),
    ]

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Takes up those that are due until none is left: production before sandbox, in each signed transactions before
    /// receipts, and the callers in turns. One that can't be settled never stands in the way of the next, and Apple is
    /// not asked here. Returns how many were settled, or wait for Apple's word from now on.
    @discardableResult
    public func processAll() async throws -> Int {
        #if PLANTED_MISTAKES
            if PlantedMistake.forgetsSavedProofs.isPlanted { return 0 }
        #endif
        var processed = 0
        while true {
            let now = ledger.clock()
            let due = try await ledger.database.read { try Self.next(at: now, SavedProofTable($0)) }
            guard !due.isEmpty else { return processed }
            for saved in due where try await process(saved) { processed += 1 }
        }
    }

    private static func next(at now: Instant, _ table: SavedProofTable) throws -> [SavedProofTable.Stored] {
        for (environment, kind) in classes {
            let due = try table.due(kind, in: environment, at: now, limit: batch)
            if !due.isEmpty { return due }
        }
        return []
    }

    private func process(_ saved: SavedProofTable.Stored) async throws -> Bool {
        guard let origin = PurchaseOrigin(saved.bearer) else {
            return try await postpone(saved, "unknown caller \(saved.bearer.name)")
        }
        let purchase: VerifiedPurchase
        do throws(ProofRefusal) {
            purchase =
                switch saved.kind {
                case .signedTransaction: try await ledger.intake.verify(String(decoding: saved.body, as: UTF8.self))
                case .receipt: try await ledger.intake.verify(saved.transactionID, inReceipt: saved.body)
                }
        } catch {
            // It was good when it came: the configuration has changed since, and may change back.
            return try await postpone(saved, "\(error.refusal.rawValue): \(error.detail)")
        }
        do {
            try await ledger.intake.acceptSaved(purchase, from: origin)
        } catch let fault as DatabaseError where !fault.isRetryable {
            return try await postpone(saved, "\(fault.kind.rawValue): \(fault.detail)")
        }
        try await ledger.database.write(locking: [.work("saved proof", saved.sequence)]) {
            try SavedProofTable($0).remove(saved.sequence)
        }
        return true
    }

    private func postpone(_ saved: SavedProofTable.Stored, _ why: String) async throws -> Bool {
        let due = ledger.clock().adding(seconds: PurchaseIntake.pause(after: saved.attempts))
        try await ledger.database.write(locking: [.work("saved proof", saved.sequence)]) {
            try SavedProofTable($0).postpone(saved.sequence, until: due, detail: why)
        }
        return false
    }
}
