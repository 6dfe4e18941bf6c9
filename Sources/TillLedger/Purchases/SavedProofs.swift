import TillAppStore
import TillBilling
import TillSQL

/// Grants proofs that were answered before they were processed (*save then finish*), so no client has to send them
/// again. A row is removed after its result is durable; if the server stops in between, it is processed again without
/// effect.
public struct SavedProofs: Sendable {
    private let ledger: Ledger
    /// Small, so that new urgent proofs wait only for one batch; the next batch is chosen again.
    private static let batch = 10
    /// The order of the classes: a class is processed when no earlier class has due rows. A receipt takes longer to
    /// verify than a signed transaction, and sandbox purchases are not paid.
    private static let classes: [(environment: StoreEnvironment, kind: ProofTable.Kind)] = [
        (.production, .signedTransaction), (.production, .receipt), (.sandbox, .signedTransaction),
        (.sandbox, .receipt), (.xcode, .signedTransaction),
    ]

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Processes the due proofs until none is left: production before sandbox, signed transactions before receipts,
    /// alternating between callers. A proof that fails does not block the next. Apple is not asked here. Returns how
    /// many were processed or now wait for Apple's answer.
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
        for (environment, kind) in classes where try table.hasDue(kind, in: environment, at: now) {
            let due = try table.due(kind, in: environment, at: now, limit: batch)
            if !due.isEmpty { return due }
        }
        return []
    }

    private func process(_ saved: SavedProofTable.Stored) async throws -> Bool {
        guard let origin = PurchaseOrigin(saved.submitter) else {
            return try await postpone(saved, "unknown caller \(saved.submitter.name)")
        }
        let purchase: VerifiedPurchase
        do throws(ProofError) {
            purchase =
                switch saved.kind {
                case .signedTransaction: try await ledger.intake.verify(saved.body)
                case .receipt: try await ledger.intake.verify(saved.transactionID, inReceipt: saved.body)
                }
        } catch {
            // The proof was valid when it arrived; the configuration has changed since and may change back.
            return try await postpone(saved, "\(error.refusal.rawValue): \(error.detail)")
        }
        do {
            try await ledger.intake.acceptSaved(purchase, from: origin)
        } catch let fault as DatabaseError where !fault.isRetryable {
            return try await postpone(saved, "\(fault.kind.rawValue): \(fault.detail)")
        }
        try await ledger.database.write(locking: [.work("saved proof", saved.rowID)]) {
            try SavedProofTable($0).remove(saved.rowID)
        }
        return true
    }

    private func postpone(_ saved: SavedProofTable.Stored, _ why: String) async throws -> Bool {
        let due = ledger.clock().adding(seconds: PurchaseIntake.pause(after: saved.attempts))
        try await ledger.database.write(locking: [.work("saved proof", saved.rowID)]) {
            try SavedProofTable($0).postpone(saved.rowID, until: due, detail: why)
        }
        ledger.log.write(
            .proofPostponed,
            [
                "transactionId": .text(saved.transactionID.text), "kind": "saved",
                "attempts": .integer(saved.attempts + 1), "cause": .text(why), "nextAt": .text(due.rfc3339),
            ])
        return false
    }
}
