/// Points that came into a wallet at once: a purchase, a bonus, or a correction upwards.
public struct Lot: Hashable, Sendable {
    /// When it came, and what tells it from others of that moment.
    public struct Opening: Hashable, Sendable, Comparable {
        /// For a purchase when it was made, not when we heard of it.
        public let at: Instant
        /// Of a purchase.
        public let transactionID: TransactionID?
        /// A grant's id, or the backend's own reference.
        public let reference: String

        public init(at: Instant, transactionID: TransactionID?, reference: String) {
            self.at = at
            self.transactionID = transactionID
            self.reference = reference
        }

        /// Ids of transactions are numbers, so the shorter one is the smaller one.
        public static func < (left: Opening, right: Opening) -> Bool {
            let (one, other) = (left.transactionID?.text ?? "", right.transactionID?.text ?? "")
            return (left.at, one.utf8.count, one, left.reference)
                < (right.at, other.utf8.count, other, right.reference)
        }
    }

    public let kind: PostingKind
    public let opening: Opening
    public let amount: Int64
    /// What refunds took of it.
    public fileprivate(set) var takenBack: Int64 = 0
    /// What the customer spent of it: at most what is not taken back.
    public fileprivate(set) var used: Int64 = 0

    fileprivate init(kind: PostingKind, opening: Opening, amount: Int64) {
        self.kind = kind
        self.opening = opening
        self.amount = amount
    }

    /// What came to this customer with it from another one, less what went.
    fileprivate var moved: Int64 = 0

    /// What is there to be spent of it, or was spent. Below zero, another customer spent it.
    fileprivate var held: Int64 { amount + moved - takenBack }

    /// What the next debits may take of it.
    public var remaining: Int64 { max(0, held) - used }
}

/// One kind of points of one customer, lot by lot: a fold over the postings, with nothing stored beside the ledger.
///
/// What is spent is spent of the oldest lot first, and of the next when that is empty. What a refund takes of its own
/// lot can't have been spent of it: then it was spent of the lots after it, and what no lot covers is the debt, which
/// the next lot pays before anything can be spent of it. A refund that is undone leaves the lots as if it had never
/// been. So lots depend on what was bought, given and spent, and not on when a refund was heard of (U4):
///
///     the remaining points of all lots − the debt = the balance
public struct Lots: Sendable {
    private var lots: [Lot] = []
    private var indices: [Key: Int] = [:]
    /// Debits and corrections downwards, less what was written off.
    private var spent: Int64 = 0
    /// Whether no sum has left the numbers there are.
    private var isExact = true
    /// The sum of the postings.
    public private(set) var balance: Int64 = 0

    private struct Key: Hashable {
        let kind: PostingKind
        let reference: String
    }

    public init() {}

    /// Adds a posting: one of that customer, of that kind of points, each after those it refers to.
    ///
    /// - Parameter bought: for a posting of a grant, which transaction paid for it, and when that was made.
    public mutating func add(_ posting: Posting, bought: (id: TransactionID, at: Instant)? = nil) {
        balance = sum(balance, posting.amount)
        switch posting.kind {
        case .purchase, .bonus: open(posting, bought)
        case .correction where posting.amount > 0: open(posting, bought)
        case .correction, .debit: spent = sum(spent, -posting.amount)
        case .writeOff, .writeOffReversal: spent = sum(spent, -posting.amount)
        case .refund, .refundReversal:
            guard let index = indices[Key(kind: .purchase, reference: posting.reference)] else {
                // Of a purchase that came from another customer with nothing left of it.
                spent = sum(spent, -posting.amount)
                return
            }
            lots[index].takenBack = sum(lots[index].takenBack, -posting.amount)
        case .moved: move(posting, bought)
        }
    }

    /// The nearest number there is: no posting may stop the program.
    private mutating func sum(_ one: Int64, _ other: Int64) -> Int64 {
        let sum = one.addingWithinBounds(other)
        if sum &- one != other { isExact = false }
        return sum
    }

    /// What was left of a purchase is a lot where it came to, and gone from its lot where it was. What came with no
    /// purchase is a lot of its own, and a debt is owed elsewhere.
    private mutating func move(_ posting: Posting, _ bought: (id: TransactionID, at: Instant)?) {
        if let index = indices[Key(kind: .purchase, reference: posting.reference)] {
            lots[index].moved = sum(lots[index].moved, posting.amount)
        } else if posting.amount > 0 {
            open(posting, bought)
        } else {
            spent = sum(spent, -posting.amount)
        }
    }

    private mutating func open(_ posting: Posting, _ bought: (id: TransactionID, at: Instant)?) {
        let opening = Lot.Opening(
            at: bought?.at ?? posting.at, transactionID: bought?.id, reference: posting.reference)
        let kind: PostingKind = bought != nil ? .purchase : posting.kind
        indices[Key(kind: kind, reference: posting.reference)] = lots.count
        lots.append(Lot(kind: posting.kind, opening: opening, amount: posting.amount))
    }

    /// All lots, the oldest first, and what no lot covers.
    public func settled() -> (lots: [Lot], debt: Int64) {
        var debt = spent
        var settled = lots.sorted { $0.opening < $1.opening }
        // What a refund takes beyond its own lot, others have to give.
        for index in settled.indices where settled[index].held < 0 {
            debt = debt.addingWithinBounds(-settled[index].held)
            settled[index].takenBack += settled[index].held
        }
        for index in settled.indices {
            let used = min(debt, settled[index].held)
            settled[index].used = used
            debt -= used
        }
        assert(
            !isExact || debt == .max || settled.reduce(0 &- debt) { $0 &+ $1.remaining } == balance,
            "the lots and the debt are the balance (invariant 4)")
        return (settled, debt)
    }

    /// The lot of a grant.
    public func lot(ofGrant id: UniqueID) -> Lot? {
        settled().lots.first {
            ($0.kind == .purchase || $0.kind == .moved) && $0.opening.reference == id.description
        }
    }
}

extension Int64 {
    /// The nearest number there is: no posting may stop the program.
    fileprivate func addingWithinBounds(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
