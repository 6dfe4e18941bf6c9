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
