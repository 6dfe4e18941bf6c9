import TillAppStore
import TillBilling
import TillStorage

/// Asks Apple again about the receipts that wait for its word: once for each purchase. Its answer is
/// settled with what each of them said beside it.
public struct WaitingReceipts: Sendable {
    private let server: Server
    /// So few that who comes now is not behind many: the next batch is chosen anew.
    private static let batch = 8
    /// Questions in vain in a row, after which Apple is left alone until the next walk.
    private static let mostVain = 3

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due, the callers in turns, until none is left or Apple can't say. Production and sandbox
    /// are asked beside each other: neither waits for an answer of the other. Returns how many no longer wait.
    @discardableResult
    public func askAll() async throws -> Int {
        guard let lookup = server.settleReceipt.lookup else { return 0 }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for environment in [Environment.production, .sandbox] {
                group.addTask { try await askAll(in: environment, lookup) }
            }
            return try await group.reduce(0, +)
        }
    }

    private func askAll(in environment: Environment, _ lookup: SignedTransactionLookup) async throws -> Int {
        var done = 0
        var vain = 0
        while vain < Self.mostVain {
            let now = server.clock()
            let due = try await server.database.read { session in
                try WaitingProofTable(session).due(in: environment, at: now, limit: Self.batch)
            }
            guard !due.isEmpty else { return done }
            var asked: Set<TransactionID> = []
            // The answer about one row is for all rows of its purchase.
            for waiting in due where asked.insert(waiting.transactionID).inserted && vain < Self.mostVain {
                let count = try await settle(waiting, lookup)
                done += count ?? 0
                vain = count == nil ? vain + 1 : 0
            }
        }
        return done
    }

    /// What Apple says of a purchase.
    private enum Answer: Sendable {
        case signed(VerifiedTransaction, Settle.Proof)
        /// It has none: the receipt alone counts.
        case none
    }

    /// Returns how many no longer wait; nil if Apple can't say.
    private func settle(_ waiting: WaitingProofTable.Stored, _ lookup: SignedTransactionLookup) async throws -> Int? {
        guard let receipt = try await receipt(of: waiting) else { return 0 }
        let verified = receipt.transaction
        let answer: Answer
        switch try await server.settleReceipt.knowledge(of: verified) {
        case .decided: return try await removeAll(waiting)
        case .signed(let signed, let proof): answer = .signed(signed, proof)
        case .unknown:
            let asker = Settle.Origin(waiting.bearer)?.asker ?? .init(name: waiting.bearer.name)
            switch await lookup.ask(verified.id, verified.environment, for: asker) {
            case .found(let signed, let proof): answer = .signed(signed, proof)
            case .none: answer = .none
            case .later(let why, let instant):
                try await postponeAll(waiting, why, not: instant)
                return nil
            }
        }
        return try await settle(waiting, by: answer)
    }

    /// With the words of each bearer, the oldest first, until the ledger has decided. A bearer whose words leave the
    /// purchase in quarantine takes no other bearer's away.
    private func settle(_ waiting: WaitingProofTable.Stored, by answer: Answer) async throws -> Int {
        var done = 0
        let rows = try await server.database.read { session in
            try WaitingProofTable(session).list(waiting.transactionID, in: waiting.environment)
        }
        for row in rows {
            guard let isDecided = try await isDecided(row, by: answer) else { continue }
            if isDecided { return done + (try await removeAll(row)) }
            try await server.database.write { try WaitingProofTable($0).remove(row.sequence) }
            done += 1
        }
        return done
    }

    /// Settles it; nil if that can't be done now.
    private func isDecided(_ row: WaitingProofTable.Stored, by answer: Answer) async throws -> Bool? {
        guard let origin = Settle.Origin(row.bearer) else {
            try await postpone(row, "nobody of the name \(row.bearer.name)")
            return nil
        }
        let outcome: Settle.Outcome
        switch answer {
        case .signed(let signed, let proof): outcome = try await server.settle(signed, proof: proof, origin: origin)
        case .none:
            guard let receipt = try await receipt(of: row) else { return nil }
            outcome = try await server.settle(receipt.transaction, proof: receipt.proof, origin: origin)
        }
        if case .quarantined = outcome { return false }
        return true
    }

    /// Nil if there is none any more, or if it can't be judged now.
    private func receipt(
        of row: WaitingProofTable.Stored
    ) async throws -> (transaction: VerifiedTransaction, proof: Settle.Proof)? {
        guard let bytes = try await server.database.read({ try WaitingProofTable($0).receipt(of: row.sequence) })
        else { return nil }
        do throws(ProofRefusal) {
            let believed = try await server.verifier.transaction(row.transactionID, inReceipt: bytes)
            return (
                believed.value, Settle.Proof(kind: .receipt, bytes: bytes, isUnderDoubt: believed.isUnderDoubt)
            )
        } catch {
            // It was good when it came: the configuration has changed since, and may change back.
            try await postpone(row, "\(error.refusal.rawValue): \(error.detail)")
            return nil
        }
    }

    private func removeAll(_ waiting: WaitingProofTable.Stored) async throws -> Int {
        try await server.database.write { session in
            try WaitingProofTable(session).remove(waiting.transactionID, in: waiting.environment)
        }
    }

    /// Apple can't say: about this purchase it is not asked for the next bearer either.
    private func postponeAll(_ waiting: WaitingProofTable.Stored, _ why: String, not instant: Instant?) async throws {
        let now = server.clock()
        let rows = try await server.database.read { session in
            try WaitingProofTable(session).list(waiting.transactionID, in: waiting.environment)
        }
        for row in rows where row.sequence == waiting.sequence || row.dueAt <= now {
            try await postpone(row, why, not: instant)
        }
    }

    private func postpone(_ row: WaitingProofTable.Stored, _ why: String, not instant: Instant? = nil) async throws {
        let now = server.clock()
        let due = max(instant ?? now, now.adding(seconds: SettleReceipt.pause(after: row.attempts + 1)))
        try await server.database.write { session in
            try WaitingProofTable(session).postpone(row.sequence, until: due, detail: why)
        }
    }
}
