/// Everything that a decision about a granted purchase rests on when another signed copy of it comes.
public struct OwnershipFacts: Hashable, Sendable {
    /// Whom the signed copy names.
    public enum Named: Hashable, Sendable {
        /// It has no token.
        case none
        /// Who has the grant.
        case owner
        case another
        /// Its token is no order's and no account's that is known.
        case unknown
        /// An order of another customer for another product or quantity.
        case anothersOtherOrder
    }

    public let basis: OwnershipBasis
    public let named: Named
    /// Whether a newer copy is known already.
    public let isOlder: Bool
    /// Whether the newest known copy has this token.
    public let isKnownToken: Bool

    public init(basis: OwnershipBasis, named: Named, isOlder: Bool, isKnownToken: Bool) {
        self.basis = basis
        self.named = named
        self.isOlder = isOlder
        self.isKnownToken = isKnownToken
    }
}

/// What a signed copy changes about whose a granted purchase is. Revocations are decided before, and move nothing.
public enum OwnershipDecision: Hashable, Sendable {
    case keep
    /// The grant rests on more from now on, and its points are free.
    case confirm(OwnershipBasis)
    /// All of it goes to the customer whom the copy names.
    case move
    /// The owner keeps it and its points stay held, until the token is known or a person decides.
    case contest
    /// It is taken back, and waits in quarantine for the customer whom the copy names.
    case takeBack
    /// Nothing moves. The copy is noted, once for each token.
    case note(Note)

    public enum Note: String, Hashable, Sendable, CaseIterable {
        /// An older copy names another customer. Evidence only.
        case olderCopyNamesAnother = "older_copy_names_another"
        /// A newer copy has another token. Evidence and an event: an operator decides.
        case tokenChanged = "token_changed"
    }

    public init(_ facts: OwnershipFacts) {
        if facts.isOlder {
            self = facts.named == .none || facts.named == .owner ? .keep : .note(.olderCopyNamesAnother)
            return
        }
        #if PLANTED_MISTAKES
            if PlantedMistake.keepsReceiptOwner.isPlanted, facts.basis == .receipt, facts.named != .none,
                facts.named != .owner
            {
                self = .keep
                return
            }
        #endif
        switch (facts.basis, facts.named) {
        case (.receipt, .none): self = .confirm(.orderID)
        case (.receipt, .owner), (.orderID, .owner): self = .confirm(.token)
        case (.receipt, .another): self = .move
        case (.receipt, .anothersOtherOrder): self = .takeBack
        case (.receipt, .unknown): self = .contest
        case (_, .none), (_, .owner): self = .keep
        case (_, .another), (_, .anothersOtherOrder), (_, .unknown):
            // A person or an earlier copy decided in the knowledge of this token.
            self = facts.isKnownToken ? .keep : .note(.tokenChanged)
        }
    }
}

/// What a signed copy that comes later changes about a granted purchase, and whom it names.
public struct OwnershipChange: Sendable {
    /// The customer whom the copy names, with the order that the purchase would be granted under.
    public struct Buyer: Sendable {
        public let user: UserID
        /// Whose it becomes: the user's, unless they merged or their subscription was moved.
        public let newOwner: UserID
        public let order: Order?
        public let newOrderID: OrderID?
        public let match: OwnerMatch
    }

    public let decision: OwnershipDecision
    public var buyer: Buyer?

    static let none = OwnershipChange(decision: .keep)

    /// - Parameter match: to whom the purchase would be granted if it were new.
    init(of grant: Grant, match: PurchaseDecision.Ruling, _ facts: PurchaseFacts) {
        self = .none
        guard let known = facts.known, !facts.brought.isFromReceipt else { return }
        // The ledger has no place for a token that is no UUID.
        let token = facts.brought.token == .unreadable ? nil : facts.brought.token
        let isKnownToken = !known.isFromReceipt && known.token == token
        // The token is the order's own id: the app or this server set it.
        let isOwnToken = facts.brought.signedToken == .order(grant.orderID)
        if facts.basis > .orderID, isOwnToken { return }
        if facts.basis != .receipt, isKnownToken { return }
        let isOlder = SignedCopy(facts.brought) < SignedCopy(known)
        let (named, buyer) =
            isOlder ? (Self.named(byOlderCopyOf: grant, facts), nil) : Self.named(match, grant, facts)
        let decision = OwnershipDecision(
            OwnershipFacts(basis: facts.basis, named: named, isOlder: isOlder, isKnownToken: isKnownToken))
        self.init(decision: decision, buyer: buyer)
    }

    private init(decision: OwnershipDecision, buyer: Buyer? = nil) {
        self.decision = decision
        self.buyer = buyer
    }

    private static func named(byOlderCopyOf grant: Grant, _ facts: PurchaseFacts) -> OwnershipFacts.Named {
        guard let token = facts.brought.signedToken else { return .none }
        if token == .order(grant.orderID) { return .owner }
        guard let user = facts.userOfBroughtToken else { return .unknown }
        return user == grant.userID ? .owner : .another
    }

    private static func named(
        _ match: PurchaseDecision.Ruling, _ grant: Grant, _ facts: PurchaseFacts
    ) -> (OwnershipFacts.Named, Buyer?) {
        let token = facts.brought.signedToken
        switch match {
        case .grant(let user, let order, let newOrderID, let match):
            if match == .originalTransaction, facts.originalBasis ?? .receipt == .receipt {
                return (token == nil ? .none : .unknown, nil)
            }
            guard token != nil || match == .originalTransaction else { return (.none, nil) }
            let newOwner = facts.newOwner(of: user, under: order?.id).user
            return (
                newOwner == grant.userID ? .owner : .another,
                Buyer(user: user, newOwner: newOwner, order: order, newOrderID: newOrderID, match: match)
            )
        case .quarantine(.unknownOwnership): return (.unknown, nil)
        case .quarantine(let reason):
            guard token != nil else { return (.none, nil) }
            if facts.namedUser.map({ facts.account(of: $0) }) == grant.userID { return (.owner, nil) }
            return (reason == .contradictsOrder ? .anothersOtherOrder : .unknown, nil)
        case .alreadyGranted, .revoke, .reinstate, .revoked: return (.none, nil)
        }
    }
}
