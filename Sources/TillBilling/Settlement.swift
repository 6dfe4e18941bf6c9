/// What Apple signed about one transaction, as far as settling it goes.
public struct PaidTransaction: Hashable, Sendable {
    public let id: TransactionID
    public let originalID: TransactionID
    public let productID: ProductID
    public let quantity: Int
    public let environment: Environment
    /// Nil when Apple signed none.
    public private(set) var token: AppAccountToken?
    public let purchasedAt: Instant
    /// When Apple signed this copy: a later copy of the same transaction knows more (U4, U8).
    public let signedAt: Instant
    public let revokedAt: Instant?
    /// When the first transaction of its chain was bought; nil if Apple did not say.
    public private(set) var chainBeganAt: Instant?
    /// Made by Apple's server, not by a tap: it reuses the first order's token.
    public private(set) var isRenewal: Bool
    /// Whether Apple said so. A receipt does not, and then the periods around it decide (`SubscriptionChain`).
    public let statesReason: Bool
    /// From a PKCS#7 receipt, which carries no token and never shows the refund of a consumable.
    public let isFromReceipt: Bool
    public let price: Money?
    public let terms: TransactionTerms
    /// One for each Apple Account and app, so whoever shares a phone shares it: evidence, and never a reason (U1).
    public var appTransactionID: String?

    public init(
        id: TransactionID, originalID: TransactionID, productID: ProductID, quantity: Int, environment: Environment,
        token: AppAccountToken?, purchasedAt: Instant, signedAt: Instant, revokedAt: Instant?, isRenewal: Bool,
        isFromReceipt: Bool, price: Money?, terms: TransactionTerms = TransactionTerms(), chainBeganAt: Instant? = nil,
        statesReason: Bool = true
    ) {
        self.id = id
        self.originalID = originalID
        self.productID = productID
        self.quantity = quantity
        self.environment = environment
        self.token = token
        self.purchasedAt = purchasedAt
        self.signedAt = signedAt
        self.revokedAt = revokedAt
        self.isRenewal = isRenewal
        self.statesReason = statesReason
        self.isFromReceipt = isFromReceipt
        self.price = price
        self.terms = terms
        self.chainBeganAt = chainBeganAt
    }

    /// Whether it is a period of an auto-renewable subscription. Where Apple named no type, only those have an end.
    public var isSubscription: Bool {
        terms.type.map { $0 == .autoRenewable } ?? (terms.expiresAt != nil)
    }

    /// As a period of its chain.
    public var period: PaidPeriod {
        PaidPeriod(
            transactionID: id, productID: productID, purchasedAt: purchasedAt, signedAt: signedAt,
            revokedAt: revokedAt, isRenewal: isRenewal, statesReason: statesReason, price: price, terms: terms)
    }

    /// The same, as what the periods around it say it is.
    public func decided(among chain: SubscriptionChain) -> PaidTransaction {
        var decided = self
        decided.isRenewal = chain.periods.first { $0.transactionID == id }?.isRenewal ?? isRenewal
        return decided
    }

    /// Becomes the newer copy of the same transaction, and keeps what that one may lack because the ledger has no place
    /// for it: a token that names no order, and when its chain began.
    public mutating func yield(to newer: PaidTransaction) {
        let older = self
        self = newer
        token = newer.token ?? older.token
        chainBeganAt = newer.chainBeganAt ?? older.chainBeganAt
    }
}

/// `appAccountToken` as signed. Apple promises a UUID; what is none names no order of ours.
public enum AppAccountToken: Hashable, Sendable {
    case order(OrderID)
    case unreadable
}

/// Who brought a proof, and so whose word counts.
public enum Caller: Hashable, Sendable {
    /// An app's backend with a secret key; the user it names is believed.
    case backend(keyID: String, naming: UserID?)
    /// An app with a user token.
    case user(UserID)
    /// Apple's notification, or Apple's answer to our question.
    case apple
}

