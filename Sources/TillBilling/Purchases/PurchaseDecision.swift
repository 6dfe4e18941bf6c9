/// The decision about one verified transaction and its owner, from facts alone. Every source uses it: an app's proof,
/// Apple's notification, reconciliation, restores and claims.
public struct PurchaseDecision: Sendable {
    public enum Outcome: Hashable, Sendable {
        /// Grant the purchase. With a nil `order`, an order is opened in the same commit.
        case grant(to: UserID, order: Order?, newOrderID: OrderID?, by: OwnerMatch)
        /// The purchase was granted before; at most the newest `signedAt` changes.
        case alreadyGranted(Grant)
        /// Apple refunded or revoked the purchase: reverse the grant.
        case revoke(Grant)
        /// Apple reversed a refund: grant again.
        case reinstate(Grant)
        /// Refunded or revoked without a grant: record that, so that older copies cannot be granted.
        case revoked
        /// Paid, without an owner yet: store it with its proof.
        case quarantine(QuarantineReason)
    }

    public let outcome: Outcome
    /// How a copy of a granted purchase changes its owner.
    public let ownership: OwnershipChange
    /// The outcome of owner matching, also for a purchase that was already granted.
    public let match: Outcome
    private let steps: [OwnerMatcher.Step]
    private let shared: SharedFacts

    /// The customer whose rights or points it changes.
    public var owner: UserID? {
        switch outcome {
        case .grant(let user, _, _, _): user
        case .alreadyGranted(let grant), .revoke(let grant), .reinstate(let grant): grant.userID
        case .revoked, .quarantine: nil
        }
    }

    /// The steps of owner matching, for the evidence: `token absent, order_id not_sent, device matched`.
    public var explanation: String {
        steps.map { "\($0.match.rawValue) \($0.finding)" }.joined(separator: ", ")
    }

    public init(_ facts: PurchaseFacts) { self.init(SharedFacts(facts)) }

    public init(_ given: SharedFacts) {
        let shared = given.facts.recorded?.grant == nil ? given : SharedFacts(given.facts.withoutClaims)
        self.shared = shared
        let matcher = OwnerMatcher(shared)
        match = matcher.outcome
        steps = matcher.steps
        outcome = Self.outcome(shared, match: matcher.outcome)
        if case .grant = outcome, let recorded = shared.facts.recorded {
            precondition(
                recorded.state == .quarantined || recorded.grant == nil,
                "what was granted is not granted a second time (invariant 1)")
        }
        ownership =
            switch outcome {
            case .alreadyGranted(let grant), .reinstate(let grant):
                OwnershipChange(of: grant, match: match, shared)
            case .grant, .revoke, .revoked, .quarantine: .none
            }
    }

    private static func outcome(_ shared: SharedFacts, match: Outcome) -> Outcome {
        let (transaction, recorded) = (shared.facts.transaction, shared.facts.recorded)
        let isNewest = recorded.map { SignedCopy(transaction) >= $0.newest } ?? true
        if let recorded, let known = fromLedger(recorded, transaction) { return known }
        // The purchase was already revoked when it was first seen: after a full refund there is no grant; after a
        // partial refund the rest is granted, as if the purchase had been seen before the refund.
        let isGone = transaction.revokedAt != nil && isNewest && RevokedShare(transaction) == .all
        return isGone ? .revoked : match
    }

    /// The outcome that follows from the ledger alone; nil if the transaction has to be matched (again). An older copy
    /// does not change the record, but its sender may be able to identify the owner.
    private static func fromLedger(_ recorded: RecordedTransaction, _ transaction: PaidTransaction) -> Outcome? {
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

    /// The order of a transaction that was revoked before it was granted, and whether it is the transaction's own
    /// order, or only an order of the same customer.
    public var refundedOrder: (order: Order, isItsOwn: Bool)? {
        if case .grant(_, let order?, _, _) = match { return (order, true) }
        guard !shared.contradictsTokenOrder else { return nil }
        return shared.facts.tokenOrder.map { ($0, false) }
    }

    /// The account whose token a transaction without an order carries.
    public var refundedAccount: UserID? {
        guard case .grant(let user, nil, nil, .accountToken) = match else { return nil }
        return user
    }
}
