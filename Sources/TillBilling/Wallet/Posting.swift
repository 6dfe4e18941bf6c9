/// Why points were posted.
public enum PostingKind: String, Hashable, Sendable, CaseIterable {
    case purchase
    /// Points that the app gives away.
    case bonus
    /// An operator's correction, up or down.
    case correction
    case debit
    /// Reverses a purchase, or a part of it, after Apple refunded or revoked it.
    case refund
    /// Grants it again after Apple reversed the refund, or reduced it.
    case refundReversal = "refund_reversal"
    /// Writes off the part of a refund that the wallet did not cover (`DebtPolicy.forgive`).
    case writeOff = "write_off"
    /// Reverses a write-off because the refund itself was reversed.
    case writeOffReversal = "write_off_reversal"
    /// Moves to another customer with the purchase, or with a guest's whole wallet.
    case moved
}

/// The contra account of every posting to a customer's points, so that all entries sum to zero.
public enum ContraAccount: String, Hashable, Sendable, CaseIterable {
    /// Points sold.
    case sold
    /// Points spent.
    case spent
    /// Points given away.
    case given
    /// Corrections.
    case corrected
    /// Debts that were written off.
    case writtenOff = "written_off"
    /// Points in transit between customers. The account sums to zero, except for the points of a purchase that was
    /// moved back to quarantine and is not claimed yet.
    case moved
}

/// A movement of points between a customer's wallet and one of the shop's accounts. One posting is both entries of
/// double-entry bookkeeping: `amount` to the wallet and `-amount` to the contra account, so the sum of all entries is
/// always zero. Postings are never edited or deleted.
public struct Posting: Hashable, Sendable {
    public let environment: StoreEnvironment
    public let userID: UserID
    public let contra: ContraAccount
    /// The kind of points, as in `CatalogProduct.points`.
    public let currency: String
    /// Points; positive into the wallet, negative out of it. Never zero.
    public let amount: Int64
    public let kind: PostingKind
    /// Its subject: a grant's id, or the backend's own reference. Unique for its kind and currency.
    public let reference: String
    public let at: Instant
    /// The note of a manual posting.
    public var note = Note()

    /// The reason and the author of a manual posting.
    public struct Note: Hashable, Sendable {
        public var reason: String?
        public var actor: String?

        public init(reason: String? = nil, actor: String? = nil) {
            self.reason = reason
            self.actor = actor
        }
    }

    public init(
        environment: StoreEnvironment, userID: UserID, contra: ContraAccount, currency: String, amount: Int64,
        kind: PostingKind, reference: String, at: Instant
    ) {
        self.environment = environment
        self.userID = userID
        self.contra = contra
        self.currency = currency
        self.amount = amount
        self.kind = kind
        self.reference = reference
        self.at = at
    }

    /// The account's name in the API.
    public var account: String { "user:\(userID)" }
}

/// A customer's points, with one balance for each kind. It always equals the sum of the postings.
public struct Wallet: Hashable, Sendable {
    public let balances: [String: Int64]
    /// The part of the balances that was granted by receipts alone and cannot be spent yet.
    public let held: [String: Int64]

    public init(balances: [String: Int64], held: [String: Int64] = [:]) {
        self.balances = balances
        self.held = held
    }

    /// Whether `amount` can be spent from points that are not held, without a negative balance.
    public func covers(_ amount: Int64, of currency: String) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.spendsHeldPoints.isPlanted { return hasBalance(amount, of: currency) }
        #endif
        let (free, overflow) = balances[currency, default: 0].subtractingReportingOverflow(held[currency, default: 0])
        return !overflow && free >= amount
    }

    /// Whether the balance is sufficient, including held points.
    public func hasBalance(_ amount: Int64, of currency: String) -> Bool {
        balances[currency, default: 0] >= amount
    }

    /// Whether a refund took more than the balance.
    public var isInDebt: Bool { balances.values.contains { $0 < 0 } }
}

/// How a refund of points that are already spent is treated. Under every policy the refund is posted in full; only
/// `forgive` leaves a customer with points that were not paid for.
public enum DebtPolicy: String, Hashable, Sendable, CaseIterable {
    /// The balance becomes negative, and the next points of that kind pay the debt. Other kinds stay usable.
    case owe
    /// As `owe`, but no points of any kind can be spent while a balance is negative.
    case freeze
    /// The uncovered amount is written off in the same commit, and the balance ends at zero.
    case forgive

    /// Why the amount cannot be spent; nil if it can.
    public func refusal(ofSpending amount: Int64, of currency: String, from wallet: Wallet) -> Refusal? {
        if self == .freeze, wallet.isInDebt { return .inDebt }
        return wallet.covers(amount, of: currency) ? nil : .insufficientFunds
    }
}
