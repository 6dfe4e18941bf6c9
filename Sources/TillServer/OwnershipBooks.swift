import TillBilling
import TillLedger

/// What a grant rests on, and what a signed copy that comes later changes about whose it is. The rules are
/// `OwnershipDecision`'s; here facts are read and decisions are carried out, in the settlement's commit.
extension SettlementBooks {
    /// Whom a signed copy names, with the order that it would be granted under.
    struct NamedBuyer {
        let user: UserID
        /// Whose it becomes: the user's, unless they merged or their subscription was moved.
        let heir: UserID
        let order: Order?
        let newOrderID: OrderID?
        let rung: MatchingRung
    }

    struct OwnershipChange {
        let decision: OwnershipDecision
        var buyer: NamedBuyer?

        static let none = OwnershipChange(decision: .keep)
    }

    // MARK: Facts

    mutating func loadOwnership(_ facts: inout SettlementFacts) throws {
        facts.originalBasis = chain?.basis
        guard transaction.isFromReceipt else { return }
        facts.needsSignedCopy = terms.receipts.policy == .quarantine
        guard !facts.needsSignedCopy else { return }
        var candidates = [facts.claimedOrder?.userID, facts.originalOrder?.userID].compactMap { $0 }
        candidates += try candidates.compactMap { try guests.account(of: $0) }
        if facts.originalOrder != nil {
            let original = transaction.originalID
            candidates += try holders.holder(of: original, in: transaction.environment).map { [$0] } ?? []
        }
        let since = now.adding(milliseconds: -ReceiptTerms.distrust)
        facts.needsSignedCopy = try candidates.contains { try ownership.isDistrusted($0, since: since) }
    }

    func held(_ sequence: Int64) -> HeldGrant {
        HeldGrant(sequence: sequence, environment: transaction.environment, originalID: transaction.originalID)
    }

    /// Which customer a token names, by their account of today; nil if it names no known customer.
    private func customer(namedBy token: AppAccountToken?) throws -> UserID? {
        guard case .order(let id)? = token else { return nil }
        let isSeenBefore = try UnmatchedTokenTable(session).contains(id, in: transaction.environment)
        let order = try orders.find(id)?.order
        let ordered = order.flatMap { $0.mayBeMatched(tokenWasSeenBefore: isSeenBefore) ? $0.userID : nil }
        let user = try ordered ?? AccountTokenTable(session).find(id)?.user
        return try user.map { try guests.account(of: $0) ?? $0 }
    }

    /// What the copy that came says about whose a granted purchase is.
    mutating func ownershipChange(of grant: Grant, _ facts: SettlementFacts) throws -> OwnershipChange {
        guard let known, !brought.isFromReceipt else { return .none }
        let basis = storedBasis?.basis ?? .token
        // The ledger has no place for a token that is no UUID.
        let token = brought.token == .unreadable ? nil : brought.token
        let isKnownToken = !known.isFromReceipt && known.token == token
        // The token is the order's own id: the app or this server set it.
        let isOwnToken = brought.signedToken == .order(grant.orderID)
        if basis > .orderID, isOwnToken { return .none }
        if basis != .receipt, isKnownToken { return .none }
        let isOlder = SignedCopy(brought) < SignedCopy(known)
        let (named, buyer) = try isOlder ? namedByOlder(grant) : named(grant, facts)
        let decision = OwnershipDecision(
            OwnershipFacts(basis: basis, named: named, isOlder: isOlder, isKnownToken: isKnownToken))
        return OwnershipChange(decision: decision, buyer: buyer)
    }

    private mutating func namedByOlder(_ grant: Grant) throws -> (OwnershipFacts.Named, NamedBuyer?) {
        guard let token = brought.signedToken else { return (.none, nil) }
        if token == .order(grant.orderID) { return (.owner, nil) }
        guard let user = try customer(namedBy: token) else { return (.unknown, nil) }
        return (user == grant.userID ? .owner : .another, nil)
    }

