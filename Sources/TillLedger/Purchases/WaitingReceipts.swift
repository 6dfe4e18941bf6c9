import TillAppStore
import TillBilling
import TillSQL

/// Asks Apple again about receipts that wait for its answer, once for each purchase. The answer is processed with the
/// claims that came beside each receipt.
public struct WaitingReceipts: Sendable {
    private let ledger: Ledger
    /// Small, so that new receipts wait only for one batch; the next batch is chosen again.
    private static let batch = 8
    /// Consecutive failed requests after which the run stops.
    private static let maximumFailures = 3

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Milliseconds since a purchase in which Apple may not know it yet. Its device may already have finished, so no
    /// other process would ask.
    private static let mayBeUnknown: Int64 = 86_400_000
    /// Milliseconds after which a receipt that Apple calls malformed counts as malformed: until then the status may be
    /// an outage of Apple's service (facts/verify-receipt §3).
    private static let malformedAfter: Int64 = 86_400_000

    /// Asks for both environments concurrently.
    @discardableResult
    public func askAll() async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for environment in [StoreEnvironment.production, .sandbox] {
                group.addTask { try await askAll(in: environment) }
            }
            return try await group.reduce(0, +)
        }
    }

    /// Asks about the due receipts of an environment, alternating between callers, until none is left or Apple cannot
    /// answer. Returns how many no longer wait.
    public func askAll(in environment: StoreEnvironment) async throws -> Int {
        guard let lookup = ledger.intake.lookup else { return 0 }
        var done = 0
        var failures = 0
        while failures < Self.maximumFailures {
            let now = ledger.clock()
            let due = try await ledger.database.read { connection in
                try WaitingProofTable(connection).due(in: environment, at: now, limit: Self.batch)
            }
            guard !due.isEmpty else { return done }
            var asked: Set<TransactionID> = []
            // The answer about one row applies to all rows of its purchase.
            for waiting in due where asked.insert(waiting.transactionID).inserted && failures < Self.maximumFailures {
                let count = try await processOrPostpone(waiting, lookup)
                done += count ?? 0
                failures = count == nil ? failures + 1 : 0
            }
        }
        return done
    }

    /// Apple's answer about a purchase.
    private enum Answer: Sendable {
        case signed(VerifiedPurchase)
        /// Apple confirms the receipts of this purchase.
        case stated(ReceiptStatement)
        /// Apple does not know it: the receipt alone counts. With the time to ask again, because Apple may know it
        /// later; nil: never.
        case none(askedAgain: Instant?)
    }

    /// A row that the ledger refuses permanently does not block the others.
    private func processOrPostpone(
        _ waiting: WaitingProofTable.Stored, _ lookup: SignedTransactionLookup
    ) async throws -> Int? {
        do {
            return try await process(waiting, lookup)
        } catch let error as DatabaseError where !error.isRetryable {
            try await postpone(waiting, "\(error.kind.rawValue): \(error.detail)")
            return 0
        }
    }

    /// Returns how many no longer wait; nil if Apple cannot answer.
    private func process(_ waiting: WaitingProofTable.Stored, _ lookup: SignedTransactionLookup) async throws -> Int? {
        guard let receipt = try await receipt(of: waiting) else { return 0 }
        let verified = receipt.transaction
        let answer: Answer
        switch try await ledger.intake.receiptStatus(of: verified) {
        case .decided: return try await removeAll(waiting)
        case .signed(let signed): answer = .signed(signed)
        case .unknown:
            let requester = PurchaseOrigin(waiting.submitter)?.requester ?? .init(name: waiting.submitter.name)
            switch await lookup.ask(about: receipt, for: requester) {
            case .found(let signed): answer = .signed(signed)
            case .stated(let statement): answer = .stated(statement)
            case .refused(let why, let isFinal):
                let refusal = isFinal ? Refusal.receiptRefused : .receiptNeedsRefresh
                return try await refuse(waiting, receipt, refusal, why)
            case .none: answer = .none(askedAgain: nextQuestion(about: verified))
            case .later(let why, _) where SignedTransactionLookup.Answer.malformed.contains(why):
                try await postponeMalformed(waiting, receipt, why)
                return nil
            case .later(let why, let instant):
                try await postponeAll(waiting, why, not: instant)
                return nil
            }
        }
        return try await process(waiting, receipt, by: answer)
    }

    /// The pauses grow: half the purchase's age, so that all its rows are due together.
    private func nextQuestion(about verified: VerifiedTransaction) -> Instant? {
        let now = ledger.clock()
        let age = now.milliseconds - verified.purchaseDate.milliseconds
        guard age < Self.mayBeUnknown else { return nil }
        return now.adding(milliseconds: min(3_600_000, max(10_000, age / 2)))
    }

    /// Processes the claims of each bearer, oldest first, until the ledger has decided. A bearer whose claims leave the
    /// purchase in quarantine does not block other bearers, and stays listed while Apple may learn of the purchase
    /// later.
    ///
    /// - Parameter receipt: the receipt of `waiting`, as this pass has verified it.
    private func process(
        _ waiting: WaitingProofTable.Stored, _ receipt: VerifiedPurchase, by answer: Answer
    ) async throws -> Int {
        var done = 0
        let rows = try await ledger.database.read { connection in
            try WaitingProofTable(connection).list(waiting.transactionID, in: waiting.environment)
        }
        var next: Instant?
        var isUnknown = false
        if case .none(let askedAgain) = answer { (isUnknown, next) = (true, askedAgain) }
        for row in rows {
            // The ledger has already processed these claims; only an answer from Apple would add something.
            if !(isUnknown && row.isRecorded) {
                let known = row.rowID == waiting.rowID ? receipt : nil
                guard let isDecided = try await isDecided(row, known, by: answer) else { continue }
                if isDecided { return done + (try await removeAll(row)) }
            }
            if next == nil {
                try await ledger.database.write(locking: [.waiting(row.transactionID, row.environment)]) {
                    try WaitingProofTable($0).remove(row.rowID)
                }
                done += 1
            } else if !row.isRecorded {
                try await ledger.database.write(locking: [.waiting(row.transactionID, row.environment)]) {
                    try WaitingProofTable($0).markRecorded(row.rowID)
                }
            }
        }
        if let next {
            try await ledger.database.write(locking: [.waiting(waiting.transactionID, waiting.environment)]) {
                connection in
                try WaitingProofTable(connection).postponeRecorded(
                    waiting.transactionID, in: waiting.environment, until: next, detail: Self.unknownToApple)
            }
        }
        return done
    }

    /// Why a row waits; for operators.
    private static let unknownToApple = "Apple does not know the transaction yet"

    /// Processes the row. Nil if that fails now.
    private func isDecided(
        _ row: WaitingProofTable.Stored, _ known: VerifiedPurchase?, by answer: Answer
    ) async throws -> Bool? {
        guard let origin = PurchaseOrigin(row.submitter) else {
            try await postpone(row, "unknown caller \(row.submitter.name)")
            return nil
        }
        let processor = ledger.intake.processor
        let outcome: PurchaseOutcome
        do {
            switch answer {
            case .signed(let signed): outcome = try await processor.process(signed, from: origin)
            case .stated(let statement):
                guard let receipt = try await receipt(of: row, known) else { return nil }
                outcome = try await processor.process(receipt.stating(statement), from: origin)
            case .none:
                guard let receipt = try await receipt(of: row, known) else { return nil }
                outcome = try await processor.process(receipt, from: origin)
            }
        } catch let error as DatabaseError where !error.isRetryable {
            try await postpone(row, "\(error.kind.rawValue): \(error.detail)")
            return nil
        }
        if case .quarantined = outcome { return false }
        return true
    }

    /// Apple does not confirm this receipt. Other rows of the purchase may have another receipt, so they stay.
    private func refuse(
        _ row: WaitingProofTable.Stored, _ receipt: VerifiedPurchase, _ refusal: Refusal, _ why: String
    ) async throws -> Int {
        if let origin = PurchaseOrigin(row.submitter) {
            _ = try await ledger.intake.refuse(receipt, refusal, why, from: origin)
        }
        try await ledger.database.write(locking: [.waiting(row.transactionID, row.environment)]) {
            try WaitingProofTable($0).remove(row.rowID)
        }
        return 1
    }

    /// Nil if it no longer exists, or cannot be verified now.
    private func receipt(
        of row: WaitingProofTable.Stored, _ known: VerifiedPurchase? = nil
    ) async throws -> VerifiedPurchase? {
        if let known { return known }
        guard let bytes = try await ledger.database.read({ try WaitingProofTable($0).receipt(of: row.rowID) })
        else { return nil }
        do throws(ProofError) {
            return try await ledger.intake.verify(row.transactionID, inReceipt: bytes)
        } catch {
            // The proof was valid when it arrived; the configuration has changed since and may change back.
            try await postpone(row, "\(error.refusal.rawValue): \(error.detail)")
            return nil
        }
    }

    private func removeAll(_ waiting: WaitingProofTable.Stored) async throws -> Int {
        try await ledger.database.write(locking: [.waiting(waiting.transactionID, waiting.environment)]) { connection in
            try WaitingProofTable(connection).remove(waiting.transactionID, in: waiting.environment)
        }
    }

    /// Apple cannot answer: the purchase's other due rows are postponed too.
    private func postponeAll(_ waiting: WaitingProofTable.Stored, _ why: String, not instant: Instant?) async throws {
        let now = ledger.clock()
        let rows = try await ledger.database.read { connection in
            try WaitingProofTable(connection).list(waiting.transactionID, in: waiting.environment)
        }
        for row in rows where row.rowID == waiting.rowID || row.dueAt <= now {
            try await postpone(row, why, not: instant)
        }
    }

    /// Whether Apple has called the row's receipt malformed, in its last answer and for a day.
    static func isMalformed(_ row: WaitingProofTable.Stored, at now: Instant) -> Bool {
        if row.detail == WaitingProofTable.needsAnotherReceipt { return true }
        return SignedTransactionLookup.Answer.malformed.contains(row.detail)
            && now.milliseconds - row.receivedAt.milliseconds >= malformedAfter
    }

    /// Apple calls the row's receipt malformed, which says nothing about other receipts of the purchase. After a day
    /// this is logged as a refusal, and Apple is asked once a day: if its service was at fault, the purchase is still
    /// granted without the device, which may have finished the transaction.
    private func postponeMalformed(
        _ waiting: WaitingProofTable.Stored, _ receipt: VerifiedPurchase, _ why: String
    ) async throws {
        let now = ledger.clock()
        let rows = try await ledger.database.read { connection in
            try WaitingProofTable(connection).list(waiting.transactionID, in: waiting.environment)
        }
        for row in rows where row.receiptRowID == waiting.receiptRowID && row.dueAt <= now {
            guard Self.isMalformed(row, at: now) else {
                try await postpone(row, why)
                continue
            }
            if row.detail != WaitingProofTable.needsAnotherReceipt, let origin = PurchaseOrigin(row.submitter) {
                _ = try await ledger.intake.refuse(receipt, .receiptNeedsRefresh, why, from: origin)
            }
            let tomorrow = now.adding(milliseconds: Self.malformedAfter)
            try await postpone(row, WaitingProofTable.needsAnotherReceipt, not: tomorrow)
        }
    }

    private func postpone(_ row: WaitingProofTable.Stored, _ why: String, not instant: Instant? = nil) async throws {
        let now = ledger.clock()
        let due = max(instant ?? now, now.adding(seconds: PurchaseIntake.pause(after: row.attempts + 1)))
        try await ledger.database.write(locking: [.waiting(row.transactionID, row.environment)]) { connection in
            try WaitingProofTable(connection).postpone(row.rowID, until: due, detail: why)
        }
        ledger.log.write(
            .proofPostponed,
            [
                "transactionId": .text(row.transactionID.text), "kind": "receipt",
                "attempts": .integer(row.attempts + 1), "cause": .text(why), "nextAt": .text(due.rfc3339),
            ])
    }
}
