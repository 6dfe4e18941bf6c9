/// Everything a decision rests on. Loaded by the caller in the same commit that carries the decision out.
public struct PurchaseFacts: Sendable {
    public let transaction: PaidTransaction
    public let caller: Caller
    public let recorded: RecordedTransaction?
    /// The order whose id the token is, if it may be matched by its id (`Order.mayBeMatched`).
    public let tokenOrder: Order?
    /// The user for whom a backend registered the token.
    public var tokenAccount: UserID?
    /// The caller, where the token is a commitment to them that came with its proof and names no order yet.
    public var provenUser: UserID?
    /// An order has the token as its id, but a stored payment carried the token before the order was opened.
    public var isTokenOlderThanOrder = false
    /// Whether its chain was granted to the user of `tokenOrder` before, so that what comes later in the chain carries
    /// the order's token whatever its product is.
    public var isInChainOfTokenOrder = false
    /// The order id sent beside the proof, and the order of that id.
    public let claimedOrderID: OrderID?
    public let claimedOrder: Order?
    /// For a renewal: the order of the purchase that it renews, if that has an owner.
    public let originalOrder: Order?
    /// For a renewal: what it renews; nil while nothing is known of that.
    public var renewed: RenewedPurchase?
    /// For an upgrade without a token, in a chain that shows no token: the caller, if what it ended was theirs.
    public var replacedOwner: UserID?
    public let product: Product?
    /// Who restores it, and may have it if it is nobody's: nil for a proof that was only delivered.
    public var claimant: UserID?
    /// Unpaid orders of the device that brought it, of any user, for the same product and quantity, the newest first;
    /// nil if no device was named.
    public var deviceOrders: [Order]?
    /// Somebody's claim to it, unless what it renews is another customer's.
    public var ownershipClaim: OwnershipClaim?
    /// For a renewal: what the grant of `originalOrder` rests on.
    public var originalBasis: OwnershipBasis?
    /// Whether a receipt grants nothing by itself: by the shop's terms, or because its sender lost a purchase to the
    /// token of another customer.
    public var needsSignedCopy = false

    // Of a granted purchase, when a copy of it comes.

    /// The copy that came. `transaction` is the newer one, where the ledger had that.
    public var brought: PaidTransaction
    /// The copy that the ledger had.
    public var known: PaidTransaction?
    /// What its grant rests on.
    public var basis: OwnershipBasis = .token
    /// The customer whom the token of `brought` names, by the account of today; nil if that is no known customer.
    public var userOfBroughtToken: UserID?

    // Of purchases that changed their owner before.

    /// The accounts of guests who became part of one.
    public var accounts: [UserID: UserID] = [:]
    /// Who has the purchase that is renewed, where the renewal's token does not name another customer.
    public var chainOwner: UserID?
    /// Who has the newest transaction of the chain that was paid under an order.
    public var chainHolders: [OrderID: UserID] = [:]

    /// Seconds by which an order may be younger than the purchase that is said to pay it.
    public static let clockTolerance: Int64 = 300

    /// More of `deviceOrders` are not looked at, and then none of them is the only one.
    public static let deviceOrderLimit = 50

    /// Whether the order that the token names is of something else. A later purchase in a chain that the order's user
    /// has is no contradiction: Apple keeps the first order's token on upgrades and renewals.
    public var contradictsTokenOrder: Bool {
        guard let tokenOrder, tokenAccount == nil, !tokenOrder.isFor(transaction) else { return false }
        return !isInChainOfTokenOrder && !tokenOrder.isPaid(by: transaction.id, in: transaction.environment)
    }

    /// The user whom the token names.
    public var namedUser: UserID? { tokenAccount ?? tokenOrder?.userID ?? provenUser }

    public init(
        transaction: PaidTransaction, caller: Caller, recorded: RecordedTransaction?, tokenOrder: Order?,
        claimedOrderID: OrderID?, claimedOrder: Order?, originalOrder: Order?, product: Product?,
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
        brought = transaction
    }

    /// A customer's account of today.
    public func account(of user: UserID) -> UserID { accounts[user] ?? user }

    /// Whose a new transaction becomes: the buyer's, unless what came before it was moved.
    ///
    /// - Parameter order: the buyer's; nil if it is yet to be opened, and so holds nothing.
    public func newOwner(of buyer: UserID, under order: OrderID?) -> NewOwner {
        var holder: UserID?
        let isNamedByPurchase = renewed?.token == .ofPurchase && (tokenOrder != nil || tokenAccount != nil)
        if let chainOwner, isNamedByPurchase || order != nil && order == originalOrder?.id {
            holder = chainOwner
        } else if transaction.originalID != transaction.id {
            var before = tokenOrder?.id ?? order
            // An account token is no order's: what the account bought before in the chain stands for it.
            if let tokenAccount, let originalOrder, originalOrder.userID == tokenAccount { before = originalOrder.id }
            holder = before.flatMap { chainHolders[$0] }
        }
        return NewOwner(buyer: buyer, chainHolder: holder, account: accounts[buyer])
    }
}

/// Why a paid transaction is nobody's yet (DESIGN §4, invariant 6).
public enum QuarantineReason: String, Hashable, Sendable, CaseIterable {
    case unknownToken = "unknown_token"
    case unreadableToken = "unreadable_token"
    case noOwner = "no_owner"
    /// A receipt carries no token, so without an order id nobody can say whose it is (DESIGN §1).
    case receiptNeedsOrder = "receipt_needs_order"
    /// By the shop's terms, or because its sender lost a purchase to the token of another customer.
    case receiptNeedsSignedCopy = "receipt_needs_signed_copy"
    case claimedOrderUnknown = "claimed_order_unknown"
    case claimedOrderOfAnother = "claimed_order_of_another"
    case claimedOrderDiffers = "claimed_order_differs"
    case claimedOrderOpenedLater = "claimed_order_opened_later"
    case claimedOrderTaken = "claimed_order_taken"
    case contradictsOrder = "contradicts_order"
    case unknownProduct = "unknown_product"
    case unusableQuantity = "unusable_quantity"
    /// Apple says that neither the purchaser nor the purchaser's family owns it: whose it is, nobody here knows.
    case unknownOwnership = "unknown_ownership"
}
