import TillAppStore
import TillBilling
import TillSQL

/// Processes one purchase in one commit: reads its facts, decides, records. Everything that the purchase releases, such
/// as renewals in quarantine, follows in the same commit.
package struct PurchaseProcessor: Sendable {
    let database: any Database
    let clock: Ledger.Clock
    let entropy: Ledger.Entropy
    let log: Log
    let terms: PurchaseTerms

    var settings: LedgerSettings { terms.settings }
    var catalogs: CatalogHistory { terms.catalogs }
    var catalog: Catalog { catalogs.current }

    /// The keys known before the facts are read. `decide` adds the orders and the customer that it finds.
    private static func keys(of transaction: PaidTransaction, from origin: PurchaseOrigin) -> [LockKey] {
        var keys: [LockKey] = [.chain(transaction.originalID, transaction.environment)]
        if case .order(let token)? = transaction.token { keys.append(.order(token)) }
        if let order = origin.claimedOrder { keys.append(.order(order)) }
        if let user = origin.declaredUser { keys.append(.customer(user)) }
        return keys
    }

    private static func keys(of found: PurchaseContext, _ decision: PurchaseDecision) -> [LockKey] {
        var keys = found.orders.keys.map { LockKey.order($0) }
        if let owner = decision.owner { keys.append(.customer(owner)) }
        if let grant = found.grant { keys.append(.order(grant.orderID)) }
        return keys
    }

    /// The queries with which `process` begins.
    private static func reads(
        of transaction: PaidTransaction, _ proof: PurchaseProof, from origin: PurchaseOrigin, _ known: KnownProofHeaders
    ) -> [Statement] {
        PurchaseReader.reads(of: transaction, from: origin) + [findingAwaiting(transaction)]
            + [ProofTable.findingHeader(of: proof.bytes, proof.kind, unless: known)].compactMap { $0 }
    }

    func reads(of transaction: PaidTransaction, _ proof: PurchaseProof, from origin: PurchaseOrigin) -> [Statement] {
        Self.reads(of: transaction, proof, from: origin, terms.proofHeaders)
    }

    /// Draw these before the body of a write, and call `finish` of them after the commit.
    package func inputs() -> CommitInputs { CommitInputs(now: clock(), seed: entropy(16), log: log) }

    /// - Parameters:
    ///   - keys: what `finishing` changes.
    ///   - finishing: recorded in the same commit, after the purchase.
    package func process(
        _ purchase: VerifiedPurchase, from origin: PurchaseOrigin, locking keys: [LockKey] = [],
        finishing: (@Sendable (PurchaseOutcome, any Connection) throws -> Void)? = nil
    ) async throws -> PurchaseOutcome {
        let outcome = try await process(purchase, from: origin, locking: keys, unless: nil, finishing: finishing)
        guard let outcome else { preconditionFailure("every purchase has an outcome") }
        return outcome
    }

    /// - Parameter done: if this query finds a row, the commit changes nothing.
    /// - Returns: nil if it found one.
    func process(
        _ purchase: VerifiedPurchase, from origin: PurchaseOrigin, locking keys: [LockKey],
        unless done: Statement?,
        finishing: (@Sendable (PurchaseOutcome, any Connection) throws -> Void)?
    ) async throws -> PurchaseOutcome? {
        let submission = Submission(PaidTransaction(purchase), purchase, origin)
        let inputs = inputs()
        // A purchase is priced by its catalogue permanently, so the ledger must record the catalogue first.
        _ = try await catalogs.record(in: database)
        let outcome = try await database.write(
            locking: Self.keys(of: submission.transaction, from: submission.origin) + keys,
            reading: {
                [done].compactMap { $0 }
                    + Self.reads(
                        of: submission.transaction, submission.proof, from: submission.origin, terms.proofHeaders)
            }
        ) { connection -> PurchaseOutcome? in
            let inputs = inputs.begin()
            if let done, try connection.first(done, { _ in true }) != nil { return nil }
            let outcome = try process(
                submission.transaction, submission.proof, from: submission.origin, renewal: submission.renewal,
                inputs, connection)
            try finishing?(outcome, connection)
            return outcome
        }
        inputs.finish()
        #if PLANTED_MISTAKES
            if PlantedMistake.recordsEventApart.isPlanted, case .granted(let grant)? = outcome {
                try await recordEventApart(of: grant)
            }
        #endif
        return outcome
    }

    /// What one commit processes, passed to its closures by reference.
    private final class Submission: Sendable {
        let transaction: PaidTransaction
        let proof: PurchaseProof
        let renewal: SignedRenewal?
        let origin: PurchaseOrigin

        init(_ transaction: PaidTransaction, _ purchase: VerifiedPurchase, _ origin: PurchaseOrigin) {
            (self.transaction, proof, renewal) = (transaction, purchase.proof, purchase.renewal)
            self.origin = origin
        }
    }

    /// Processes again a purchase in quarantine, as recorded in the ledger, for the customer who claims it. Runs inside
    /// the caller's transaction.
    ///
    /// - Returns: nil if it is no longer in quarantine.
    package func processClaimed(
        _ rowID: Int64, from origin: PurchaseOrigin, _ inputs: CommitInputs, _ connection: any Connection
    ) throws -> PurchaseOutcome? {
        guard try TransactionTable(connection).find(rowID: rowID)?.state == .quarantined,
            let copy = try RecordedCopies(connection).find(rowID)
        else { return nil }
        return try process(copy, .stored, from: origin, renewal: nil, inputs, connection)
    }

    /// Runs inside the caller's transaction.
    ///
    /// - Parameter renewal: renewal information that came beside it; recorded in the same commit if it is newer than
    ///   the recorded one.
    func process(
        _ transaction: PaidTransaction, _ proof: PurchaseProof, from origin: PurchaseOrigin, renewal: SignedRenewal?,
        _ inputs: CommitInputs, _ connection: any Connection
    ) throws -> PurchaseOutcome {
        let now = inputs.now
        #if PLANTED_MISTAKES
            if PlantedMistake.refusesLate.isPlanted, transaction.purchasedAt.adding(seconds: 86_400) < now {
                return .revokedUnseen(nil)
            }
        #endif
        if !proof.bytes.isEmpty {
            try connection.prefetch { Self.reads(of: transaction, proof, from: origin, terms.proofHeaders) }
        }
        if let user = origin.namedUser {
            try CustomerTable(connection).recordNamed(user, under: settings.guests, at: now)
        }
        let purchase = try purchaseToRestore(with: transaction, origin, connection)
        var recorder = try decide(transaction, proof, from: origin, inputs, connection)
        if try setAsideContradicted(by: recorder, inputs, connection) {
            recorder = try decide(transaction, proof, from: origin, inputs, connection)
        }
        // Processing an unchanged copy costs only its recognition, however long the customer's history is.
        if purchase == nil, recorder.isUnchanged {
            let outcome = try recorder.record()
            let changed = try renewal.map { try recordAlone($0, now, connection) } ?? []
            try remind(about: [], and: changed, now, connection)
            return outcome
        }
        let mayRelease = try purchase != nil || recorder.stored != nil || isAwaited(transaction, connection)
        var chains = SubscriptionChanges(now: now, knowing: terms.proofHeaders, connection)
        try chains.watch(transaction)
        if let purchase {
            _ = try decide(purchase, .stored, from: origin, inputs, connection).record()
            recorder = try decide(transaction, proof, from: origin, inputs, connection)
        }
        let outcome = try recorder.record()
        if !mayRelease, try begin(transaction, outcome, by: recorder, renewal, &chains, connection) { return outcome }
        let given =
            mayRelease ? try processWaiting(for: [transaction], origin.source, &chains, inputs, connection) : []
        let links = try chains.list(transaction, recorder.recordedRowID ?? recorder.stored?.rowID)
        let moved = try align(chainOf: transaction, knowing: links, origin.source, inputs, connection)
        if !moved.isEmpty { chains.forgetLinks() }
        try recordReplacedTime(
            inChainOf: transaction, knowing: moved.isEmpty ? links : nil, origin.source, inputs, connection)
        let isStored = try renewal.map { try chains.store($0) } ?? true
        var changed = try chains.recordEvents()
        if let renewal, !isStored { changed += try recordAlone(renewal, now, connection) }
        let processed = [transaction] + given + moved
        let isAlone = processed.count == 1 && purchase == nil && !chains.hasDecidedContested
        try remind(
            about: processed, and: changed, isWhole: !isAlone, ownerOf: { chains.owner(of: $0) }, now, connection)
        return outcome
    }

    /// Finishes the commit of a purchase that begins a subscription and that nothing waits for: the chain has no other
    /// period to align, and its owner no reminder of it to move.
    ///
    /// - Returns: whether it was one.
    private func begin(
        _ transaction: PaidTransaction, _ outcome: PurchaseOutcome, by recorder: PurchaseRecorder,
        _ renewal: SignedRenewal?, _ chains: inout SubscriptionChanges, _ connection: any Connection
    ) throws -> Bool {
        guard case .granted(let grant) = outcome, let rowID = recorder.recordedRowID, recorder.stored == nil,
            transaction.id == transaction.originalID, !transaction.isRenewal,
            transaction.terms.type == .autoRenewable,
            let begun = try chains.begin(
                transaction, rowID, grant, renewal, customer: recorder.context.number(of: grant.userID))
        else { return false }
        try Reminders(connection: connection, catalogs: catalogs, policy: settings.reminders)
            .begin(begun, of: grant.userID, in: transaction.environment, at: recorder.now)
        return true
    }

    /// Reads the facts of a purchase and decides.
    func decide(
        _ transaction: PaidTransaction, _ proof: PurchaseProof, from origin: PurchaseOrigin, _ inputs: CommitInputs,
        _ connection: any Connection
    ) throws -> PurchaseRecorder {
        let reader = PurchaseReader(connection, terms, now: inputs.now)
        let context = try PurchaseContext(transaction, from: origin, reader)
        let decision = PurchaseDecision(context.shared)
        connection.lock(Self.keys(of: transaction, from: origin) + Self.keys(of: context, decision))
        return PurchaseRecorder(
            connection, context, decision, proof: proof, from: origin, inputs, terms)
    }

    /// Records renewal information about a subscription, if it is newer than the recorded one.
    func recordRenewal(_ renewal: SignedRenewal) async throws {
        let now = clock()
        let chain = renewal.info.originalTransactionID.map { LockKey.chain($0, renewal.info.environment) }
        try await database.write(locking: [chain].compactMap { $0 }) { connection in
            try remind(about: [], and: try recordAlone(renewal, now, connection), now, connection)
        }
    }

    private func recordAlone(
        _ renewal: SignedRenewal, _ now: Instant, _ connection: any Connection
    ) throws -> [SubscriptionChanges.Changed] {
        try SubscriptionChanges.record(renewal, now: now, knowing: terms.proofHeaders, connection)
    }

    // MARK: What a purchase releases

    /// Grants purchases that were paid under a token before an order or an account had it. Called in the commit that
    /// opens the order or registers the account token.
    package func release(paidUnder token: OrderID, _ inputs: CommitInputs, _ connection: any Connection) throws {
        var given: [PaidTransaction] = []
        var chains = SubscriptionChanges(now: inputs.now, knowing: terms.proofHeaders, connection)
        for environment in StoreEnvironment.allCases
        where try UnmatchedTokenTable(connection).contains(token, in: environment) {
            _ = try decideContested(by: token, in: environment, .claim, inputs, connection)
            guard let first = try RecordedCopies(connection).waiting(forOrder: token, of: environment).first else {
                continue
            }
            given += try processWaiting(
                for: [first.transaction], includingThem: true, .claim, &chains, inputs, connection)
        }
        for transaction in given {
            given += try align(chainOf: transaction, .claim, inputs, connection)
            try recordReplacedTime(inChainOf: transaction, .claim, inputs, connection)
        }
        try remind(about: given, and: try chains.recordEvents(), isWhole: true, inputs.now, connection)
    }

    /// Grants purchases that waited for this one: renewals of its chain without an owner, and purchases paid under the
    /// same order.
    ///
    /// - Parameter includingThem: whether the transactions themselves are still in quarantine.
    /// - Returns: the purchases granted now.
    func processWaiting(
        for processed: [PaidTransaction], includingThem: Bool = false, _ source: PurchaseSource,
        _ chains: inout SubscriptionChanges, _ inputs: CommitInputs, _ connection: any Connection
    ) throws -> [PaidTransaction] {
        var given: [PaidTransaction] = []
        let copies = RecordedCopies(connection)
        var queue = processed
        let done = includingThem ? [] : Set(processed.map(\.id))
        var seen: Set<TransactionID> = []
        var tokens: Set<OrderID> = []
        while let next = queue.popLast() {
            var waiting: [RecordedCopies.Copy] = []
            try connection.prefetch { Self.readsOfWaiting(for: next) }
            if case .order(let token)? = next.token, tokens.insert(token).inserted {
                waiting += try copies.waiting(forOrder: token, of: next.environment)
                if try decideContested(by: token, in: next.environment, except: done, source, inputs, connection) {
                    chains.hasDecidedContested = true
                }
            }
            if seen.insert(next.originalID).inserted {
                waiting += try copies.waiting(inChain: next.originalID, of: next.environment)
            }
            for copy in waiting where !done.contains(copy.transaction.id) {
                precondition(
                    copy.transaction.environment == next.environment,
                    "a purchase releases what was paid in its own environment (invariant 7)")
                let recorder = try decide(copy.transaction, .stored, from: .apple(source), inputs, connection)
                let state = recorder.stored?.state
                if state == .revoked { try recorder.adopt() }
                guard state == .quarantined else { continue }
                if case .quarantine(.contradictsOrder) = recorder.decision.outcome {
                    try recorder.recordContradictionEvent()
                }
                guard case .grant = recorder.decision.outcome else { continue }
                try chains.watch(copy.transaction)
                _ = try recorder.record()
                queue.append(copy.transaction)
                given.append(copy.transaction)
            }
        }
        return given
    }

    private static func findingAwaiting(_ transaction: PaidTransaction) -> Statement {
        var token: OrderID?
        if case .order(let order)? = transaction.token { token = order }
        return RecordedCopies.findingAwaiting(transaction.originalID, token, in: transaction.environment)
    }

    private static func readsOfWaiting(for processed: PaidTransaction) -> [Statement] {
        let environment = processed.environment
        var reads = [RecordedCopies.findingWaiting(inChain: processed.originalID, of: environment)]
        if case .order(let token)? = processed.token {
            reads.append(RecordedCopies.findingWaiting(forOrder: token, of: environment))
            reads.append(OwnershipTable.findingContested(by: token, in: environment))
        }
        return reads
    }

    /// Whether anything waits for a transaction that is not recorded yet. Nothing else can begin to wait for it later
    /// in this commit, which holds the keys of its chain and its order.
    func isAwaited(_ transaction: PaidTransaction, _ connection: any Connection) throws -> Bool {
        try connection.first(Self.findingAwaiting(transaction)) { $0.integer("awaited") == 1 } ?? false
    }

    /// Decides again grants by receipts whose signed copies carry this token, because the token may now name a
    /// customer.
    ///
    /// - Returns: whether there was one.
    func decideContested(
        by token: UniqueID, in environment: StoreEnvironment, except processed: Set<TransactionID> = [],
        _ source: PurchaseSource, _ inputs: CommitInputs, _ connection: any Connection
    ) throws -> Bool {
        var hasDecided = false
        for rowID in try OwnershipTable(connection).contested(by: token, in: environment) {
            guard let copy = try RecordedCopies(connection).find(rowID), !processed.contains(copy.id) else {
                continue
            }
            _ = try decide(copy, .stored, from: .apple(source), inputs, connection).record()
            hasDecided = true
        }
        return hasDecided
    }
}
