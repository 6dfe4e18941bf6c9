/// All facts of a purchase decision. The caller loads them in the same commit that records the decision.
public struct PurchaseFacts: Sendable {
    public let transaction: PaidTransaction
    public let caller: Caller
    public let recorded: RecordedTransaction?
    /// The order whose id is the token, if it may be matched by its id (`Order.mayBeMatched`).
    public let tokenOrder: Order?
    /// The user for whom a backend registered the token.
    public var tokenAccount: UserID?
    /// The caller, if the token is a commitment to the caller, proved by the nonce sent with the proof, and names no
    /// order yet.
    public var provenUser: UserID?
    /// Whether an order has the token as its id, but a stored payment carried the token before the order was opened.
    public var isTokenOlderThanOrder = false
    /// Whether the user of `tokenOrder` was granted an earlier purchase of the chain. Later purchases in that chain
    /// carry the order's token, whatever their product.
    public var isInChainOfTokenOrder = false
    /// The order id sent with the proof, and the order with that id.
    public let claimedOrderID: OrderID?
    public let claimedOrder: Order?
    /// For a renewal: the order of the renewed purchase, if that has an owner.
    public let originalOrder: Order?
    /// For a renewal: the renewed purchase; nil while it is unknown.
    public var renewed: RenewedPurchase?
    /// For an upgrade without a token, in a chain without tokens: the caller, if the replaced subscription was the
    /// caller's.
    public var replacedOwner: UserID?
    public let product: CatalogProduct?
    /// The customer who restores the purchase and may receive it if it has no owner; nil for a proof that was only
    /// delivered.
    public var claimant: UserID?
    /// Unpaid orders of any user on the submitting device, for the same product and quantity, newest first; nil if no
    /// device was named.
    public var deviceOrders: [Order]?
    /// A claim to the purchase, unless the purchase that it renews belongs to another customer.
    public var ownershipClaim: OwnershipClaim?
    /// For a renewal: the basis of the grant of `originalOrder`.
    public var originalBasis: OwnershipBasis?
    /// Whether a receipt alone does not suffice for a grant: by the shop's settings, or because a signed token gave a
    /// purchase of its sender to another customer.
    public var needsSignedCopy = false
    /// Whether an operator imports it from another system, and names its owner even where a receipt hides the token.
    public var isImport = false

    // For another copy of a granted purchase:

    /// The copy that arrived. `transaction` is the ledger's copy, if that is newer.
    public var submitted: PaidTransaction
    /// The ledger's copy.
    public var known: PaidTransaction?
    /// The basis of its grant.
    public var basis: OwnershipBasis = .token
    /// The customer that the token of `submitted` names, after merges; nil if that is not a known customer.
    public var userOfSubmittedToken: UserID?

    // For purchases that changed their owner before:

    /// The accounts that guests were merged into.
    public var accounts: [UserID: UserID] = [:]
    /// The owner of the renewed purchase, if the renewal's token does not name another customer.
    public var chainOwner: UserID?
    /// For each order, the owner of the newest transaction of the chain that was paid under it.
    public var currentChainOwners: [OrderID: UserID] = [:]

    /// Seconds by which an order may be younger than its payment.
    public static let clockTolerance: Int64 = 300

    /// The maximum of `deviceOrders`. If it is reached, no order counts as the only one.
    public static let deviceOrderLimit = 50

    public init(
        transaction: PaidTransaction, caller: Caller, recorded: RecordedTransaction?, tokenOrder: Order?,
        claimedOrderID: OrderID?, claimedOrder: Order?, originalOrder: Order?, product: CatalogProduct?,
        claimant: UserID? = nil
    ) {
        self.transaction = transaction
        self.caller = caller
        self.recorded = recorded
        self.tokenOrder = tokenOrder
        self.claimedOrderID = claimedOrderID
        self.claimedOrder = claimedOrder
        self.originalOrder = originalOrder
        self.product = product
        self.claimant = claimant
        submitted = transaction
    }
}

extension PurchaseFacts {
    /// A restore or a claim can only assign a purchase without an owner.
    var withoutClaims: PurchaseFacts {
        var facts = self
        facts.claimant = nil
        facts.ownershipClaim = nil
        return facts
    }
}

/// Facts that are passed on by reference, because they have a hundred values. Read single facts through it: a copy of
/// all of them costs as much as a statement.
public final class SharedFacts: Sendable {
    public let facts: PurchaseFacts

    public init(_ facts: PurchaseFacts) { self.facts = facts }

    /// Whether the token names an order for another product or quantity. A later purchase in a chain of the order's
    /// user is no contradiction: Apple keeps the first order's token on upgrades and renewals.
    public var contradictsTokenOrder: Bool {
        guard let tokenOrder = facts.tokenOrder, facts.tokenAccount == nil, !tokenOrder.isFor(facts.transaction) else {
            return false
        }
        return !facts.isInChainOfTokenOrder
            && !tokenOrder.isPaid(by: facts.transaction.id, in: facts.transaction.environment)
    }

    /// The user that the token names.
    public var namedUser: UserID? { facts.tokenAccount ?? facts.tokenOrder?.userID ?? facts.provenUser }

    /// The account of a customer, after merges.
    public func account(of user: UserID) -> UserID { facts.accounts[user] ?? user }

    /// The owner of a new transaction: the buyer, unless earlier purchases of the chain were moved.
    ///
    /// - Parameter order: the buyer's order; nil if it is still to be opened.
    public func newOwner(of buyer: UserID, under order: OrderID?) -> NewOwner {
        var owner: UserID?
        let isNamedByPurchase =
            facts.renewed?.token == .ofPurchase && (facts.tokenOrder != nil || facts.tokenAccount != nil)
        if let chainOwner = facts.chainOwner, isNamedByPurchase || order != nil && order == facts.originalOrder?.id {
            owner = chainOwner
        } else if facts.transaction.originalID != facts.transaction.id {
            var before = facts.tokenOrder?.id ?? order
            // An account token is not an order's id. The account's earlier purchase in the chain takes its place.
            if let account = facts.tokenAccount, let original = facts.originalOrder, original.userID == account {
                before = original.id
            }
            owner = before.flatMap { facts.currentChainOwners[$0] }
        }
        return NewOwner(buyer: buyer, currentChainOwner: owner, account: facts.accounts[buyer])
    }
}

/// Why a paid transaction has no owner yet.
public enum QuarantineReason: String, Hashable, Sendable, CaseIterable {
    case unknownToken = "unknown_token"
    case unreadableToken = "unreadable_token"
    case noOwner = "no_owner"
    /// A receipt has no token, so without an order id its owner is unknown.
    case receiptNeedsOrder = "receipt_needs_order"
    /// The shop's settings require it, or a signed token gave a purchase of the sender to another customer.
    case receiptNeedsSignedCopy = "receipt_needs_signed_copy"
    case claimedOrderUnknown = "claimed_order_unknown"
    case claimedOrderOfAnother = "claimed_order_of_another"
    case claimedOrderDiffers = "claimed_order_differs"
    case claimedOrderOpenedLater = "claimed_order_opened_later"
    case claimedOrderTaken = "claimed_order_taken"
    case contradictsOrder = "contradicts_order"
    case unknownProduct = "unknown_product"
    case unusableQuantity = "unusable_quantity"
    /// Apple states that neither the purchaser nor the purchaser's family owns it, so its owner is unknown.
    case unknownOwnership = "unknown_ownership"
}