    /// The same ladder as for a purchase that is new: to whom it would be granted now.
    private mutating func named(
        _ grant: Grant, _ facts: SettlementFacts
    ) throws -> (OwnershipFacts.Named, NamedBuyer?) {
        let token = brought.signedToken
        // A restore and a claim give only what has no owner.
        var facts = facts
        facts.claimant = nil
        facts.ownershipClaim = nil
        switch MatchingLadder(facts).settlement {
        case .grant(let user, let order, let newOrderID, let rung):
            if rung == .originalTransaction, facts.originalBasis ?? .receipt == .receipt {
                return (token == nil ? .none : .unknown, nil)
            }
            guard token != nil || rung == .originalTransaction else { return (.none, nil) }
            let sequence = order.flatMap { knownOrders[$0.id]?.sequence }
            let heir = try succession(of: user, order: sequence).heir
            return (
                heir == grant.userID ? .owner : .another,
                NamedBuyer(user: user, heir: heir, order: order, newOrderID: newOrderID, rung: rung)
            )
        case .quarantine(.unknownOwnership): return (.unknown, nil)
        case .quarantine(let reason):
            guard token != nil else { return (.none, nil) }
            let user = try facts.namedUser.map { try guests.account(of: $0) ?? $0 }
            if user == grant.userID { return (.owner, nil) }
            return (reason == .contradictsOrder ? .anothersOtherOrder : .unknown, nil)
        case .alreadyGranted, .revoke, .reinstate, .revoked: return (.none, nil)
        }
    }

    // MARK: New grants

    /// What a new grant rests on, and until when its points are held.
    func setBasis(
        of sequence: Int64, owner: UserID, foundBy rung: MatchingRung, _ facts: SettlementFacts
    ) throws {
        let basis = OwnershipBasis(of: transaction, foundBy: rung, chain: facts.originalBasis)
        // A token needs no row, and a new grant has none.
        guard basis != .token else { return }
        let isReceipt = basis == .receipt
        try ownership.set(
            basis, of: held(sequence), owner: owner, holdUntil: isReceipt ? terms.receipts.holdEnd(from: now) : nil,
            lookUpAt: isReceipt ? now : nil)
        // A renewal that Apple signed with an unknown token is its owner's by what it renews alone.
        if isReceipt, case .order(let token)? = transaction.signedToken {
            try ownership.contest(sequence, by: token)
        }
    }

    /// Gives what was granted before and taken back into quarantine: the same grant, to whom it belongs.
    mutating func grantAgain(
        to target: OrderTable.Stored, heir: UserID, rung: MatchingRung, _ facts: SettlementFacts
    ) throws -> Grant? {
        guard let stored, let first = try grants.find(transaction: stored.sequence) else { return nil }
        let sequence = try record(.granted, quarantine: nil, orderSequence: target.sequence)
        let grant = first.held(by: heir, under: target.order.id)
        try holders.set(heir, held(sequence))
        let postings = try ownership.left(of: sequence).map { currency, amount in
            posting(amount, of: currency, to: heir, grant.id.description)
        }
        for posting in postings { try ledger.post(posting, grant: sequence) }
        try ownership.set(.token, of: held(sequence), owner: heir)
        try setBasis(of: sequence, owner: heir, foundBy: rung, facts)
        try note(sequence, "granted", ground: rung.rawValue, detail: ladder(facts))
        try tell("grant.created", grant, sequence, moved: postings)
        return grant
    }

    func posting(_ amount: Int64, of currency: String, to user: UserID, _ reference: String) -> Posting {
        Posting(
            environment: transaction.environment, userID: user, contra: .moved, currency: currency, amount: amount,
            kind: .moved, reference: reference, at: now)
    }

    // MARK: Changes

