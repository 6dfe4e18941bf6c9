/// How the owner of a transaction was found. Recorded as evidence.
public enum OwnerMatch: String, Hashable, Sendable, CaseIterable {
    case token
    /// The token that the user's backend registered for the user's payments.
    case accountToken = "account_token"
    case orderID = "order_id"
    case originalTransaction = "original_transaction"
    /// The only open order of its device that matches.
    case device
    case backend
    /// The purchase had no owner and no token, and this customer restored it.
    case claim
    /// The purchase had no owner, and this customer presented Apple's order number for it.
    case orderNumber = "order_number"
    /// The purchase had no owner, and an operator assigned it, with a reason.
    case operatorDecision = "operator"
    /// Apple's token names the user's order for another product or quantity, and the user accepted the purchase.
    case acceptance

    /// Whether the match rests on the token alone, so that the evidence needs no further detail.
    public var needsNoDetail: Bool { self == .token || self == .accountToken }
}

/// A claim to a quarantined purchase. It can only assign a purchase without an owner.
public struct OwnershipClaim: Hashable, Sendable {
    public enum Ground: Hashable, Sendable {
        /// Apple's order number, from the mail to the paying customer.
        case orderNumber
        case operatorDecision
        /// The user's own order, which Apple's token names. It can only assign a purchase that contradicts that order.
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

/// Finds the owner of a transaction. It tries the strongest evidence first, and records the finding of each step. A
/// token that Apple signed decides alone.
///
/// The original transaction precedes the order id: the owner of a subscription is stronger evidence for its renewal
/// than an order id sent with it.
public struct OwnerMatcher: Sendable {
    /// The finding of one step.
    public struct Step: Hashable, Sendable {
        public let match: OwnerMatch
        /// A stable code: `matched`, or the reason for no match.
        public let finding: String
    }

    public private(set) var steps: [Step] = []
    public private(set) var outcome = PurchaseDecision.Outcome.quarantine(.noOwner)
    private let shared: SharedFacts

    public init(_ facts: PurchaseFacts) { self.init(SharedFacts(facts)) }

    init(_ shared: SharedFacts) {
        self.shared = shared
        outcome = find()
    }

    private var transaction: PaidTransaction { shared.facts.transaction }

    private mutating func note(_ match: OwnerMatch, _ finding: String) {
        steps.append(Step(match: match, finding: finding))
    }

    private mutating func match(
        _ match: OwnerMatch, _ user: UserID, _ order: Order?, newOrderID: OrderID? = nil
    ) -> PurchaseDecision.Outcome {
        precondition(
            order.map { $0.userID == user } ?? true, "an order is paid for its own user and no other (invariant 1)")
        precondition(
            !match.needsNoDetail || shared.namedUser == user, "a token gives to the user it names (invariant 1)")
        note(match, "matched")
        return .grant(to: user, order: order, newOrderID: newOrderID, by: match)
    }

    private mutating func find() -> PurchaseDecision.Outcome {
        guard let product = shared.facts.product else { return .quarantine(.unknownProduct) }
        // A seat that another party pays for is not a sale, and an app's statement cannot determine its owner; an
        // operator can.
        if transaction.terms.otherOwnership != nil { return byOperator(product) ?? .quarantine(.unknownOwnership) }
        guard (1...10).contains(transaction.quantity), product.points(quantity: transaction.quantity) != nil else {
            return byOperator(product) ?? .quarantine(.unusableQuantity)
        }
        // A family-shared copy belongs to no order: its token and its order are the purchaser's, not the family
        // member's.
        let isShared = transaction.terms.isFamilyShared
        switch isShared ? nil : transaction.token {
        case .order where shared.facts.renewed?.token == .inherited:
            note(.token, "inherited")
            return byChain() ?? byOwnershipClaim() ?? .quarantine(.noOwner)
        case .order(let id): return byToken(id)
        case .unreadable:
            note(.token, "unreadable")
            return byChain() ?? byBackend() ?? byOwnershipClaim() ?? .quarantine(.unreadableToken)
        case nil: note(.token, isShared ? "family_shared" : transaction.isFromReceipt ? "hidden" : "absent")
        }
        // A receipt does not distinguish a renewal from another customer's purchase in the same chain, so an order
        // comes first.
        if !isShared, transaction.isFromReceipt, case .order = claimed(), let found = byOrder() {
            return found
        }
        if let found = byChain() { return found }
        if !isShared, let found = byOrder() { return found }
        // A receipt hides the token, so a backend cannot exclude that the purchase is another customer's.
        if transaction.isFromReceipt {
            let imported = shared.facts.isImport ? byBackend() : nil
            return imported ?? byReplaced() ?? byOwnershipClaim() ?? .quarantine(.receiptNeedsOrder)
        }
        return byReplaced() ?? byClaimant(product) ?? byBackend() ?? byOwnershipClaim() ?? .quarantine(.noOwner)
    }

