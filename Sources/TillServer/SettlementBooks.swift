import TillBilling
import TillLedger
import TillSQL

/// One transaction before the open ledger: reads what a decision needs, then writes what was decided. Lives inside one
/// commit.
struct SettlementBooks {
    /// The newest copy: the one that came, or the one that the ledger has.
    var transaction: PaidTransaction
    /// The copy that came.
    let brought: PaidTransaction
    private let proof: Settle.Proof
    let origin: Settle.Origin
    let now: Instant
    let terms: Settle
    let orders: OrderTable
    let transactions: TransactionTable
    private let proofs: ProofTable
    let evidence: EvidenceTable
    let grants: GrantTable
    let ledger: LedgerTable
    let outbox: OutboxTable
    let holders: HolderTable
    let guests: GuestTable
    let ownership: OwnershipTable
    let errands: ErrandBook

    let session: any Connection
    /// What the token of the transaction names.
    private var named = NamedByToken()
    /// What its chain says, if it is a later period of a subscription.
    private(set) var chain: ChainFacts?
    var stored: TransactionTable.Stored?
    /// The copy that the ledger has.
    private(set) var known: PaidTransaction?
    var storedGrant: Grant?
    /// What that grant rests on, if not on a token.
    var storedBasis: OwnershipTable.Stored?
    var knownOrders: [OrderID: OrderTable.Stored] = [:]
    var tokenOrder: Order? { named.order }

    init(
        session: any Connection, transaction: PaidTransaction, proof: Settle.Proof, origin: Settle.Origin, now: Instant,
        settle: Settle
    ) {
        self.transaction = transaction
        brought = transaction
        self.proof = proof
        self.origin = origin
        self.now = now
        terms = settle
        orders = OrderTable(session)
        transactions = TransactionTable(session)
        proofs = ProofTable(session)
        evidence = EvidenceTable(session)
        grants = GrantTable(session)
        ledger = LedgerTable(session)
        outbox = OutboxTable(session)
        holders = HolderTable(session)
        guests = GuestTable(session)
        ownership = OwnershipTable(session)
        errands = ErrandBook(session, under: settle.errands, now: now)
        self.session = session
    }

    /// Whether the copy that came says more than the ledger has. An older one changes nothing (U4).
    var isNews: Bool { known.map { SignedCopy(transaction).isNewer(than: SignedCopy($0)) } ?? true }

    // MARK: Facts

    mutating func load(product: Product?) throws -> SettlementFacts {
        stored = try transactions.find(transaction.id, in: transaction.environment)
        if let stored, stored.state != .quarantined {
            storedGrant = try grants.find(transaction: stored.sequence)
                .map { try holders.present($0, of: stored.sequence) }
            storedBasis = try storedGrant == nil ? nil : ownership.find(stored.sequence)
            if storedBasis?.isWithdrawn == true { storedGrant = nil }
        }
        if let stored { known = try RecordedCopies(session).find(stored.sequence) }
        if let known, SignedCopy(transaction).isOlder(than: SignedCopy(known)) {
            transaction.yield(to: known)
        }
        chain = try chainFacts(transaction)
        if let decided = chain?.transaction { transaction = decided }
        if let order = chain?.order { knownOrders[order.order.id] = order }
        named = try namedByToken()
        let claimedOrder = named.decidesAlone ? nil : try origin.claimedOrder.flatMap { try order($0) }
        var facts = SettlementFacts(
            transaction: transaction, caller: try caller(claiming: claimedOrder),
            recorded: stored.map { stored in
                RecordedTransaction(
                    state: stored.state, newest: SignedCopy(known ?? transaction), grant: storedGrant)
            },
            tokenOrder: named.order, claimedOrderID: origin.claimedOrder, claimedOrder: claimedOrder,
            originalOrder: chain?.order?.order, product: product, claimant: try admissibleClaimant())
        facts.renewed = chain?.renewed
        facts.replacedOwner = chain?.replacedOwner
        facts.tokenAccount = named.account
        facts.provenUser = named.provenUser
        facts.isTokenOlderThanOrder = named.isOlderThanOrder
        facts.isInChainOfTokenOrder = try isInChain(ofTokenOrderIn: facts)
        facts.deviceOrders = try deviceOrders()
        facts.ownershipClaim = try admissibleClaim()
        try loadOwnership(&facts)
        return facts
    }

