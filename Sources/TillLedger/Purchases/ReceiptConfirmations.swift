import TillAppStore
import TillBilling

/// Asks Apple about purchases that a receipt alone granted: before there was a key or a shared secret to ask with, or
/// because Apple did not know the purchase yet. The signed copy, or the token that verifyReceipt states, is processed
/// like every other: it confirms the owner, or moves the grant to the customer whom it names.
public struct ReceiptConfirmations: Sendable {
    private let ledger: Ledger
    private static let batch = 20
    /// Seconds until Apple is asked again about a transaction that it does not know; it may know a new purchase a
    /// little later. After these a day, then twice as long each time.
    private static let pauses: [Int64] = [60, 600, 3_600, 21_600]
    /// How often Apple may answer that it has no such transaction before the ledger stops asking.
    private static let maximumAttempts: Int64 = 12
    /// Seconds during an outage.
    private static let outagePause: Int64 = 300
    /// Seconds before the end of a hold at which Apple is asked once more in any case.
    private static let beforeHoldEnds: Int64 = 300
    /// Seconds between questions to verifyReceipt that add nothing: sixty days.
    private static let rarePause: Int64 = 60 * 86_400

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Asks for both environments, one after the other.
    @discardableResult
    public func askAll() async throws -> Int {
        let production = try await askAll(in: .production)
        return production + (try await askAll(in: .sandbox))
    }

    /// Asks about the due transactions of an environment, the longest overdue first, until none is left or Apple cannot
    /// answer. Returns how many were answered.
    public func askAll(in environment: StoreEnvironment) async throws -> Int {
        let byAPI = ledger.serverAPI.map {
            SignedTransactionLookup($0, verifier: ledger.verifier, asking: .bulk("receiptConfirmations"))
        }
        guard let lookup = byAPI ?? ledger.intake.lookup else { return 0 }
        var answered = 0
        while true {
            let now = ledger.clock()
            let due = try await ledger.database.read { connection in
                try OwnershipTable(connection).dueLookups(in: environment, at: now, limit: Self.batch)
            }
            guard !due.isEmpty else { return answered }
            for one in due {
                guard try await process(one, lookup) else { return answered }
                answered += 1
            }
        }
    }

    /// - Returns: false if Apple cannot answer now.
    private func process(_ one: OwnershipTable.Lookup, _ lookup: SignedTransactionLookup) async throws -> Bool {
        let now = ledger.clock()
        switch try await ask(about: one, lookup) {
        case .found(let signed):
            _ = try await ledger.intake.accept(signed, from: .apple(.reconciliation))
            // A contested grant is not asked about again: the copy would carry the same token.
            try await postpone(one, until: nil)
            return true
        case .stated(let statement):
            if let receipt = try await receipt(of: one) {
                _ = try await ledger.intake.processor.process(receipt.stating(statement), from: .apple(.reconciliation))
            }
            // Without a token the grant still rests on the receipt; a key that is configured later decides it.
            let isDecided = statement.token != nil
            try await postpone(one, until: isDecided ? nil : Self.next(after: one, at: now) ?? Self.rare(after: now))
            return true
        case .refused:
            try await postpone(one, until: Self.rare(after: now))
            return true
        case .none:
            try await postpone(one, until: Self.next(after: one, at: now))
            return true
        case .later(_, let instant):
            let pause = now.adding(seconds: Self.outagePause)
            try await postpone(one, until: max(pause, instant ?? pause), isAnswered: false)
            return false
        }
    }

    private func ask(
        about one: OwnershipTable.Lookup, _ lookup: SignedTransactionLookup
    ) async throws -> SignedTransactionLookup.Answer {
        guard ledger.serverAPI == nil, let receipt = try await receipt(of: one) else {
            return await lookup.ask(one.id, one.environment, for: .init(name: "till"))
        }
        return await lookup.ask(about: receipt, for: .init(name: "till"))
    }

    /// The receipt that granted the purchase; nil if the configuration no longer accepts it.
    private func receipt(of one: OwnershipTable.Lookup) async throws -> VerifiedPurchase? {
        let proof = try await ledger.database.read { try ProofTable($0).find(transaction: one.rowID) }
        guard let proof, proof.kind == .receipt, !ProofTable.isImportedRow(proof.body) else { return nil }
        do throws(ProofError) {
            return try await ledger.intake.verify(one.id, inReceipt: proof.body)
        } catch {
            ledger.log.write(
                .proofPostponed,
                [
                    "transactionId": .text(one.id.text), "kind": "granted_receipt",
                    "code": .text(error.refusal.rawValue), "cause": .text(error.detail),
                ])
            return nil
        }
    }

    /// When Apple is asked again about a transaction that it does not know; nil: never.
    private static func next(after one: OwnershipTable.Lookup, at now: Instant) -> Instant? {
        guard one.attempts + 1 < maximumAttempts else { return nil }
        let attempts = max(0, Int(one.attempts))
        let pause = attempts < pauses.count ? pauses[attempts] : 86_400 << Int64(attempts - pauses.count)
        let next = now.adding(seconds: pause)
        guard let last = one.holdUntil?.adding(seconds: -beforeHoldEnds), now < last else { return next }
        return min(next, last)
    }

    private static func rare(after now: Instant) -> Instant { now.adding(seconds: rarePause) }

    private func postpone(
        _ one: OwnershipTable.Lookup, until instant: Instant?, isAnswered: Bool = true
    ) async throws {
        try await ledger.database.write(locking: [.work("receipt confirmation", one.rowID)]) { connection in
            try OwnershipTable(connection).postponeLookup(one.rowID, until: instant, isAnswered: isAnswered)
        }
    }
}
