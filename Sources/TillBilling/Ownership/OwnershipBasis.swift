/// What says that a granted purchase is its owner's, the weakest first.
public enum OwnershipBasis: String, Hashable, Sendable, CaseIterable, Comparable {
    /// A receipt and the order id beside it. A receipt hides the token, so this is what its sender says.
    case receipt
    /// A copy that Apple signed without a token, and the order id, the device or the restore beside it.
    case orderID = "order_id"
    /// The token that Apple signed, in a proof, a notification or an answer.
    case token
    /// A person who answers for it: an operator, or a customer who shows Apple's order number.
    case person

    public static func < (left: OwnershipBasis, right: OwnershipBasis) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .receipt: 0
        case .orderID: 1
        case .token: 2
        case .person: 3
        }
    }

    /// The basis of a new grant.
    ///
    /// - Parameters:
    ///   - rung: how its owner was found.
    ///   - chain: the basis of what it renews; nil if it renews nothing that is granted.
    public init(of transaction: PaidTransaction, foundBy rung: OwnerMatch, chain: OwnershipBasis?) {
        switch rung {
        case .orderNumber, .operatorDecision: self = .person
        // A renewal is its owner's for the same reason as what it renews. A receipt does not say that it is one.
        case .originalTransaction: self = transaction.isFromReceipt ? .receipt : chain ?? .orderID
        case .token, .accountToken, .acceptance: self = .token
        case .orderID, .device, .backend, .claim:
            self = transaction.isFromReceipt ? .receipt : transaction.signedToken == nil ? .orderID : .token
        }
    }
}

extension PaidTransaction {
    /// The token that says whose it is; nil for a copy that somebody else pays for, whose token is the purchaser's.
    public var signedToken: AppAccountToken? { terms.isPaidBySomebodyElse ? nil : token }
}

/// What becomes of a receipt whose signed copy Apple can't be asked for.
public enum ReceiptPolicy: String, Hashable, Sendable, CaseIterable {
    /// It waits in quarantine until a signed copy comes, or a person decides.
    case quarantine
    /// It is granted by the order id beside it, its points are held, and a signed copy may still move it.
    case provisional
}

/// The shop's terms for receipts.
public struct ReceiptTerms: Hashable, Sendable {
    public var policy: ReceiptPolicy
    /// How long points that rest on a receipt alone are held.
    public var holdHours: Int64

    /// For how long a customer who lost a purchase to the token of another one needs signed copies, in milliseconds.
    public static let distrust: Int64 = 90 * 86_400_000

    public init(policy: ReceiptPolicy = .quarantine, holdHours: Int64 = 24) {
        self.policy = policy
        self.holdHours = holdHours
    }

    /// When points that are granted now are free.
    public func holdEnd(from now: Instant) -> Instant { now.adding(milliseconds: holdHours * 3_600_000) }
}