    // MARK: By the signed token

    private mutating func byToken(_ id: OrderID) -> PurchaseDecision.Outcome {
        // The renewal of a quarantined purchase waits with it, even if its token names a known customer.
        if shared.namedUser != nil, let renewed = shared.facts.renewed, renewed.isWaiting,
            renewed.token == .ofPurchase,
            !renewed.isOfWithdrawn
        {
            return byChain() ?? byOwnershipClaim() ?? .quarantine(.noOwner)
        }
        if let user = shared.facts.tokenAccount { return byAccountToken(of: user) }
        guard let order = shared.facts.tokenOrder else {
            // The payment's own order never reached the server. It is opened now, with the id that Apple signed.
            if let user = shared.facts.provenUser { return match(.token, user, nil, newOrderID: id) }
            note(.token, shared.facts.isTokenOlderThanOrder ? "older_than_order" : "names_no_order")
            // A renewal that repeats its purchase's token follows the purchase; one with its own token does not. A
            // backend's statement or a claim covers this purchase only, so its order gets an id of its own.
            let isChains = shared.facts.renewed.map { $0.token != .ownToken } ?? false
            let renewed = isChains ? byChain() : nil
            return renewed ?? byBackend() ?? byOwnershipClaim() ?? .quarantine(.unknownToken)
        }
        // The order accepts the product and quantity that it ordered, whatever its status. A different purchase
        // contradicts it, because any customer can pay with an id that they know.
        if shared.contradictsTokenOrder {
            note(.token, QuarantineReason.contradictsOrder.rawValue)
            // The signed token names a customer, and only that customer can claim the purchase.
            guard let claim = shared.facts.ownershipClaim, claim.user == order.userID else {
                return .quarantine(.contradictsOrder)
            }
            return match(claim.match, claim.user, nil)
        }
        if transaction.isRenewal { return match(.token, order.userID, order) }
        // A second one-time purchase with the same token gets an order of its own.
        guard isFree(order) else { return match(.token, order.userID, nil) }
        let isPaid = order.isPaid(by: transaction.id, in: transaction.environment)
        if !isPaid, transaction.id != transaction.originalID, !isOf(order) || isInherited(order) {
            // An upgrade or a resubscription with the token of the chain's first purchase: the order belongs to that
            // purchase.
            return match(.token, order.userID, nil)
        }
        return match(.token, order.userID, order)
    }

    /// An account token assigns every purchase to the user for whom the backend registered it. A renewal goes to the
    /// order of the renewed purchase, another purchase to the order sent with it, if that order is the same user's.
    private mutating func byAccountToken(of user: UserID) -> PurchaseDecision.Outcome {
        if transaction.isRenewal {
            return match(.accountToken, user, shared.facts.originalOrder.flatMap { $0.userID == user ? $0 : nil })
        }
        let ordered = shared.facts.claimedOrder.flatMap { order in
            order.userID == user && isOf(order) && isFree(order) ? order : nil
        }
        return match(.accountToken, user, ordered)
    }

    private func isFree(_ order: Order) -> Bool { order.isFree(for: transaction.id, in: transaction.environment) }

    private func isOf(_ order: Order) -> Bool { order.isFor(transaction) }

    /// Whether the order is older than the chain, so that it belongs to the chain's first purchase and not to a later
    /// one.
    private func isInherited(_ order: Order) -> Bool {
        transaction.chainBeganAt.map { order.createdAt <= $0 } ?? false
    }

    // MARK: By order id or device

    /// Matches by the order id sent with the proof; if that order is not usable, by the device's only open order. If
    /// the sent order is for another product or quantity, it contradicts the proof and no other order is tried.
    private mutating func byOrder() -> PurchaseDecision.Outcome? {
        guard shared.facts.claimedOrderID != nil else {
            note(.orderID, "not_sent")
            return byDevice()
        }
        let reason: QuarantineReason
        switch claimed() {
        case .order where shared.facts.needsSignedCopy:
            note(.orderID, QuarantineReason.receiptNeedsSignedCopy.rawValue)
            return byOwnershipClaim() ?? .quarantine(.receiptNeedsSignedCopy)
        case .order(let order): return match(.orderID, order.userID, order)
        case .rejected(let why): reason = why
        }
        note(.orderID, reason.rawValue)
        if reason == .claimedOrderDiffers { return byOwnershipClaim() ?? .quarantine(reason) }
        return byDevice() ?? byOwnershipClaim() ?? .quarantine(reason)
    }

    private enum ClaimedOrder {
        case order(Order)
        case rejected(QuarantineReason)
    }

