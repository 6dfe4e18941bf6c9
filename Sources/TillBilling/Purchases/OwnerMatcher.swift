/// How a transaction found its owner. Recorded as evidence.
public enum OwnerMatch: String, Hashable, Sendable, CaseIterable {
    case token
    /// The token that the user's backend registered for the user's payments.
    case accountToken = "account_token"
    case orderID = "order_id"
    case originalTransaction = "original_transaction"
    /// The only open order of its device that it can be for.
    case device
    case backend
    /// Apple named nobody, nobody had it, and somebody restored it (P10).
    case claim
    /// Nobody had it, and somebody showed Apple's order number for it.
    case orderNumber = "order_number"
    /// Nobody had it, and an operator decided, with a reason.
    case operatorDecision = "operator"
    /// Apple's token names the user's order of something else, and the user accepted it.
    case acceptance

    /// Whether it rests on the token alone, so that evidence need not say what else was looked at.
    public var needsNoDetail: Bool { self == .token || self == .accountToken }
}

/// Somebody's claim to what is in quarantine. It gives only what is nobody's.
public struct OwnershipClaim: Hashable, Sendable {
    public enum Ground: Hashable, Sendable {
        /// Apple's order number, which stands in the mail to whoever paid.
        case orderNumber
        case operatorDecision
        /// The user's own order, which Apple's token names. It gives only what contradicts that order.
        case order
    }

    public let user: UserID
    public let ground: Ground

    public init(user: UserID, ground: Ground) {
        self.user = user
        self.ground = ground
    }

    var match: OwnerMatch {
        switch ground {
        case .orderNumber: .orderNumber
        case .operatorDecision: .operatorDecision
        case .order: .acceptance
        }
    }
}

/// Finds the owner of a transaction, from the strongest evidence to the weakest, and notes what each step found. A
/// token that Apple signed decides alone.
///
/// The original transaction comes before the order id: whose a subscription is says more about its renewal than an
/// order id that was sent beside it.
public struct OwnerMatcher: Sendable {
    /// What one step found.
    public struct Step: Hashable, Sendable {
        public let match: OwnerMatch
        /// A stable word: `matched`, or why not.
        public let finding: String
    }

    public private(set) var steps: [Step] = []
    public private(set) var ruling = PurchaseDecision.Ruling.quarantine(.noOwner)
    private let facts: PurchaseFacts

    public init(_ facts: PurchaseFacts) {
        self.facts = facts
        ruling = find()
    }

    private var transaction: PaidTransaction { facts.transaction }

    private mutating func note(_ match: OwnerMatch, _ finding: String) {
        steps.append(Step(match: match, finding: finding))
    }

    private mutating func match(
        _ match: OwnerMatch, _ user: UserID, _ order: Order?, newOrderID: OrderID? = nil
    ) -> PurchaseDecision.Ruling {
        precondition(
            order.map { $0.userID == user } ?? true, "an order is paid for its own user and no other (invariant 1)")
        precondition(
            !match.needsNoDetail || facts.namedUser == user, "a token gives to the user it names (invariant 1)")
        note(match, "matched")
        return .grant(to: user, order: order, newOrderID: newOrderID, by: match)
    }

    private mutating func find() -> PurchaseDecision.Ruling {
        guard let product = facts.product else { return .quarantine(.unknownProduct) }
        // A seat that somebody else pays for is no sale, and no word of an app says whose it is.
        if transaction.terms.otherOwnership != nil { return byOperator(product) ?? .quarantine(.unknownOwnership) }
        guard (1...10).contains(transaction.quantity), product.points(quantity: transaction.quantity) != nil else {
            return byOperator(product) ?? .quarantine(.unusableQuantity)
        }
        // A family's copy is nobody's order: the purchaser's token and order are not the member's.
        let isShared = transaction.terms.isFamilyShared
        switch isShared ? nil : transaction.token {
        case .order where facts.renewed?.token == .inherited:
            note(.token, "inherited")
            return byChain() ?? byOwnershipClaim() ?? .quarantine(.noOwner)
        case .order(let id): return byToken(id)
        case .unreadable:
            note(.token, "unreadable")
            return byChain() ?? byBackend() ?? byOwnershipClaim() ?? .quarantine(.unreadableToken)
        case nil: note(.token, isShared ? "family_shared" : transaction.isFromReceipt ? "hidden" : "absent")
        }
        // A receipt does not tell a renewal from another customer's purchase in the same chain: an order says more.
        if !isShared, transaction.isFromReceipt, case .success = claimed(), let found = byOrder() {
            return found
        }
        if let found = byChain() { return found }
        if !isShared, let found = byOrder() { return found }
        // A receipt hides the token, so a backend's word can't tell whether the purchase is another customer's.
        if transaction.isFromReceipt {
            return byReplaced() ?? byOwnershipClaim() ?? .quarantine(.receiptNeedsOrder)
        }
        return byReplaced() ?? byClaimant(product) ?? byBackend() ?? byOwnershipClaim() ?? .quarantine(.noOwner)
    }

    // MARK: By the signed token

