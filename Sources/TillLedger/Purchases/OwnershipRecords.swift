import TillBilling

/// Records the basis of a grant, and the changes of owner that a later signed copy causes. `OwnershipDecision` has the
/// rules.
extension PurchaseRecorder {
    func ownedGrant(_ rowID: Int64) -> OwnedGrant {
        OwnedGrant(rowID: rowID, environment: transaction.environment, originalID: transaction.originalID)
    }

    var transferRecorder: TransferRecorder {
        TransferRecorder(
            connection, actor: origin.callerName, now: now, freshID: freshID(),
            reminders: Reminders(connection: connection, catalogs: terms.catalogs, policy: terms.settings.reminders))
    }

    // MARK: New grants

    /// Records the basis of a new grant, and until when its points are held.
    func setBasis(
        of rowID: Int64, owner: UserID, foundBy match: OwnerMatch
    ) throws {
        let basis = OwnershipBasis(of: transaction, foundBy: match, chain: shared.facts.originalBasis)
        // A token needs no row, and a new grant has none.
        guard basis != .token else { return }
        let isReceipt = basis == .receipt
        try ownership.set(
            basis, of: ownedGrant(rowID), owner: owner,
            holdUntil: isReceipt && !origin.isImport ? terms.settings.receipts.holdEnd(from: now) : nil,
            lookUpAt: isReceipt ? now : nil)
        // A renewal that Apple signed with an unknown token belongs to its owner only because of the purchase it
        // renews.
        if isReceipt, case .order(let token)? = transaction.signedToken {
            try ownership.contest(rowID, by: token)
        }
    }

    /// Grants again what was granted before and moved back into quarantine: the same grant, with its new owner.
    func grantAgain(
        to target: OrderTable.Stored, newOwner: UserID, _ match: OwnerMatch
    ) throws -> Grant? {
        guard let stored, let first = try GrantTable(connection).find(transaction: stored.rowID) else { return nil }
        let rowID = try record(.granted, quarantine: nil, orderRowID: target.rowID)
        let grant = first.owned(by: newOwner, under: target.order.id)
        try grantOwners.set(newOwner, ownedGrant(rowID))
        let postings = try ownership.left(of: rowID).map { currency, amount in
            posting(amount, of: currency, to: newOwner, grant.id.description)
        }
        for posting in postings { try ledger.post(posting, grant: rowID) }
        try ownership.set(.token, of: ownedGrant(rowID), owner: newOwner)
        try setBasis(of: rowID, owner: newOwner, foundBy: match)
        try note(rowID, "granted", ground: match.rawValue, detail: explanation)
        try recordEvent("grant.created", grant, rowID, moved: postings)
        return grant
    }

    func posting(_ amount: Int64, of currency: String, to user: UserID, _ reference: String) -> Posting {
        Posting(
            environment: transaction.environment, userID: user, contra: .moved, currency: currency, amount: amount,
            kind: .moved, reference: reference, at: now)
    }

    // MARK: Changes

    /// - Returns: the outcome to report; nil if the grant stays as it is.
    func changeOwner(of grant: Grant) throws -> PurchaseOutcome? {
        let change = decision.ownership
        guard let stored else { preconditionFailure("only a recorded grant changes its owner") }
        switch change.decision {
        case .keep: return nil
        case .confirm(let basis):
            try ownership.set(basis, of: ownedGrant(stored.rowID), owner: grant.userID)
            try note(stored.rowID, "confirmed", ground: basis.rawValue)
            return nil
        case .move:
            guard let buyer = change.buyer, let product = shared.facts.product else {
                preconditionFailure("a move has a buyer")
            }
            let target = try target(
                buyer.order, buyer.newOrderID, for: buyer.user, product: product, reason: buyer.match.rawValue)
            return .moved(try move(grant, to: target, of: buyer))
        case .contest: return try contest(grant, stored.rowID)
        case .withdraw: return .quarantined(try withdrawGrant(grant, stored))
        case .note(let finding):
            try noteOnce(finding, grant, stored.rowID)
            return nil
        }
    }

    /// Moves the whole grant to the customer whom Apple's signature names, with the renewals that depend on it.
    private func move(_ grant: Grant, to target: OrderTable.Stored, of buyer: OwnershipChange.Buyer) throws -> Grant {
        guard let stored else { preconditionFailure("only a recorded grant is moved") }
        let newOwner = buyer.newOwner
        if stored.orderRowID != target.rowID {
            try moveOwnOrder(stored.orderRowID, to: .refunded, reason: Self.movedReason)
        }
        let rowID = try record(.granted, quarantine: nil, orderRowID: target.rowID)
        let renewals = try renewals(ownedBy: grant.userID)
        for renewal in renewals { try transactions.link(renewal.rowID, toOrder: target.rowID) }
        try transferRecorder.moveToSignedBuyer(
            [ownedGrant(rowID)] + renewals, from: grant.userID, to: newOwner, reason: Self.movedReason,
            under: grant.orderID)
        try ownership.set(.token, of: ownedGrant(rowID), owner: newOwner)
        let basis = OwnershipBasis(of: transaction, foundBy: buyer.match, chain: shared.facts.originalBasis)
        if basis > .token { try ownership.set(basis, of: ownedGrant(rowID), owner: newOwner) }
        if try isGrantedByReceipt(of: grant.userID, rowID) { try ownership.distrust(grant.userID, at: now) }
        try note(
            rowID, "moved", ground: Transfer.Kind.signedBuyer.rawValue,
            detail: "from order \(grant.orderID) to order \(target.order.id); \(explanation)")
        return grant.owned(by: newOwner, under: target.order.id)
    }