    /// - Returns: what there is to tell; nil if the grant is where it was.
    mutating func carryOut(
        _ change: OwnershipChange, of grant: Grant, _ facts: SettlementFacts, freshID: UniqueID,
        freshOrderID: () -> OrderID
    ) throws -> Settle.Outcome? {
        guard let stored else { preconditionFailure("only a recorded grant changes its owner") }
        switch change.decision {
        case .keep: return nil
        case .confirm(let basis):
            try ownership.set(basis, of: held(stored.sequence), owner: grant.userID)
            try note(stored.sequence, "confirmed", ground: basis.rawValue)
            return nil
        case .move:
            guard let buyer = change.buyer, let product = facts.product else {
                preconditionFailure("a move has a buyer")
            }
            let target = try target(
                buyer.order, buyer.newOrderID, orElse: freshOrderID, for: buyer.user, product: product,
                reason: buyer.rung.rawValue)
            return .moved(try move(grant, to: target, of: buyer, facts, freshID))
        case .contest: return try contest(grant, stored.sequence)
        case .takeBack: return .quarantined(try takeBack(grant, stored, facts))
        case .note(let finding):
            try noteOnce(finding, grant, stored.sequence)
            return nil
        }
    }

    /// All of it goes to the customer whom Apple's signature names, with the renewals that rest on it.
    private mutating func move(
        _ grant: Grant, to target: OrderTable.Stored, of buyer: NamedBuyer, _ facts: SettlementFacts,
        _ freshID: UniqueID
    ) throws -> Grant {
        guard let stored else { preconditionFailure("only a recorded grant is moved") }
        let heir = buyer.heir
        if stored.orderSequence != target.sequence {
            try moveOwnOrder(stored.orderSequence, to: .refunded, reason: Self.movedReason)
        }
        let sequence = try record(.granted, quarantine: nil, orderSequence: target.sequence)
        let renewals = try renewals(heldBy: grant.userID)
        for renewal in renewals { try transactions.link(renewal.sequence, toOrder: target.sequence) }
        let reminders = ReminderBook(session: session, catalogs: terms.catalogs, policy: terms.reminders)
        let books = TransferBooks(
            session: session, actor: origin.callerName, now: now, freshID: freshID, reminders: reminders)
        try books.moveToSignedBuyer(
            [held(sequence)] + renewals, from: grant.userID, to: heir, reason: Self.movedReason,
            under: grant.orderID)
        try ownership.set(.token, of: held(sequence), owner: heir)
        let basis = OwnershipBasis(of: transaction, foundBy: buyer.rung, chain: facts.originalBasis)
        if basis > .token { try ownership.set(basis, of: held(sequence), owner: heir) }
        if try isGrantedByWords(of: grant.userID, sequence) { try ownership.distrust(grant.userID, at: now) }
        try note(
            sequence, "moved", ground: Transfer.Kind.signedBuyer.rawValue,
            detail: "from \(grant.userID) to \(heir); \(ladder(facts))")
        return grant.held(by: heir, under: target.order.id)
    }

    /// The renewals of the purchase that an owner has by the purchase alone. What the owner bought later in the same
    /// chain is no part of it.
    private func renewals(heldBy owner: UserID) throws -> [HeldGrant] {
        let found = try ownership.renewals(
            after: transaction.purchasedAt, of: transaction.originalID, in: transaction.environment, owner: owner)
        let table = SubscriptionTable(session)
        guard !found.isEmpty,
            let subscription = try table.find(transaction.originalID, in: transaction.environment)
        else { return [] }
        let links = try table.links(of: subscription.sequence)
        let paid = SubscriptionChain(links.map(\.period)).periods(ofPurchaseWith: transaction.id)
        let ids = Set(paid.map(\.transactionID))
        let sequences = Set(links.filter { ids.contains($0.period.transactionID) }.map(\.sequence))
        return found.filter { sequences.contains($0.sequence) }
    }

