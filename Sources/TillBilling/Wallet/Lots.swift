/// Points that entered a wallet at once: a purchase, a bonus, or an upward correction.
public struct Lot: Hashable, Sendable {
    /// When a lot was opened, and the values that order lots of the same moment.
    public struct Opening: Hashable, Sendable, Comparable {
        /// For a purchase, the purchase date, not the date on which the server learned of it.
        public let at: Instant
        /// For a purchase.
        public let transactionID: TransactionID?
        /// A grant's id, or the backend's own reference.
        public let reference: String

        public init(at: Instant, transactionID: TransactionID?, reference: String) {
            self.at = at
            self.transactionID = transactionID
            self.reference = reference
        }

        /// Transaction ids are numbers, so the shorter one is the smaller one.
        public static func < (left: Opening, right: Opening) -> Bool {
            let (one, other) = (left.transactionID?.text ?? "", right.transactionID?.text ?? "")
            return (left.at, one.utf8.count, one, left.reference)
                < (right.at, other.utf8.count, other, right.reference)
        }
    }

    public let kind: PostingKind
    public let opening: Opening
    public let amount: Int64
    /// The points that refunds took from the lot.
    public fileprivate(set) var takenBack: Int64 = 0
    /// The points that the customer spent from the lot: at most those that were not refunded.
    public fileprivate(set) var used: Int64 = 0

    fileprivate init(kind: PostingKind, opening: Opening, amount: Int64) {
        self.kind = kind
        self.opening = opening
        self.amount = amount
    }

    /// The points that came with it from another customer, minus those that went.
    fileprivate var moved: Int64 = 0

    /// The points of the lot that are available or spent. If negative, another customer has spent them.
    fileprivate var held: Int64 { amount + moved - takenBack }

    /// The points that the next debits may use.
    public var remaining: Int64 { max(0, held) - used }
}

/// One kind of points of one customer, as lots: a fold over the postings, with no state beside the ledger.
///
/// Debits use the oldest lot first, then the next one. Points that a refund takes from its own lot cannot have been
/// spent from that lot, so they count as spent from the later lots. An amount that no lot covers is a debt, which the
/// next lot pays before it can be spent. A reversed refund leaves the lots as if it had never happened. Lots therefore
/// depend on what was bought, given and spent, and not on when the server learned of a refund:
///
///     the remaining points of all lots − the debt = the balance
public struct Lots: Sendable {
    private var lots: [Lot] = []
    private var indices: [Key: Int] = [:]
    /// Debits and downward corrections, minus write-offs.
    private var spent: Int64 = 0
    /// Whether no sum has overflowed.
    private var isExact = true
    /// The sum of the postings.
    public private(set) var balance: Int64 = 0

    private struct Key: Hashable {
        let kind: PostingKind
        let reference: String
    }

    public init() {}

    /// Adds a posting of this customer and this kind of points. Postings must follow those that they refer to.
    ///
    /// - Parameter bought: for a posting of a grant, the transaction that paid for it, and its purchase date.
    public mutating func add(_ posting: Posting, bought: (id: TransactionID, at: Instant)? = nil) {
        balance = sum(balance, posting.amount)
        switch posting.kind {
        case .purchase, .bonus: open(posting, bought)
        case .correction where posting.amount > 0: open(posting, bought)
        case .correction, .debit: spent = sum(spent, -posting.amount)
        case .writeOff, .writeOffReversal: spent = sum(spent, -posting.amount)
        case .refund, .refundReversal:
            guard let index = indices[Key(kind: .purchase, reference: posting.reference)] else {
                // A purchase that came from another customer without any points left.
                spent = sum(spent, -posting.amount)
                return
            }
            lots[index].takenBack = sum(lots[index].takenBack, -posting.amount)
        case .moved: move(posting, bought)
        }
    }

    /// The nearest representable number: postings must not trap.
    private mutating func sum(_ one: Int64, _ other: Int64) -> Int64 {
        let sum = one.addingWithinBounds(other)
        if sum &- one != other { isExact = false }
        return sum
    }

    /// The rest of a purchase becomes a lot at the new owner, and leaves its lot at the old one. Points that came
    /// without a purchase are a lot of their own, and a negative amount counts as spent.
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

    /// All lots, oldest first, and the amount that no lot covers.
    public func lotsAndDebt() -> (lots: [Lot], debt: Int64) {
        var debt = spent
        var allocated = lots.sorted { $0.opening < $1.opening }
        // The part of a refund that exceeds its own lot is taken from the other lots.
        for index in allocated.indices where allocated[index].held < 0 {
            debt = debt.addingWithinBounds(-allocated[index].held)
            allocated[index].takenBack += allocated[index].held
        }
        for index in allocated.indices {
            let used = min(debt, allocated[index].held)
            allocated[index].used = used
            debt -= used
        }
        assert(
            !isExact || debt == .max || allocated.reduce(0 &- debt) { $0 &+ $1.remaining } == balance,
            "the lots and the debt are the balance (invariant 4)")
        return (allocated, debt)
    }

    /// The points that leave with some of the lots: of each such lot what is left of it, or what it owes because more
    /// was refunded than was left. What these lots owe stays with them, so that the other lots do not pay it.
    ///
    /// - Parameter loose: the sum of the postings that belong to these lots but are not part of them: write-offs, and
    ///   refunds of purchases that came without points.
    public func parting(loose: Int64, _ leaves: (Lot.Opening) -> Bool) -> [(opening: Lot.Opening, points: Int64)] {
        let lots = lots.sorted { $0.opening < $1.opening }
        var debt = spent.addingWithinBounds(loose)
        for lot in lots where lot.held < 0 && !leaves(lot.opening) { debt = debt.addingWithinBounds(-lot.held) }
        var parting: [(opening: Lot.Opening, points: Int64)] = []
        for lot in lots {
            let used = lot.held > 0 ? max(0, min(debt, lot.held)) : 0
            debt -= used
            if leaves(lot.opening) { parting.append((lot.opening, lot.held - used)) }
        }
        return parting
    }

    /// What the postings of one grant have put into its lot: the amount, what moved and what was refunded.
    public func held(ofGrant id: UniqueID) -> Int64 {
        indices[Key(kind: .purchase, reference: id.description)].map { lots[$0].held } ?? 0
    }

    /// The lot of a grant.
    public func lot(ofGrant id: UniqueID) -> Lot? {
        lotsAndDebt().lots.first {
            ($0.kind == .purchase || $0.kind == .moved) && $0.opening.reference == id.description
        }
    }
}

extension Int64 {
    /// The nearest representable number: postings must not trap.
    fileprivate func addingWithinBounds(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