    private mutating func byToken(_ id: OrderID) -> PurchaseDecision.Ruling {
        // What Apple charged for a purchase that waits, waits with it, also under a token of a known customer.
        if facts.namedUser != nil, let renewed = facts.renewed, renewed.isWaiting, renewed.token == .ofPurchase,
            !renewed.isOfTakenBack
        {
            return byChain() ?? byOwnershipClaim() ?? .quarantine(.noOwner)
        }
        if let user = facts.tokenAccount { return byAccountToken(of: user) }
        guard let order = facts.tokenOrder else {
            // The payment's own order never reached the server: it is opened now, under the id that Apple signed.
            if let user = facts.provenUser { return match(.token, user, nil, newOrderID: id) }
            note(.token, facts.isTokenOlderThanOrder ? "older_than_order" : "names_no_order")
            // A word about one purchase says nothing about others with the same token: its order gets an id of its own.
            // A renewal that repeats its purchase's token belongs there; with a token of its own it falls no further.
            let isChains = facts.renewed.map { $0.token != .ownWord } ?? false
            let renewed = isChains ? byChain() : nil
            return renewed ?? byBackend() ?? byOwnershipClaim() ?? .quarantine(.unknownToken)
        }
        // An order takes what it ordered, whatever its status: anybody can pay under an id that they know.
        if facts.contradictsTokenOrder {
            note(.token, QuarantineReason.contradictsOrder.rawValue)
            // What Apple signed names its customer, and nobody else can claim it.
            guard let claim = facts.ownershipClaim, claim.user == order.userID else {
                return .quarantine(.contradictsOrder)
            }
            return match(claim.match, claim.user, nil)
        }
        if transaction.isRenewal { return match(.token, order.userID, order) }
        // A second one-time purchase under one token has an order of its own (DESIGN §1).
        guard isFree(order) else { return match(.token, order.userID, nil) }
        let isPaid = order.isPaid(by: transaction.id, in: transaction.environment)
        if !isPaid, transaction.id != transaction.originalID, !isOf(order) || isInherited(order) {
            // An upgrade or a return under the token of its chain's first purchase: the order is that one's.
            return match(.token, order.userID, nil)
        }
        return match(.token, order.userID, order)
    }

    /// Every product that the user's backend lets be bought under the token is the user's. A renewal is the order's of
    /// what it renews, and a purchase the order's that came beside it, where those are the same user's.
    private mutating func byAccountToken(of user: UserID) -> PurchaseDecision.Ruling {
        if transaction.isRenewal {
            return match(.accountToken, user, facts.originalOrder.flatMap { $0.userID == user ? $0 : nil })
        }
        let ordered = facts.claimedOrder.flatMap { order in
            order.userID == user && isOf(order) && isFree(order) ? order : nil
        }
        return match(.accountToken, user, ordered)
    }

    private func isFree(_ order: Order) -> Bool { order.isFree(for: transaction.id, in: transaction.environment) }

    private func isOf(_ order: Order) -> Bool { order.isFor(transaction) }

    /// Whether a token's order was there before its chain began, and so is not the order of what came later.
    private func isInherited(_ order: Order) -> Bool {
        transaction.chainBeganAt.map { order.createdAt <= $0 } ?? false
    }

    // MARK: By an order id, by a device

    /// The order id sent beside the proof; if that is no order of the caller that it can be for, the device's only one.
    /// An order of another product or quantity contradicts the proof, and then nothing is guessed.
    private mutating func byOrder() -> PurchaseDecision.Ruling? {
        guard facts.claimedOrderID != nil else {
            note(.orderID, "not_sent")
            return byDevice()
        }
        let reason: QuarantineReason
        switch claimed() {
        case .success where facts.needsSignedCopy:
            note(.orderID, QuarantineReason.receiptNeedsSignedCopy.rawValue)
            return byOwnershipClaim() ?? .quarantine(.receiptNeedsSignedCopy)
        case .success(let order): return match(.orderID, order.userID, order)
        case .failure(let why): reason = why.reason
        }
        note(.orderID, reason.rawValue)
        if reason == .claimedOrderDiffers { return byOwnershipClaim() ?? .quarantine(reason) }
        return byDevice() ?? byOwnershipClaim() ?? .quarantine(reason)
    }

    private struct RuledOut: Error { let reason: QuarantineReason }

    private func claimed() -> Result<Order, RuledOut> {
        guard let order = facts.claimedOrder else { return .failure(RuledOut(reason: .claimedOrderUnknown)) }
        let owner: UserID? =
            switch facts.caller {
            case .user(let user): user
            case .backend(_, let user): user ?? order.userID
            case .apple: nil
            }
        guard order.userID == owner else { return .failure(RuledOut(reason: .claimedOrderOfAnother)) }
        guard isOf(order) else { return .failure(RuledOut(reason: .claimedOrderDiffers)) }
        guard isOpenedBefore(order) else { return .failure(RuledOut(reason: .claimedOrderOpenedLater)) }
        guard isFree(order) else {
            return .failure(RuledOut(reason: .claimedOrderTaken))
        }
        return .success(order)
    }