    /// The unpaid orders of the device that brought it, of users whose own order Apple's token completed there before,
    /// with the same Apple Account: a device's id is no secret. Only where Apple signed no token: else nobody asks.
    private mutating func deviceOrders() throws -> [Order]? {
        guard let device = origin.device, transaction.token == nil, !transaction.isFromReceipt else { return nil }
        var payer: String? = transaction.appTransactionID ?? ""
        #if PLANTED_MISTAKES
            if PlantedMistake.trustsAnyDevice.isPlanted { payer = nil }
        #endif
        let found = try orders.unpaid(
            onDevice: device, product: transaction.productID, quantity: transaction.quantity,
            openedBy: transaction.purchasedAt.adding(seconds: SettlementFacts.clockTolerance),
            ofBuyersBy: payer, limit: SettlementFacts.deviceOrderLimit)
        for stored in found { knownOrders[stored.order.id] = stored }
        return found.map(\.order)
    }

    /// Who brought it. A guest who signed in brings the account's orders too: opened for payments that were under way.
    private func caller(claiming order: Order?) throws -> Caller {
        guard let order, case .user(let guest) = origin.caller, guest != order.userID,
            try guests.account(of: guest) == order.userID
        else { return origin.caller }
        return .user(order.userID)
    }

    mutating func order(_ id: OrderID) throws -> Order? {
        guard let found = try orders.find(id) else { return nil }
        knownOrders[id] = found
        return found.order
    }

    /// Who may have it if nobody has it: who restores or claims it, unless another customer has anything of its chain.
    private func unlessHeld(by claimant: UserID?) throws -> UserID? {
        guard let claimant else { return nil }
        let account = try guests.account(of: claimant) ?? claimant
        return try chainOwners().isSubset(of: [account]) ? claimant : nil
    }

    /// The accounts that have anything else of its chain.
    private func chainOwners() throws -> Set<UserID> {
        var owners = try chain?.owners ?? listedOwners()
        if owners == nil {
            let holder = try holders.holder(of: transaction.originalID, in: transaction.environment)
            owners = Set([holder].compactMap { $0 })
        }
        return Set(try (owners ?? []).map { try guests.account(of: $0) ?? $0 })
    }

    /// A renewal is restored with its purchase.
    private func admissibleClaimant() throws -> UserID? {
        chain?.renewed?.isWaiting == true ? nil : try unlessHeld(by: origin.claimant)
    }

    /// Somebody's claim, unless the chain is another customer's. What was bought in it anew, an upgrade or a return,
    /// may be that of another customer of the same Apple Account all the same: then an operator decides, or whom the
    /// token names. Who has merged claims for the guest that they were. Of a renewal whose purchase waits, an order
    /// number says less than that purchase.
    private func admissibleClaim() throws -> OwnershipClaim? {
        guard var claim = origin.claim else { return nil }
        if let guest = named.order?.userID ?? named.account, try guests.account(of: guest) == claim.user {
            claim = OwnershipClaim(user: guest, ground: claim.ground)
        }
        let isWaiting = chain?.renewed?.isWaiting == true
        let isNamed = named.order?.userID == claim.user && (!isWaiting || chain?.renewed?.isOfTakenBack == true)
        let isDecided = claim.ground == .operatorDecision || isNamed
        // A renewal with a token of its own is not what the chain's customer renews. A receipt hides whether it is one.
        let isItsOwn = chain?.renewed?.token == .ownWord || chain?.renewed?.token == .hidden
        if isDecided, !transaction.isRenewal || isWaiting || isItsOwn { return claim }
        if isWaiting {
            return try chainOwners().isEmpty ? claim : nil
        }
        return try unlessHeld(by: claim.user) == nil ? nil : claim
    }

    /// Whose a new transaction becomes: the buyer's, unless what came before it was moved.
    ///
    /// - Parameter order: the buyer's; nil if it is yet to be opened, and so holds nothing.
    mutating func succession(of buyer: UserID, order: Int64?) throws -> Succession {
        var chainHolder: UserID?
        let isNamedByPurchase = chain?.renewed?.token == .ofPurchase && (named.order != nil || named.account != nil)
        if let owner = chain?.owner, isNamedByPurchase || order != nil && order == chain?.order?.sequence {
            chainHolder = owner
        } else if transaction.originalID != transaction.id {
            var before = order
            if let order = named.order, let stored = knownOrders[order.id] { before = stored.sequence }
            // An account token is no order's: what the account bought before in the chain stands for it.
            if let account = named.account, let found = chain?.order, found.order.userID == account {
                before = found.sequence
            }
            chainHolder = try before.flatMap {
                try holders.holder(of: transaction.originalID, in: transaction.environment, orderSequence: $0)
            }
        }
        return Succession(buyer: buyer, chainHolder: chainHolder, account: try guests.account(of: buyer))
    }

    // MARK: Decisions

    /// Whether the ledger knows this copy or a newer one, and the decision leaves the purchase where it is.
    mutating func saysNothingNew(_ settlement: Settlement, _ facts: SettlementFacts) throws -> Bool {
        guard let stored, !isNews else { return false }
        switch settlement {
        case .alreadyGranted(let grant):
            return try ownershipChange(of: grant, facts).decision == .keep && !isDeviceMissing(facts)
        case .revoked: return stored.state == .revoked
        case .quarantine: return stored.state == .quarantined
        case .grant, .revoke, .reinstate: return false
        }
    }

