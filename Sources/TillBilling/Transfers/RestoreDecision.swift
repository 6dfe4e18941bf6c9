/// What becomes of another customer's purchase when somebody restores it (P10).
public enum RestorePolicy: String, Hashable, Sendable, CaseIterable {
    /// It stays where it is.
    case keep
    /// It moves to the one who restores it, a few times a year.
    case move
    /// It stays, and the app's backend is asked to decide.
    case ask
}

/// The shop's terms of restoring.
public struct RestoreTerms: Hashable, Sendable {
    public var policy = RestorePolicy.keep
    /// How often one chain may move by restoring, in 365 days.
    public var movesPerYear = 3

    public init(policy: RestorePolicy = .keep, movesPerYear: Int = 3) {
        self.policy = policy
        self.movesPerYear = movesPerYear
    }

    /// Milliseconds in which moves are counted.
    public static let year: Int64 = 365 * 86_400_000
}

/// Everything a decision about one restored transaction rests on.
public struct RestoreFacts: Hashable, Sendable {
    /// What settling it came to, which is the same as at the first door.
    public enum Standing: Hashable, Sendable {
        /// Now or before; to whom it is now.
        case granted(to: UserID)
        /// It was nobody's, and was granted to the one who restored it just now.
        case claimed
        case revoked
        case quarantined
        /// Apple has to be asked first.
        case waiting
    }

    public let standing: Standing
    /// As Apple signed it, else as the catalogue has it.
    public let type: ProductType?
    public let restorer: UserID
    /// How often its chain moved by restoring in the last 365 days.
    public let moves: Int

    /// Whether Apple's signed token names the restorer: then it comes back to who bought it.
    public let isNamed: Bool

    public init(
        standing: Standing, type: ProductType?, restorer: UserID, moves: Int = 0, isNamed: Bool = false
    ) {
        self.standing = standing
        self.type = type
        self.restorer = restorer
        self.moves = moves
        self.isNamed = isNamed
    }
}

/// What restoring one transaction comes to, from facts alone.
public enum RestoreDecision: Hashable, Sendable {
    /// It is the restorer's already: it comes back to its owner.
    case owned
    /// It was nobody's.
    case claimed
    /// Another customer's; it is to be moved.
    case move
    /// Another customer's; it stays with them.
    case kept(KeptReason)
    /// Consumables never come back; service bought for a time is kept by the server, for its owner only.
    case notRestorable
    /// Apple took the money back.
    case revoked
    /// Paid, and nobody's yet.
    case quarantined
    /// Kept, and asked about.
    case waiting

    public enum KeptReason: String, Hashable, Sendable, CaseIterable {
        case otherCustomer = "other_customer"
        case askBackend = "ask_backend"
        case tooManyMoves = "too_many_moves"
    }

    public init(_ facts: RestoreFacts, _ terms: RestoreTerms) {
        switch facts.standing {
        case .revoked: self = .revoked
        case .quarantined: self = .quarantined
        case .waiting: self = .waiting
        case .claimed: self = .claimed
        case .granted(let owner): self = Self.decide(owner, facts, terms)
        }
    }

    private static func decide(_ owner: UserID, _ facts: RestoreFacts, _ terms: RestoreTerms) -> RestoreDecision {
        if facts.type == .consumable { return .notRestorable }
        if owner == facts.restorer { return .owned }
        guard facts.type?.isRestorable == true else { return .notRestorable }
        switch terms.policy {
        case .keep: return .kept(.otherCustomer)
        case .ask: return .kept(.askBackend)
        // The bound is for those who are not named: moves of theirs must not use up the buyer's way back.
        case .move: return facts.isNamed || facts.moves < terms.movesPerYear ? .move : .kept(.tooManyMoves)
        }
    }
}

extension ProductType {
    /// Whether the store gives it to the same Apple Account again (facts/storekit-client A5).
    public var isRestorable: Bool { self == .nonConsumable || self == .autoRenewable }
}