    /// Of an order that Apple signed nothing about. Our clock may be ahead of Apple's, and receipts tell whole seconds.
    private func isOpenedBefore(_ order: Order) -> Bool {
        order.createdAt.seconds <= transaction.purchasedAt.seconds + PurchaseFacts.clockTolerance
    }

    /// An open order that is the only candidate of any user on the device. A closed order may turn out paid too (T3),
    /// so another user's stands in the way; the same user's does not.
    private mutating func byDevice() -> PurchaseDecision.Ruling? {
        guard let device = facts.deviceOrders else {
            note(.device, "not_named")
            return nil
        }
        guard !transaction.isFromReceipt else {
            note(.device, "hidden")
            return nil
        }
        let candidates = device.filter { $0.transactionID == nil && isOf($0) && isOpenedBefore($0) }
        let open = candidates.filter { $0.status.isOpen }
        guard let order = open.first else {
            note(.device, "no_candidate")
            return nil
        }
        guard open.count == 1, device.count < PurchaseFacts.deviceOrderLimit else {
            note(.device, "several_candidates")
            return nil
        }
        guard candidates.allSatisfy({ $0.userID == order.userID }) else {
            note(.device, "closed_order_of_another")
            return nil
        }
        return match(.device, order.userID, order)
    }

    // MARK: By the chain

    /// A renewal belongs to the customer who has the purchase that it renews. While that waits, so does the renewal: of
    /// the words beside it only a backend's and a person's count.
    private mutating func byChain() -> PurchaseDecision.Ruling? {
        guard transaction.isRenewal else { return nil }
        if facts.renewed?.isWaiting == true {
            note(.originalTransaction, "waiting")
            if !transaction.isFromReceipt, facts.namedUser == nil, let found = byBackend() { return found }
            return byOwnershipClaim() ?? .quarantine(waitingReason)
        }
        guard let order = facts.originalOrder else {
            note(.originalTransaction, "unknown")
            return nil
        }
        if facts.needsSignedCopy {
            note(.originalTransaction, QuarantineReason.receiptNeedsSignedCopy.rawValue)
            return byOwnershipClaim() ?? .quarantine(.receiptNeedsSignedCopy)
        }
        return match(.originalTransaction, order.userID, order)
    }

    /// By the renewal alone, so that it is the same whether the purchase came before it or not.
    private var waitingReason: QuarantineReason {
        if transaction.isFromReceipt { return .receiptNeedsOrder }
        switch transaction.terms.isFamilyShared ? nil : transaction.token {
        case .order: return facts.namedUser == nil && facts.renewed?.token != .inherited ? .unknownToken : .noOwner
        case .unreadable: return .unreadableToken
        case nil: return .noOwner
        }
    }

    /// An upgrade that was bought in Settings ends the right of the customer who has the chain. Where no token ever
    /// told customers apart, that customer's own credential is believed.
    private mutating func byReplaced() -> PurchaseDecision.Ruling? {
        guard let user = facts.replacedOwner, !facts.needsSignedCopy else { return nil }
        return match(.originalTransaction, user, nil)
    }

    // MARK: By a claim or a backend

    /// A family's copy, or what a code gave outside of the app, carries no token: it is whose phone restores it.
    private mutating func byClaimant(_ product: Product) -> PurchaseDecision.Ruling? {
        guard let user = facts.claimant, (transaction.terms.type ?? product.type).isRestorable else { return nil }
        return match(.claim, user, nil)
    }

    private mutating func byBackend() -> PurchaseDecision.Ruling? {
        guard case .backend(_, let user?) = facts.caller else { return nil }
        return match(.backend, user, nil)
    }

    /// An operator may give what nothing else may, if it can be counted. What Apple's token names stays its customer's.
    private mutating func byOperator(_ product: Product) -> PurchaseDecision.Ruling? {
        guard let claim = facts.ownershipClaim, claim.ground == .operatorDecision, transaction.quantity > 0,
            product.points(quantity: transaction.quantity) != nil
        else { return nil }
        let isAnothers = facts.namedUser.map { $0 != claim.user } ?? false
        guard !isAnothers || transaction.terms.isPaidBySomebodyElse else { return nil }
        return byOwnershipClaim()
    }

    private mutating func byOwnershipClaim() -> PurchaseDecision.Ruling? {
        guard let claim = facts.ownershipClaim, claim.ground != .order else { return nil }
        // What Apple's token names stays its customer's; a token that Apple carries on names nobody.
        let isCarriedOn = facts.renewed?.token == .inherited
        if !isCarriedOn, !transaction.terms.isPaidBySomebodyElse, let named = facts.namedUser, named != claim.user {
            return nil
        }
        return match(claim.match, claim.user, nil)
    }
}

extension Order {
    /// Whether a purchase is of the product and the quantity that were ordered.
    func isFor(_ transaction: PaidTransaction) -> Bool {
        productID == transaction.productID && quantity == transaction.quantity
    }
}

extension OrderStatus {
    /// Neither paid nor closed.
    var isOpen: Bool {
        switch self {
        case .prepared, .ongoing, .deferred: true
        case .completed, .cancelled, .failed, .refunded: false
        }
    }
}