    /// Whether a customer brought what they lose now, or it was granted under their order. By its chain alone a receipt
    /// gives a purchase to an earlier subscriber, whichever user brings it.
    private func isGrantedByWords(of loser: UserID, _ sequence: Int64) throws -> Bool {
        try evidence.list(transaction: sequence).contains { entry in
            guard ["granted", "quarantined"].contains(entry.decision) else { return false }
            let isByChain = entry.ground == MatchingRung.originalTransaction.rawValue
            if entry.decision == "granted", !isByChain { return true }
            guard entry.caller.hasPrefix("user:") else { return false }
            let user = UserID(String(entry.caller.dropFirst("user:".utf8.count)))
            return try (guests.account(of: user) ?? user) == loser
        }
    }

    /// A stable word: why an order is refunded although Apple gave no money back.
    static let movedReason = "moved_to_signed_buyer"

    private func contest(_ grant: Grant, _ sequence: Int64) throws -> Settle.Outcome {
        var token: UniqueID?
        if case .order(let id)? = brought.signedToken { token = id }
        let isSomebodyElses = brought.terms.otherOwnership != nil
        let reason: QuarantineReason =
            isSomebodyElses ? .unknownOwnership : token == nil ? .unreadableToken : .unknownToken
        let isKnown = storedBasis.map { $0.contestedToken == token && $0.holdUntil == OwnershipTable.untilDecided }
        guard isKnown != true else { return .contested(grant, reason) }
        try ownership.contest(sequence, by: token)
        try note(
            sequence, "contested", ground: reason.rawValue, detail: token.map { "token \($0)" } ?? "token unreadable")
        try tellContested(grant, sequence, reason.rawValue)
        return .contested(grant, reason)
    }

    private func tellContested(_ grant: Grant, _ sequence: Int64, _ reason: String) throws {
        try outbox.insert(
            type: "grant.contested", user: grant.userID, transaction: sequence, at: now,
            body: EventBody.contested(reason, token: brought.signedToken, under: grant.orderID))
    }

    /// Out of the owner's hands and into quarantine: the customer whom the copy names did not order this.
    private mutating func takeBack(
        _ grant: Grant, _ stored: TransactionTable.Stored, _ facts: SettlementFacts
    ) throws -> QuarantineReason {
        let reason = QuarantineReason.contradictsOrder
        try moveOwnOrder(stored.orderSequence, to: .refunded, reason: reason.rawValue)
        let postings = try ownership.left(of: stored.sequence).map { currency, amount in
            posting(-amount, of: currency, to: grant.userID, grant.id.description)
        }
        for posting in postings { try ledger.post(posting, grant: stored.sequence) }
        try record(.quarantined, quarantine: reason, orderSequence: nil)
        try holders.remove(stored.sequence)
        try ownership.withdraw(stored.sequence, at: now)
        if try isGrantedByWords(of: grant.userID, stored.sequence) {
            try ownership.distrust(grant.userID, at: now)
        }
        try note(
            stored.sequence, "quarantined", ground: reason.rawValue, detail: "from \(grant.userID); \(ladder(facts))")
        try outbox.insert(
            type: "transaction.quarantined", user: nil, transaction: stored.sequence, at: now,
            body: EventBody.quarantined(reason))
        try outbox.insert(
            type: "grant.withdrawn", user: grant.userID, transaction: stored.sequence, at: now,
            body: EventBody.withdrawn(reason.rawValue, postings, under: grant.orderID))
        return reason
    }

    private func noteOnce(_ finding: OwnershipDecision.Note, _ grant: Grant, _ sequence: Int64) throws {
        var token = "token unreadable"
        if case .order(let id)? = brought.signedToken { token = "token \(id)" }
        guard
            try !evidence.has(transaction: sequence, decision: "kept", ground: finding.rawValue, detail: token)
        else { return }
        try note(sequence, "kept", ground: finding.rawValue, detail: token)
        if finding == .tokenChanged { try tellContested(grant, sequence, finding.rawValue) }
    }
}