    private func claimed() -> ClaimedOrder {
        guard let order = shared.facts.claimedOrder else { return .rejected(.claimedOrderUnknown) }
        let owner: UserID? =
            switch shared.facts.caller {
            case .user(let user): user
            case .backend(_, let user): user ?? order.userID
            case .apple: nil
            }
        guard order.userID == owner else { return .rejected(.claimedOrderOfAnother) }
        guard isOf(order) else { return .rejected(.claimedOrderDiffers) }
        guard isOpenedBefore(order) else { return .rejected(.claimedOrderOpenedLater) }
        guard isFree(order) else { return .rejected(.claimedOrderTaken) }
        return .order(order)
    }

    /// For orders without a signed token. The tolerance covers a server clock ahead of Apple's; receipts have whole
    /// seconds.
    private func isOpenedBefore(_ order: Order) -> Bool {
        order.createdAt.seconds <= transaction.purchasedAt.seconds + PurchaseFacts.clockTolerance
    }

    /// Matches the only open order on the device. A closed order may turn out to be paid too, so a matching one of
    /// another user prevents the match; one of the same user does not.
    private mutating func byDevice() -> PurchaseDecision.Outcome? {
        guard let device = shared.facts.deviceOrders else {
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

    /// A renewal belongs to the owner of the renewed purchase. While that purchase is quarantined, the renewal waits
    /// too, unless a backend or a claim names the owner.
    private mutating func byChain() -> PurchaseDecision.Outcome? {
        guard transaction.isRenewal else { return nil }
        if shared.facts.renewed?.isWaiting == true {
            note(.originalTransaction, "waiting")
            if !transaction.hidesToken, shared.namedUser == nil, let found = byBackend() { return found }
            return byOwnershipClaim() ?? .quarantine(waitingReason)
        }
        guard let order = shared.facts.originalOrder else {
            note(.originalTransaction, "unknown")
            return nil
        }
        if shared.facts.needsSignedCopy {
            note(.originalTransaction, QuarantineReason.receiptNeedsSignedCopy.rawValue)
            return byOwnershipClaim() ?? .quarantine(.receiptNeedsSignedCopy)
        }
        return match(.originalTransaction, order.userID, order)
    }

    /// Depends on the renewal alone, so that it is the same whether or not the purchase arrived before it.
    private var waitingReason: QuarantineReason {
        if transaction.hidesToken { return .receiptNeedsOrder }
        switch transaction.terms.isFamilyShared ? nil : transaction.token {
        case .order:
            return shared.namedUser == nil && shared.facts.renewed?.token != .inherited ? .unknownToken : .noOwner
        case .unreadable: return .unreadableToken
        case nil: return .noOwner
        }
    }

    /// An upgrade bought in Settings ends the caller's own subscription. In a chain without tokens, the caller's
    /// credential is sufficient evidence.
    private mutating func byReplaced() -> PurchaseDecision.Outcome? {
        guard let user = shared.facts.replacedOwner, !shared.facts.needsSignedCopy else { return nil }
        return match(.originalTransaction, user, nil)
    }

    // MARK: By claim or backend

    /// A family-shared copy, or a purchase by offer code outside the app, has no token. It belongs to the customer who
    /// restores it.
    private mutating func byClaimant(_ product: CatalogProduct) -> PurchaseDecision.Outcome? {
        guard let user = shared.facts.claimant, (transaction.terms.type ?? product.type).isRestorable else {
            return nil
        }
        return match(.claim, user, nil)
    }

    private mutating func byBackend() -> PurchaseDecision.Outcome? {
        guard case .backend(_, let user?) = shared.facts.caller else { return nil }
        return match(.backend, user, nil)
    }

    /// An operator may assign a purchase that no other evidence can, if its points can be computed. A purchase whose
    /// token names a customer can only be assigned to that customer.
    private mutating func byOperator(_ product: CatalogProduct) -> PurchaseDecision.Outcome? {
        guard let claim = shared.facts.ownershipClaim, claim.ground == .operatorDecision, transaction.quantity > 0,
            product.points(quantity: transaction.quantity) != nil
        else { return nil }
        let isAnothers = shared.namedUser.map { $0 != claim.user } ?? false
        guard !isAnothers || transaction.terms.isPaidByAnotherAccount else { return nil }
        return byOwnershipClaim()
    }

    private mutating func byOwnershipClaim() -> PurchaseDecision.Outcome? {
        guard let claim = shared.facts.ownershipClaim, claim.ground != .order else { return nil }
        // A purchase whose token names a customer stays that customer's. An inherited token names no customer.
        let isCarriedOn = shared.facts.renewed?.token == .inherited
        if !isCarriedOn, !transaction.terms.isPaidByAnotherAccount, let named = shared.namedUser,
            named != claim.user
        {
            return nil
        }
        return match(claim.match, claim.user, nil)
    }
}

extension Order {
    /// Whether the purchase has the product and quantity that were ordered.
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
