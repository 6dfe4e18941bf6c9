/// Why points moved.
public enum PostingKind: String, Hashable, Sendable, CaseIterable {
    case purchase
    /// Points that the app gives away.
    case bonus
    /// What an operator puts right, up or down.
    case correction
    case debit
    /// Takes a purchase back, or a part of it, after Apple refunded or revoked it.
    case refund
    /// Gives it again after Apple took the refund back, or made it smaller.
    case refundReversal = "refund_reversal"
    /// Forgives what a refund took and the wallet did not have (`DebtPolicy.forgive`).
    case writeOff = "write_off"
    /// Forgives it no more, because the refund itself is undone.
    case writeOffReversal = "write_off_reversal"
    /// Goes to another customer with the purchase, or with all of a guest's wallet (P12).
    case moved
}

/// The other side of every movement of a customer's points, so that the books always add up to nothing.
public enum ContraAccount: String, Hashable, Sendable, CaseIterable {
    /// Points that were sold.
    case sold
    /// Points that were spent.
    case spent
    /// Points that were given away.
    case given
    /// What was put right.
    case corrected
    /// Debts that nobody has to pay.
    case writtenOff = "written_off"
    /// Points on their way from one customer to another: even, but for those of a purchase that was taken back into
    /// quarantine and is not claimed yet.
    case moved
}

/// Points moving between a customer's wallet and one of our own accounts. One posting is both entries of double-entry
/// bookkeeping: `amount` to the wallet and `-amount` to the contra account, so the sum of all entries is zero by
/// construction. Never edited, never deleted (DESIGN §4, invariant 4).
public struct Posting: Hashable, Sendable {
    public let environment: Environment
    public let userID: UserID
    public let contra: ContraAccount
    /// The kind of points, as in `Product.points`.
    public let currency: String
    /// Points; positive into the wallet, negative out of it. Never zero.
    public let amount: Int64
    public let kind: PostingKind
    /// What it was for: a grant's id, or the backend's own reference. Unique for its kind and currency.
    public let reference: String
    public let at: Instant
    /// What whoever posted by hand said about it.
    public var note = Note()

    /// Why somebody posted by hand, and who.
    public struct Note: Hashable, Sendable {
        public var reason: String?
        public var actor: String?

        public init(reason: String? = nil, actor: String? = nil) {
            self.reason = reason
            self.actor = actor
        }
    }

    public init(
        environment: Environment, userID: UserID, contra: ContraAccount, currency: String, amount: Int64,
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

    /// The account's name on the wire.
    public var account: String { "user:\(userID)" }
}

/// A customer's points, one balance for each kind. Equal to the sum of the postings, always.
public struct Wallet: Hashable, Sendable {
    public let balances: [String: Int64]
    /// What of them rests on receipts alone, and may not be spent yet.
    public let held: [String: Int64]

    public init(balances: [String: Int64], held: [String: Int64] = [:]) {
        self.balances = balances
        self.held = held
    }

    /// Whether `amount` can be spent without going below zero and without points that are held.
    public func covers(_ amount: Int64, of currency: String) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.spendsHeldPoints.isPlanted { return hasBalance(amount, of: currency) }
        #endif
        let (free, overflow) = balances[currency, default: 0].subtractingReportingOverflow(held[currency, default: 0])
        return !overflow && free >= amount
    }

    /// Whether there are as many points, held ones included.
    public func hasBalance(_ amount: Int64, of currency: String) -> Bool {
        balances[currency, default: 0] >= amount
    }

    /// Whether a refund has taken more than there was.
    public var isInDebt: Bool { balances.values.contains { $0 < 0 } }
}

/// What becomes of a customer whose points were spent before Apple took the purchase back (U5). Under every policy the
/// refund is posted in full; nobody gets points for nothing unless the policy says so.
public enum DebtPolicy: String, Hashable, Sendable, CaseIterable {
    /// The balance goes below zero, and the next points of that kind pay for it. Other kinds stay usable.
    case owe
    /// The same, but while any balance is below zero nothing can be spent, of no kind.
    case freeze
    /// What the wallet can't cover is written off in the same commit, and the balance ends at zero.
    case forgive

    /// Why so much can't be spent; nil if it can.
    public func refusal(ofSpending amount: Int64, of currency: String, from wallet: Wallet) -> Refusal? {
        if self == .freeze, wallet.isInDebt { return .inDebt }
        return wallet.covers(amount, of: currency) ? nil : .insufficientFunds
    }
}