    mutating func carryOut(
        _ settlement: Settlement, _ facts: SettlementFacts, freshGrantID: UniqueID, freshOrderID: () -> OrderID
    ) throws -> Settle.Outcome {
        switch settlement {
        case .grant(let user, let order, let newOrderID, let rung):
            guard let product = facts.product else { preconditionFailure("nothing is granted for an unknown product") }
            let target = try target(
                order, newOrderID, orElse: freshOrderID, for: user, product: product, reason: rung.rawValue)
            let given = try grant(freshGrantID, to: target, product: product, rung: rung, facts)
            guard transaction.revokedAt != nil else { return .granted(given) }
            stored = try transactions.find(transaction.id, in: transaction.environment)
            return .revoked(try revoke(given))
        case .alreadyGranted(let grant):
            #if PLANTED_MISTAKES
                if PlantedMistake.grantsAgain.isPlanted, origin.door == .notification { try repeatPoints(of: grant) }
            #endif
            let change = try ownershipChange(of: grant, facts)
            try nameDevice(of: grant, facts)
            if let stored, isNews, !transaction.isFromReceipt {
                try record(.granted, quarantine: nil, orderSequence: stored.orderSequence)
            }
            return try carryOut(change, of: grant, facts, freshID: freshGrantID, freshOrderID: freshOrderID)
                ?? .alreadyGranted(grant)
        case .revoke(let grant):
            return .revoked(try revoke(grant))
        case .reinstate(let grant):
            let change = try ownershipChange(of: grant, facts)
            let given = try reinstate(grant)
            return try carryOut(change, of: given, facts, freshID: freshGrantID, freshOrderID: freshOrderID)
                ?? .granted(given)
        case .revoked:
            return try recordRevocation(facts, freshOrderID: freshOrderID)
        case .quarantine(let reason):
            return .quarantined(try quarantine(reason, facts))
        }
    }

    private mutating func grant(
        _ id: UniqueID, to target: OrderTable.Stored, product: Product, rung: MatchingRung, _ facts: SettlementFacts
    ) throws -> Grant {
        let points = product.points(quantity: transaction.quantity) ?? []
        #if PLANTED_MISTAKES
            var succession = try succession(of: target.order.userID, order: target.sequence)
        #else
            let succession = try succession(of: target.order.userID, order: target.sequence)
        #endif
        #if PLANTED_MISTAKES
            if PlantedMistake.believesCaller.isPlanted, case .user(let user) = origin.caller {
                succession = Succession(buyer: user, chainHolder: nil, account: nil)
            }
        #endif
        if let again = try grantAgain(to: target, heir: succession.heir, rung: rung, facts) { return again }
        let grant = Grant(
            id: id, environment: transaction.environment, transactionID: transaction.id, orderID: target.order.id,
            userID: succession.heir, productID: product.id, quantity: transaction.quantity,
            points: points.map { GrantedPoints(currency: $0.kind, amount: $0.amount) },
            entitlement: product.entitlement, at: now)
        let sequence = try record(.granted, quarantine: nil, orderSequence: target.sequence)
        try grants.insert(grant, transaction: sequence, orderSequence: target.sequence)
        for posting in grant.postings(at: now) { try ledger.post(posting, grant: sequence) }
        if succession.heir != target.order.userID || rung == .claim {
            try holders.set(succession.heir, held(sequence))
        }
        try setBasis(of: sequence, owner: succession.heir, foundBy: rung, facts)
        try errands.repairToken(transaction, sequence, order: target.order.id, foundBy: rung)
        // A token says it all; whatever else decided is told with what was ruled out.
        try note(sequence, "granted", ground: rung.rawValue, detail: rung.needsNoDetail ? nil : ladder(facts))
        if let ground = succession.ground { try note(sequence, "succeeded", ground: ground.rawValue) }
        try tell("grant.created", grant, sequence)
        return grant
    }

    // MARK: Rows

