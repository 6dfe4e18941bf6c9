/// The decision about one verified transaction: what becomes of it and whose it is, from facts alone. Every source ends
/// here: an app's proof, Apple's notification, reconciliation, restores and claims.
public struct PurchaseDecision: Sendable {
    public enum Ruling: Hashable, Sendable {
        /// Give it, exactly now. `order` nil means that an order is made on the spot.
        case grant(to: UserID, order: Order?, newOrderID: OrderID?, by: OwnerMatch)
        /// It was given before; nothing changes but perhaps the newest `signedAt`.
        case alreadyGranted(Grant)
        /// Apple took the money back: take back what was granted.
        case revoke(Grant)
        /// Apple took a refund back: give again what was taken back.
        case reinstate(Grant)
        /// Refunded or revoked, and nothing is held for it: record that, so that older copies can't grant.
        case revoked
        /// Paid, but without an owner yet: keep it with its proof.
        case quarantine(QuarantineReason)
    }

    public let ruling: Ruling
    /// What a copy of a granted purchase changes about whose it is.
    public let ownership: OwnershipChange
    /// To whom owner matching gives the purchase, also where it was granted already.
    public let match: Ruling
    private let steps: [OwnerMatcher.Step]
    private let facts: PurchaseFacts

    /// The customer whose rights or points it changes.
    public var owner: UserID? {
        switch ruling {
        case .grant(let user, _, _, _): user
        case .alreadyGranted(let grant), .revoke(let grant), .reinstate(let grant): grant.userID
        case .revoked, .quarantine: nil
        }
    }

    /// What owner matching looked at, for the evidence: `token absent, order_id not_sent, device matched`.
    public var explanation: String {
        steps.map { "\($0.match.rawValue) \($0.finding)" }.joined(separator: ", ")
    }

    public init(_ facts: PurchaseFacts) {
        var facts = facts
        if facts.recorded?.grant != nil {
            // A restore and a claim give only what has no owner.
            facts.claimant = nil
            facts.ownershipClaim = nil
        }
        self.facts = facts
        let matcher = OwnerMatcher(facts)
        match = matcher.ruling
        steps = matcher.steps
        ruling = Self.ruling(facts, match: matcher.ruling)
        if case .grant = ruling, let recorded = facts.recorded {
            precondition(
                recorded.state == .quarantined || recorded.grant == nil,
                "what was granted is not granted a second time (invariant 1)")
        }
        ownership =
            switch ruling {
            case .alreadyGranted(let grant), .reinstate(let grant): OwnershipChange(of: grant, match: match, facts)
            case .grant, .revoke, .revoked, .quarantine: .none
            }
    }

    private static func ruling(_ facts: PurchaseFacts, match: Ruling) -> Ruling {
        let isNewest = facts.recorded.map { SignedCopy(facts.transaction) >= $0.newest } ?? true
        if let recorded = facts.recorded, let known = fromLedger(recorded, facts.transaction) { return known }
        // Seen for the first time when Apple had taken it back already: of all of it nothing is granted, of a part the
        // rest is, as if the purchase had been seen first.
        let isGone = facts.transaction.revokedAt != nil && isNewest && RevokedShare(facts.transaction) == .all
        return isGone ? .revoked : match
    }

    /// What the ledger alone decides; nil when the transaction has to be matched (again). An older copy changes
    /// nothing, but its sender may know whose it is.
    private static func fromLedger(_ recorded: RecordedTransaction, _ transaction: PaidTransaction) -> Ruling? {
        let isNewer = SignedCopy(transaction).isNewer(than: recorded.newest)
        switch recorded.state {
        case .granted:
            guard let grant = recorded.grant else { return nil }
            return isNewer && transaction.revokedAt != nil ? .revoke(grant) : .alreadyGranted(grant)
        case .revoked:
            guard isNewer, transaction.revokedAt == nil else { return .revoked }
            return recorded.grant.map { .reinstate($0) }
        case .quarantined:
            let isGone = isNewer && transaction.revokedAt != nil && RevokedShare(transaction) == .all
            return isGone ? .revoked : nil
        }
    }

    /// The order of a transaction that was taken back before anything was granted, and whether it is the one that the
    /// order is about, rather than another one of the same customer.
    public var refundedOrder: (order: Order, isItsOwn: Bool)? {
        if case .grant(_, let order?, _, _) = match { return (order, true) }
        guard !facts.contradictsTokenOrder else { return nil }
        return facts.tokenOrder.map { ($0, false) }
    }

    /// The account whose token a transaction without an order carries.
    public var refundedAccount: UserID? {
        guard case .grant(let user, nil, nil, .accountToken) = match else { return nil }
        return user
    }
}
