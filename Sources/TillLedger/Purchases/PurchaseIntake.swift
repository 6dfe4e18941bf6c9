import TillAppStore
import TillBilling
import TillCrypto
import TillSQL

/// The single entry point for purchases from every source: an app, Apple's notification, reconciliation, a restore, a
/// claim, a receipt or a waiting proof. It verifies, asks Apple for what a receipt hides, logs refusals, and has the
/// rest processed in one commit.
package struct PurchaseIntake: Sendable {
    package private(set) var processor: PurchaseProcessor
    package let verifier: ProofVerifier
    /// Nil without an In-App Purchase Key and without a shared secret: then only the order id beside a receipt can name
    /// the owner.
    package let lookup: SignedTransactionLookup?
    package let refusals: RefusalLog
    private let machineClock: Ledger.Clock
    /// How many requests to Apple one user may cause at once; further purchases wait in the ledger. Backend calls that
    /// name no user have no limit.
    private let rateLimit = SourceRateLimit(RateLimit(burst: 40, interval: 2_000))

    init(
        processor: PurchaseProcessor, machineClock: @escaping Ledger.Clock, verifier: ProofVerifier,
        lookup: SignedTransactionLookup?
    ) {
        self.processor = processor
        self.machineClock = machineClock
        self.verifier = verifier
        self.lookup = lookup
        refusals = RefusalLog(
            database: processor.database, clock: processor.clock, machineClock: machineClock, log: processor.log)
    }

    /// The same entry point, with its limits and its refusal log, under other terms.
    func with(_ terms: PurchaseTerms) -> PurchaseIntake {
        var intake = self
        intake.processor = PurchaseProcessor(
            database: processor.database, clock: processor.clock, entropy: processor.entropy, log: processor.log,
            terms: terms)
        return intake
    }

    func with(_ database: any Database) -> PurchaseIntake {
        var intake = self
        intake.processor = PurchaseProcessor(
            database: database, clock: processor.clock, entropy: processor.entropy, log: processor.log,
            terms: processor.terms)
        return intake
    }

    package enum Outcome: Sendable {
        case processed(PurchaseOutcome)
        /// Stored; Apple is asked again until it answers.
        case waiting
        /// Its proof is durable, and its grant follows.
        case saved
    }

    /// Why a purchase is accepted and not yet granted; stable codes.
    package static let waitingReason = "waiting_for_apple"
    package static let savedReason = "granted_soon"

    // MARK: Verification

    package func verify(_ token: String) async throws(ProofError) -> VerifiedPurchase {
        try await verify(Array(token.utf8))
    }

    /// - Parameter beforeAsking: called before Apple is asked about a certificate, which may take seconds.
    package func verify(
        _ token: [UInt8], beforeAsking: () -> Void = {}
    ) async throws(ProofError) -> VerifiedPurchase {
        let verified = try await verifier.transaction(token, beforeAsking: beforeAsking)
        return VerifiedPurchase(
            verified.value,
            PurchaseProof(kind: .signedTransaction, bytes: token, isRevocationUnknown: verified.isRevocationUnknown))
    }

    /// Verifies one purchase of an app receipt.
    package func verify(
        _ id: TransactionID, inReceipt bytes: [UInt8]
    ) async throws(ProofError) -> VerifiedPurchase {
        let verified = try await verifier.transaction(id, inReceipt: bytes)
        return VerifiedPurchase(
            verified.value,
            PurchaseProof(kind: .receipt, bytes: bytes, isRevocationUnknown: verified.isRevocationUnknown))
    }

    // MARK: Acceptance

    /// - Throws: `RefusalError` if Apple does not confirm a receipt.
    /// - Parameter savesFirst: whether the sender supports *save then finish*: a purchase that is new to the ledger may
    ///   be saved now and granted a moment later.
    package func accept(
        _ purchase: VerifiedPurchase, from origin: PurchaseOrigin, savesFirst: Bool = false
    ) async throws -> Outcome {
        if savesFirst, try await save(purchase, from: origin) { return .saved }
        switch purchase.proof.kind {
        case .signedTransaction: return .processed(try await processor.process(purchase, from: origin))
        case .receipt: return try await acceptReceipt(purchase, from: origin)
        }
    }

    /// Under *save then finish*, stores a purchase that is new to the ledger; `SavedProofs` grants it. A known or
    /// revoked purchase is processed at once.
    ///
    /// - Returns: whether it was stored; also false when the table already has too many variants of the proof, which is
    ///   then processed at once.
    private func save(_ purchase: VerifiedPurchase, from origin: PurchaseOrigin) async throws -> Bool {
        let (verified, proof) = (purchase.transaction, purchase.proof)
        guard processor.settings.delivery.order == .saveThenFinish, verified.revocationDate == nil else {
            return false
        }
        let (id, environment) = (verified.id, verified.environment)
        let isKnown = try await processor.database.read { try TransactionTable($0).find(id, in: environment) != nil }
        guard !isKnown else { return false }
        let now = processor.clock()
        return try await processor.database.write(locking: [.chain(verified.originalID, environment)]) { connection in
            try SavedProofTable(connection).insert(
                id, in: environment, kind: proof.kind, body: proof.bytes, by: origin.submitter, at: now)
        }
    }

    // MARK: Receipts

    /// A receipt proves that a purchase was paid but not by which customer, so Apple is asked first. If Apple cannot
    /// answer now, the purchase waits in the ledger.
    private func acceptReceipt(_ purchase: VerifiedPurchase, from origin: PurchaseOrigin) async throws -> Outcome {
        if let outcome = try await processWithoutLookup(purchase, from: origin) { return .processed(outcome) }
        let now = processor.clock()
        let due = now.adding(seconds: Self.firstPause)
        guard let lookup,
            origin.isTrustedWithNumber || rateLimit.take(origin.requester.name, now: machineClock())
        else {
            try await wait(for: purchase, from: origin, due: due, "too many requests of this user to Apple")
            return .waiting
        }
        switch await lookup.ask(about: purchase, for: origin.requester) {
        case .found(let signed): return .processed(try await processor.process(signed, from: origin))
        case .stated(let statement):
            return .processed(try await processor.process(purchase.stating(statement), from: origin))
        case .refused(let why, let isFinal):
            throw try await refuse(purchase, isFinal ? .receiptRefused : .receiptNeedsRefresh, why, from: origin)
        case .none: return .processed(try await processor.process(purchase, from: origin))
        case .later(let why, let instant):
            if SignedTransactionLookup.Answer.malformed.contains(why), try await isMalformed(purchase, at: now) {
                throw try await refuse(purchase, .receiptNeedsRefresh, why, from: origin)
            }
            try await wait(for: purchase, from: origin, due: max(instant ?? due, due), why)
            return .waiting
        }
    }

    /// Whether this receipt waits because Apple has called it malformed for a day. It keeps waiting: the cause may
    /// still be an outage of Apple's service.
    private func isMalformed(_ purchase: VerifiedPurchase, at now: Instant) async throws -> Bool {
        let (verified, digest) = (purchase.transaction, Digest.sha256.hash(purchase.proof.bytes))
        let row = try await processor.database.read { connection in
            try WaitingProofTable(connection).find(verified.id, in: verified.environment, receipt: digest)
        }
        return row.map { WaitingReceipts.isMalformed($0, at: now) } ?? false
    }

    /// Logs that Apple does not confirm a receipt.
    func refuse(
        _ purchase: VerifiedPurchase, _ refusal: Refusal, _ why: String, from origin: PurchaseOrigin
    ) async throws -> RefusalError {
        let error = ProofError(refusal, why, proof: purchase.proof.bytes)
        try await refusals.write(error, from: origin)
        return RefusalError(error.refusal, verbatim: why)
    }

    /// The same for a saved receipt: `WaitingReceipts` asks Apple.
    func acceptSaved(_ purchase: VerifiedPurchase, from origin: PurchaseOrigin) async throws {
        if purchase.proof.kind == .signedTransaction {
            _ = try await processor.process(purchase, from: origin)
        } else if try await processWithoutLookup(purchase, from: origin) == nil {
            // Its device has already finished the transaction, so it is kept beyond the usual limit.
            try await wait(for: purchase, from: origin, due: processor.clock(), "saved", isBounded: false)
        }
    }

    /// Nil if Apple has to be asked.
    private func processWithoutLookup(
        _ purchase: VerifiedPurchase, from origin: PurchaseOrigin
    ) async throws -> PurchaseOutcome? {
        guard lookup != nil else { return try await processor.process(purchase, from: origin) }
        switch try await receiptStatus(of: purchase.transaction) {
        case .unknown: return nil
        case .decided: return try await processor.process(purchase, from: origin)
        case .signed(let signed): return try await processor.process(signed, from: origin)
        }
    }

    private func wait(
        for purchase: VerifiedPurchase, from origin: PurchaseOrigin, due: Instant, _ why: String,
        isBounded: Bool = true
    ) async throws {
        let (now, verified, proof) = (processor.clock(), purchase.transaction, purchase.proof)
        let digest = Digest.sha256.hash(proof.bytes)
        try await processor.database.write(locking: [.waiting(verified.id, verified.environment)]) { connection in
            try WaitingProofTable(connection).insert(
                verified.id, in: verified.environment, by: origin.submitter, receipt: proof.bytes, digest: digest,
                at: now, due: due, detail: why, isBounded: isBounded)
        }
    }

    /// Seconds. The pause doubles after each failed attempt, up to an hour (facts/limits §7).
    private static let firstPause: Int64 = 5
    private static let longestPause: Int64 = 3_600

    package static func pause(after attempts: Int64) -> Int64 {
        attempts >= 10 ? longestPause : min(longestPause, firstPause << max(0, attempts))
    }

    /// What can be done with a receipt's purchase without asking Apple.
    enum ReceiptStatus: Sendable {
        case unknown
        /// The ledger has already decided it.
        case decided
        /// It has no owner yet, and Apple signed this copy a moment ago: the owner depends on the claims beside it.
        case signed(VerifiedPurchase)
    }

    /// Milliseconds for which Apple need not be asked again about a purchase in quarantine.
    static let freshness = SharedLookups.foundMemory

    /// For a purchase that stays in quarantine, Apple is asked at most once in ten minutes, however often its receipt
    /// is posted.
    func receiptStatus(of verified: VerifiedTransaction) async throws -> ReceiptStatus {
        let (id, environment, now) = (verified.id, verified.environment, processor.clock())
        let (stored, bytes) = try await processor.database.read { connection in
            let stored = try TransactionTable(connection).find(id, in: environment)
            let isFresh = stored.map { now.milliseconds - $0.signedAt.milliseconds < Self.freshness } ?? false
            guard let stored, stored.state == .quarantined, isFresh,
                let proof = try ProofTable(connection).find(transaction: stored.rowID),
                proof.kind == .signedTransaction
            else { return (stored, [UInt8]?.none) }
            return (stored, proof.body)
        }
        guard let stored else { return .unknown }
        guard stored.state == .quarantined else { return .decided }
        // The proof was valid when it arrived. If the configuration has changed since, Apple is asked again.
        guard let bytes else { return .unknown }
        do throws(ProofError) {
            return .signed(try await verify(String(decoding: bytes, as: UTF8.self)))
        } catch {
            processor.log.write(
                .proofPostponed,
                [
                    "transactionId": .text(id.text), "kind": "quarantined", "code": .text(error.refusal.rawValue),
                    "cause": .text(error.detail),
                ])
            return .unknown
        }
    }
}
