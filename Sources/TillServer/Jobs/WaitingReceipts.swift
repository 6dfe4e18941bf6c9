import TillAppStore
import TillBilling
import TillStorage

/// Asks Apple again about the receipts that wait for its word.
public struct WaitingReceipts: Sendable {
    private let server: Server

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due, the longest overdue first, until none is left or Apple can't say. Returns how many
    /// no longer wait.
    @discardableResult
    public func askAll() async throws -> Int {
        guard let lookup = server.settleReceipt.lookup else { return 0 }
        var done = 0
        while true {
            let now = server.clock()
            let due = try await server.database.read { try WaitingProofTable($0).due(at: now, limit: 20) }
            guard !due.isEmpty else { return done }
            for waiting in due where try await settle(waiting, lookup) { done += 1 }
        }
    }

    private func settle(_ waiting: WaitingProofTable.Stored, _ lookup: SignedTransactionLookup) async throws -> Bool {
        guard let bytes = try await server.database.read({ try WaitingProofTable($0).receipt(of: waiting.sequence) })
        else { return false }
        guard let origin = Settle.Origin(waiting.bearer) else {
            return try await postpone(waiting, "nobody of the name \(waiting.bearer.name)", not: nil)
        }
        let believed: Believed<VerifiedTransaction>
        do throws(ProofRefusal) {
            believed = try await server.verifier.transaction(waiting.transactionID, inReceipt: bytes)
        } catch {
            // It was good when it came: the configuration has changed since, and may change back.
            return try await postpone(waiting, "\(error.refusal.rawValue): \(error.detail)", not: nil)
        }
        let verified = believed.value
        if try await !server.settleReceipt.isDecided(verified) {
            switch await lookup.ask(verified.id, verified.environment) {
            case .found(let signed, let proof):
                _ = try await server.settle(signed, proof: proof, origin: origin)
            case .none:
                let proof = Settle.Proof(kind: .receipt, bytes: bytes, isUnderDoubt: believed.isUnderDoubt)
                _ = try await server.settle(verified, proof: proof, origin: origin)
            case .later(let why, let instant):
                return try await postpone(waiting, why, not: instant)
            }
        }
        try await server.database.write { session in
            try WaitingProofTable(session).remove(waiting.transactionID, in: waiting.environment)
        }
        return true
    }

    private func postpone(
        _ waiting: WaitingProofTable.Stored, _ why: String, not instant: Instant?
    ) async throws -> Bool {
        let now = server.clock()
        let due = max(instant ?? now, now.adding(seconds: SettleReceipt.pause(after: waiting.attempts + 1)))
        try await server.database.write { session in
            try WaitingProofTable(session).postpone(waiting.sequence, until: due, detail: why)
        }
        return false
    }
}