/// What the ledger already says about a transaction.
public struct RecordedTransaction: Hashable, Sendable {
    public enum State: Int, Hashable, Sendable, CaseIterable {
        case granted = 1
        case quarantined = 2
        /// Refunded or revoked; a grant there may have been is taken back.
        case revoked = 3
    }
    public let state: State
    /// The newest copy that came.
    public let newest: SignedCopy
    public let grant: Grant?

    public init(state: State, newest: SignedCopy, grant: Grant?) {
        self.state = state
        self.newest = newest
        self.grant = grant
    }
}

/// Everything a decision rests on. Loaded by the caller in the same commit that carries the decision out.
public struct SettlementFacts: Sendable {
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

/// The decision about one verified transaction: what becomes of it, from facts alone.
///
/// There are three doors (an app's proof, Apple's notification, reconciliation) and this one decision behind them.
public enum Settlement: Hashable, Sendable {
    /// Give it, exactly now. `order` nil means that an order is made on the spot.
    case grant(to: UserID, order: Order?, newOrderID: OrderID?, by: MatchingRung)
    /// It was given before; nothing changes but perhaps the newest `signedAt`.
    case alreadyGranted(Grant)
    /// Apple took the money back: take back what was granted.
    case revoke(Grant)
    /// Apple took a refund back: give again what was taken back.
    case reinstate(Grant)
    /// Refunded or revoked, and nothing is held for it: record that, so that older copies can't grant.
    case revoked
    /// Paid, but nobody's yet: keep it with its proof.
    case quarantine(QuarantineReason)

    public init(_ facts: SettlementFacts) {
        let isNewest = facts.recorded.map { SignedCopy(facts.transaction) >= $0.newest } ?? true
        if let recorded = facts.recorded, let known = Self.fromLedger(recorded, facts.transaction) {
            self = known
        } else if facts.transaction.revokedAt != nil, isNewest {
            self = Self.takenBackUnseen(facts)
        } else {
            self = Self.match(facts)
        }
    }

    /// What the ledger alone decides; nil when the transaction has to be matched (again). An older copy changes nothing
    /// (U4), but whoever brings one may know whose it is.
    private static func fromLedger(_ recorded: RecordedTransaction, _ transaction: PaidTransaction) -> Settlement? {
        let isNewer = SignedCopy(transaction).isNewer(than: recorded.newest)
        switch recorded.state {
        case .granted:
            guard let grant = recorded.grant else { return nil }
            return isNewer && transaction.revokedAt != nil ? .revoke(grant) : .alreadyGranted(grant)
        case .revoked:
            guard isNewer, transaction.revokedAt == nil else { return .revoked }
            return recorded.grant.map { .reinstate($0) }
        case .quarantined:
            let isGone = isNewer && transaction.revokedAt != nil && RevokedShare(transaction) == .all
            return isGone ? .revoked : nil
        }
    }

    /// Seen for the first time when Apple had taken it back already: of all of it nothing is granted, of a part the
    /// rest is, as if the purchase had been seen first.
    private static func takenBackUnseen(_ facts: SettlementFacts) -> Settlement {
        RevokedShare(facts.transaction) == .all ? .revoked : match(facts)
    }

    /// The order of a transaction that was taken back before anything was granted, and whether it is the one that the
    /// order is about, rather than another one of the same customer.
    public static func order(of facts: SettlementFacts) -> (order: Order, isItsOwn: Bool)? {
        if case .grant(_, let order?, _, _) = match(facts) { return (order, true) }
        guard !facts.contradictsTokenOrder else { return nil }
        return facts.tokenOrder.map { ($0, false) }
    }

    /// The account whose token a transaction without an order carries.
    public static func account(of facts: SettlementFacts) -> UserID? {
        guard case .grant(let user, nil, nil, .accountToken) = match(facts) else { return nil }
        return user
    }

    private static func match(_ facts: SettlementFacts) -> Settlement { MatchingLadder(facts).settlement }
}