    /// The renewals that this owner has only because of this purchase. Later purchases of the owner in the same chain
    /// are not included.
    private func renewals(ownedBy owner: UserID) throws -> [OwnedGrant] {
        let found = try ownership.renewals(
            after: transaction.purchasedAt, of: transaction.originalID, in: transaction.environment, owner: owner)
        let table = SubscriptionTable(connection)
        guard !found.isEmpty,
            let subscription = try table.find(transaction.originalID, in: transaction.environment)
        else { return [] }
        let links = try table.links(of: subscription.rowID)
        let paid = SubscriptionChain(links.map(\.period)).periods(ofPurchaseWith: transaction.id)
        let ids = Set(paid.map(\.transactionID))
        let rowIDs = Set(links.filter { ids.contains($0.period.transactionID) }.map(\.rowID))
        return found.filter { rowIDs.contains($0.rowID) }
    }

    /// Whether the purchase was granted on the loser's own claim: the loser submitted it, or it was granted under their
    /// order. Matching by the chain does not count: it gives a receipt's purchase to an earlier subscriber, whichever
    /// user submits it.
    private func isGrantedByReceipt(of loser: UserID, _ rowID: Int64) throws -> Bool {
        try evidence.list(transaction: rowID).contains { entry in
            guard ["granted", "quarantined"].contains(entry.decision) else { return false }
            let isByChain = entry.ground == OwnerMatch.originalTransaction.rawValue
            if entry.decision == "granted", !isByChain { return true }
            guard entry.caller.hasPrefix("user:") else { return false }
            let user = UserID(String(entry.caller.dropFirst("user:".utf8.count)))
            return try (CustomerTable(connection).account(of: user) ?? user) == loser
        }
    }

    /// A stable code: why an order is refunded although Apple gave no money back.
    static let movedReason = "moved_to_signed_buyer"

    private func contest(_ grant: Grant, _ rowID: Int64) throws -> PurchaseOutcome {
        var token: UniqueID?
        if case .order(let id)? = context.submitted.signedToken { token = id }
        let isPaidByAnother = context.submitted.terms.otherOwnership != nil
        let reason: QuarantineReason =
            isPaidByAnother ? .unknownOwnership : token == nil ? .unreadableToken : .unknownToken
        let isKnown = context.basis.map { $0.contestedToken == token && $0.holdUntil == OwnershipTable.untilDecided }
        guard isKnown != true else { return .contested(grant, reason) }
        try ownership.contest(rowID, by: token)
        try note(
            rowID, "contested", ground: reason.rawValue, detail: token.map { "token \($0)" } ?? "token unreadable")
        try recordContestedEvent(grant, rowID, reason.rawValue)
        return .contested(grant, reason)
    }

    private func recordContestedEvent(_ grant: Grant, _ rowID: Int64, _ reason: String) throws {
        try events.record(
            type: "grant.contested", user: grant.userID, transaction: rowID,
            body: EventBody.contested(reason, token: context.submitted.signedToken, under: grant.orderID), at: now)
    }

    /// Moves the grant back into quarantine, because the customer whom the copy names did not order this.
    private func withdrawGrant(_ grant: Grant, _ stored: TransactionTable.Stored) throws -> QuarantineReason {
        let reason = QuarantineReason.contradictsOrder
        try moveOwnOrder(stored.orderRowID, to: .refunded, reason: reason.rawValue)
        let postings = try ownership.left(of: stored.rowID).map { currency, amount in
            posting(-amount, of: currency, to: grant.userID, grant.id.description)
        }
        for posting in postings { try ledger.post(posting, grant: stored.rowID) }
        try record(.quarantined, quarantine: reason, orderRowID: nil)
        try grantOwners.remove(stored.rowID)
        try ownership.withdraw(stored.rowID, at: now)
        if try isGrantedByReceipt(of: grant.userID, stored.rowID) {
            try ownership.distrust(grant.userID, at: now)
        }
        try note(
            stored.rowID, "quarantined", ground: reason.rawValue,
            detail: "from the owner of order \(grant.orderID); \(explanation)")
        try events.record(
            type: "transaction.quarantined", user: nil, transaction: stored.rowID,
            body: EventBody.quarantined(reason), at: now)
        try events.record(
            type: "grant.withdrawn", user: grant.userID, transaction: stored.rowID,
            body: EventBody.withdrawn(reason.rawValue, postings, under: grant.orderID), at: now)
        return reason
    }

    private func noteOnce(_ finding: OwnershipDecision.Note, _ grant: Grant, _ rowID: Int64) throws {
        var token = "token unreadable"
        if case .order(let id)? = context.submitted.signedToken { token = "token \(id)" }
        guard
            try !evidence.has(transaction: rowID, decision: "kept", ground: finding.rawValue, detail: token)
        else { return }
        try note(rowID, "kept", ground: finding.rawValue, detail: token)
        if finding == .tokenChanged { try recordContestedEvent(grant, rowID, finding.rawValue) }
    }
}
