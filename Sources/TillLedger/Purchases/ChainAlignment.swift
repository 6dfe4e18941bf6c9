import TillBilling
import TillSQL

/// Keeps a renewal with the owner of the purchase that it renews, in any order of arrival. `RenewedPurchase` defines
/// the rule; this code applies it in the commit that recorded the new transaction.
extension PurchaseProcessor {
    /// Decides misplaced renewals again, without the order id or device that came beside them: renewals with another
    /// owner than their purchase, and renewals of a purchase that is in quarantine.
    ///
    /// - Parameter known: the periods of the chain; nil if they are not read yet.
    /// - Returns: the transactions that were decided again.
    func align(
        chainOf transaction: PaidTransaction, knowing known: [SubscriptionTable.Link]? = nil, _ source: PurchaseSource,
        _ inputs: CommitInputs,
        _ connection: any Connection
    ) throws -> [PaidTransaction] {
        guard let links = try known ?? links(ofChainOf: transaction, connection) else { return [] }
        let misplaced = Set(RenewedPurchase.misplaced(in: links.map(\.chain)))
        guard !misplaced.isEmpty else { return [] }
        var decided: [PaidTransaction] = []
        for link in links where misplaced.contains(link.period.transactionID) && link.state != .quarantined {
            guard let copy = try RecordedCopies(connection).find(link.rowID) else { continue }
            try decide(copy, .stored, from: .apple(source), inputs, connection)
                .followPurchase(hasGrant: link.hasGrant)
            decided.append(copy)
        }
        return decided
    }

    /// Nil for a transaction that is not of a listed subscription.
    private func links(
        ofChainOf transaction: PaidTransaction, _ connection: any Connection
    ) throws -> [SubscriptionTable.Link]? {
        guard transaction.isSubscription else { return nil }
        let table = SubscriptionTable(connection)
        return try table.find(transaction.originalID, in: transaction.environment)
            .map { try table.links(of: $0.rowID) }
    }

    /// Takes back the points for time that a purchase of the chain replaced, in any order of arrival.
    ///
    /// - Parameter known: the periods of the chain; nil if they are not read yet.
    func recordReplacedTime(
        inChainOf transaction: PaidTransaction, knowing known: [SubscriptionTable.Link]? = nil,
        _ source: PurchaseSource,
        _ inputs: CommitInputs, _ connection: any Connection
    ) throws {
        guard let links = try known ?? links(ofChainOf: transaction, connection), links.count > 1 else { return }
        let chain = SubscriptionChain(links.map(\.period))
        // A receipt does not state the reason, so a later copy may show that the next period is a renewal.
        let replaced = chain.replaced
        let candidates = links.filter {
            $0.hasGrant && (replaced.contains($0.period.transactionID) || !$0.period.statesReason)
        }
        guard !candidates.isEmpty else { return }
        let withPoints = try GrantTable(connection).withPoints(
            inChain: transaction.originalID, of: transaction.environment)
        for link in candidates where withPoints.contains(link.rowID) {
            guard let copy = try RecordedCopies(connection).find(link.rowID) else { continue }
            try decide(copy, .stored, from: .apple(source), inputs, connection).recordReplacedTime(in: chain)
        }
    }

    /// The purchase to restore together with a renewal, if that purchase is in quarantine: a device shows only the
    /// newest period.
    func purchaseToRestore(
        with transaction: PaidTransaction, _ origin: PurchaseOrigin, _ connection: any Connection
    ) throws -> PaidTransaction? {
        guard origin.claimant != nil, transaction.isRenewal, transaction.isSubscription else { return nil }
        let table = SubscriptionTable(connection)
        guard let found = try table.find(transaction.originalID, in: transaction.environment),
            case let links = try table.links(of: found.rowID),
            let renewed = RenewedPurchase(of: transaction.chainPeriod, in: links.map(\.chain)), renewed.isWaiting,
            let link = links.first(where: { $0.period.transactionID == renewed.renewed.period.transactionID }),
            link.state == .quarantined
        else { return nil }
        return try RecordedCopies(connection).find(link.rowID)
    }
}

extension PurchaseRecorder {
    /// A stable code: why a customer loses a renewal whose purchase belongs to another customer or is in quarantine.
    static let followedReason = "renews_other_purchase"

    /// Gives a renewal to the owner of its purchase.
    func followPurchase(hasGrant: Bool) throws {
        guard let stored, let product = shared.facts.product else { return }
        // A person's claim is processed with its own transaction and is not repeated here.
        guard hasGrant, let grant = context.grant else {
            // Revoked before it was granted: only the order that it is linked to changes.
            guard stored.state == .revoked else { return }
            if case .grant(_, let order?, _, _) = decision.match {
                return try transactions.link(stored.rowID, toOrder: context.orders[order.id]?.rowID)
            }
            return try transactions.link(stored.rowID, toOrder: nil)
        }
        switch decision.match {
        case .grant(let user, let order, let newOrderID, let match):
            let target = try target(order, newOrderID, for: user, product: product, reason: match.rawValue)
            let newOwner = shared.newOwner(of: user, under: target.order.id).user
            guard newOwner != grant.userID else { return }
            try move(grant, stored.rowID, to: newOwner, under: target, match)
        case .quarantine(let reason): try withdraw(grant, stored, reason)
        case .alreadyGranted, .revoke, .reinstate, .revoked: return
        }
    }

    private func move(
        _ grant: Grant, _ rowID: Int64, to newOwner: UserID, under target: OrderTable.Stored, _ match: OwnerMatch
    ) throws {
        try transactions.link(rowID, toOrder: target.rowID)
        try transferRecorder.moveToSignedBuyer(
            [ownedGrant(rowID)], from: grant.userID, to: newOwner, reason: Self.followedReason, under: grant.orderID)
        try ownership.set(.token, of: ownedGrant(rowID), owner: newOwner)
        try setBasis(of: rowID, owner: newOwner, foundBy: match)
        try note(
            rowID, "moved", ground: Self.followedReason,
            detail: "from order \(grant.orderID) to order \(target.order.id); \(explanation)")
    }

    /// Takes the grant from its owner until its purchase has an owner.
    private func withdraw(_ grant: Grant, _ stored: TransactionTable.Stored, _ reason: QuarantineReason) throws {
        let postings = try ownership.left(of: stored.rowID).map { currency, amount in
            posting(-amount, of: currency, to: grant.userID, grant.id.description)
        }
        for posting in postings { try ledger.post(posting, grant: stored.rowID) }
        if stored.state == .revoked {
            try transactions.link(stored.rowID, toOrder: nil)
        } else {
            try record(.quarantined, quarantine: reason, orderRowID: nil)
        }
        try grantOwners.remove(stored.rowID)
        try ownership.set(.orderID, of: ownedGrant(stored.rowID), owner: grant.userID)
        try ownership.withdraw(stored.rowID, at: now)
        try note(
            stored.rowID, "quarantined", ground: reason.rawValue,
            detail: "from the owner of order \(grant.orderID); \(explanation)")
        if stored.state != .revoked {
            try events.record(
                type: "transaction.quarantined", user: nil, transaction: stored.rowID,
                body: EventBody.quarantined(reason), at: now)
        }
        try events.record(
            type: "grant.withdrawn", user: grant.userID, transaction: stored.rowID,
            body: EventBody.withdrawn(Self.followedReason, postings, under: grant.orderID), at: now)
    }
}