    /// Writes the transaction's state, for the first time or again, and keeps the proof that decided it.
    @discardableResult
    mutating func record(
        _ state: RecordedTransaction.State, quarantine: QuarantineReason?, orderSequence: Int64?
    ) throws -> Int64 {
        if stored == nil || isNews, let token = named.unmatched {
            try UnmatchedTokenTable(session).insert(token, in: transaction.environment, at: now)
        }
        guard let stored else {
            let sequence = try transactions.insert(
                transaction, state: state, quarantine: quarantine, orderSequence: orderSequence, at: now)
            var isKept = true
            #if PLANTED_MISTAKES
                isKept = state != .quarantined || !PlantedMistake.dropsProofs.isPlanted
            #endif
            if isKept { try proofs.insert(transaction: sequence, kind: proof.kind, body: proof.bytes) }
            if state != .quarantined { try errands.finish(sequence) }
            return sequence
        }
        switch (stored.state, state) {
        case (.quarantined, .granted), (.quarantined, .revoked): try errands.finish(stored.sequence)
        case (.granted, .quarantined), (.revoked, .quarantined): try errands.withdrawFinish(stored.sequence)
        default: break
        }
        try transactions.update(
            stored.sequence, state: state, quarantine: quarantine, orderSequence: orderSequence,
            signedAt: transaction.signedAt, revokedAt: transaction.revokedAt)
        guard isNews else { return stored.sequence }
        // A receipt says less of a purchase than a signed transaction, however new it is.
        if !transaction.isFromReceipt || known?.isFromReceipt == true {
            try transactions.update(stored.sequence, to: transaction)
        }
        try proofs.replace(transaction: stored.sequence, kind: proof.kind, body: proof.bytes)
        return stored.sequence
    }

    /// The order that pays it: the one that was found, or one that is made on the spot.
    func target(
        _ order: Order?, _ newOrderID: OrderID?, orElse freshOrderID: () -> OrderID, for user: UserID,
        product: Product, reason: String
    ) throws -> OrderTable.Stored {
        try order.map { try move($0, to: .completed, reason: reason) }
            ?? openOrder(
                newOrderID ?? freshOrderID(), newOrderID == nil ? .payment : .proven, for: user, product: product,
                reason: reason)
    }

    private func openOrder(
        _ id: OrderID, _ source: OrderIDSource, for user: UserID, product: Product, reason: String
    ) throws -> OrderTable.Stored {
        let (price, overflow) = product.price.amount.multipliedReportingOverflow(by: Int64(transaction.quantity))
        let opened = try orders.insert(
            Order(
                id: id, userID: user, productID: product.id, quantity: transaction.quantity,
                price: Money(amount: overflow ? product.price.amount : price, currency: product.price.currency),
                deviceID: Plan(soldBy: product)?.scope == .device ? try device(of: user) : nil, createdAt: now,
                updatedAt: now, idSource: source),
            reason: "opened_for_payment")
        return try orders.move(
            opened, along: [.completed], at: now, reason: reason, transaction: transaction.id,
            environment: transaction.environment)
    }

    /// Moves an order as far as it may go towards `status`. A renewal pays for a new period, not for the order again.
    func move(_ order: Order, to status: OrderStatus, reason: String) throws -> OrderTable.Stored {
        guard let stored = knownOrders[order.id] else {
            preconditionFailure("a decision names only orders it was given")
        }
        guard !transaction.isRenewal else { return stored }
        let (id, environment) = (transaction.id, transaction.environment)
        // A purchase that was paid takes the place of one in the sandbox, whatever the order says already.
        let takesPlace = order.isFree(for: id, in: environment) && !order.isPaid(by: id, in: environment)
        guard let way = stored.order.status.way(to: status) ?? (takesPlace ? [] : nil) else { return stored }
        return try orders.move(
            stored, along: way, at: now, reason: reason, transaction: transaction.id,
            environment: transaction.environment)
    }

    /// The rungs of U1 that were looked at and what each said, with what is evidence and decides nothing.
    func ladder(_ facts: SettlementFacts) -> String {
        var parts = [MatchingLadder(facts).text]
        if let device = origin.device { parts.append("device_id \(EvidenceText.value(device.text))") }
        if let id = transaction.appTransactionID { parts.append("app_transaction_id \(EvidenceText.value(id))") }
        if let reason = origin.claimReason { parts.append("reason \(reason)") }
        return parts.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    func note(_ sequence: Int64, _ decision: String, ground: String, detail: String? = nil) throws {
        var notes = [(decision, ground, detail)]
        if proof.isUnderDoubt { notes.append((Refusal.revocationUnknown.rawValue, "accepted_on_signature", nil)) }
        for (decision, ground, detail) in notes {
            try evidence.insert(
                transaction: sequence,
                EvidenceTable.Entry(
                    at: now, decision: decision, ground: ground, door: origin.door.rawValue,
                    caller: origin.callerName, detail: detail))
        }
    }

    /// - Parameter postings: the points that moved, where they are not the grant's own.
    func tell(_ type: String, _ grant: Grant, _ sequence: Int64, moved postings: [Posting]? = nil) throws {
        #if PLANTED_MISTAKES
            if PlantedMistake.tellsApart.isPlanted, type == "grant.created" { return }
        #endif
        try outbox.insert(
            type: type, user: grant.userID, transaction: sequence, at: now,
            body: postings.map { EventBody.moved($0, under: grant.orderID) })
    }
}
