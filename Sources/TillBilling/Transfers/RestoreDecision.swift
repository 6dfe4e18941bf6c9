/// How the shop treats a restore of another customer's purchase.
public enum RestorePolicy: String, Hashable, Sendable, CaseIterable {
    /// The purchase stays with its owner.
    case keep
    /// The purchase moves to the customer who restores it, a limited number of times a year.
    case move
    /// The purchase stays with its owner, and the app's backend is asked to decide.
    case ask
}

/// The shop's settings for restores.
public struct RestoreTerms: Hashable, Sendable {
    public var policy = RestorePolicy.keep
    /// How often a chain may move through restores within 365 days.
    public var movesPerYear = 3

    public init(policy: RestorePolicy = .keep, movesPerYear: Int = 3) {
        self.policy = policy
        self.movesPerYear = movesPerYear
    }

    /// The time in which moves are counted, in milliseconds.
    public static let year: Int64 = 365 * 86_400_000
}

/// The facts for a decision about one restored transaction.
public struct RestoreFacts: Hashable, Sendable {
    /// The result of processing the transaction, which is the same for every source.
    public enum Status: Hashable, Sendable {
        /// Granted now or before, with the current owner.
        case granted(to: UserID)
        /// It had no owner, and was granted to the customer who restores it.
        case claimed
        case revoked
        case quarantined
        /// Apple has to be asked first.
        case waiting
    }

    public let status: Status
    /// The type that Apple signed, else the catalogue's.
    public let type: ProductType?
    public let restorer: UserID
    /// How often restores moved its chain in the last 365 days.
    public let moves: Int

    /// Whether Apple's signed token names the restoring customer, who then gets back a purchase of their own.
    public let isNamed: Bool

    public init(
        status: Status, type: ProductType?, restorer: UserID, moves: Int = 0, isNamed: Bool = false
    ) {
        self.status = status
        self.type = type
        self.restorer = restorer
        self.moves = moves
        self.isNamed = isNamed
    }
}

/// The result of restoring one transaction, from facts alone.
public enum RestoreDecision: Hashable, Sendable {
    /// The restoring customer already owns it.
    case owned
    /// It had no owner, and now belongs to the restoring customer.
    case claimed
    /// It belongs to another customer and will be moved.
    case move
    /// It belongs to another customer and stays there.
    case kept(NotMovedReason)
    /// Consumables cannot be restored. The server keeps service that was bought for a time, for its owner only.
    case notRestorable
    /// Apple refunded or revoked it.
    case revoked
    /// Paid, without an owner yet.
    case quarantined
    /// Stored; Apple is being asked.
    case waiting

    public enum NotMovedReason: String, Hashable, Sendable, CaseIterable {
        case otherCustomer = "other_customer"
        case askBackend = "ask_backend"
        case tooManyMoves = "too_many_moves"
    }

    public init(_ facts: RestoreFacts, _ terms: RestoreTerms) {
        switch facts.status {
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
        // The limit applies to customers whom no token names: their moves must not block the way back to the buyer.
        case .move: return facts.isNamed || facts.moves < terms.movesPerYear ? .move : .kept(.tooManyMoves)
        }
    }
}

extension ProductType {
    /// Whether the store delivers it to the same Apple Account again (facts/storekit-client A5).
    public var isRestorable: Bool { self == .nonConsumable || self == .autoRenewable }
}
