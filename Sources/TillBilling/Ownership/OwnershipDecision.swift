/// The facts for a decision when another signed copy of a granted purchase arrives.
public struct OwnershipFacts: Hashable, Sendable {
    /// The customer that the signed copy names.
    public enum NamedOwner: Hashable, Sendable {
        /// The copy has no token.
        case none
        /// The customer who owns the grant.
        case owner
        case another
        /// The token matches no known order and no known account.
        case unknown
        /// The token names another customer's order for another product or quantity.
        case anothersOtherOrder
    }

    public let basis: OwnershipBasis
    public let named: NamedOwner
    /// Whether a newer copy is already known.
    public let isOlder: Bool
    /// Whether the newest known copy has the same token.
    public let isKnownToken: Bool

    public init(basis: OwnershipBasis, named: NamedOwner, isOlder: Bool, isKnownToken: Bool) {
        self.basis = basis
        self.named = named
        self.isOlder = isOlder
        self.isKnownToken = isKnownToken
    }
}

/// How a signed copy changes the owner of a granted purchase. Revocations are decided separately, and do not change the
/// owner.
public enum OwnershipDecision: Hashable, Sendable {
    case keep
    /// The grant has a stronger basis from now on, and its points are no longer held.
    case confirm(OwnershipBasis)
    /// The whole purchase moves to the customer that the copy names.
    case move
    /// The owner keeps the purchase and its points stay held, until the token is known or a person decides.
    case contest
    /// The grant is revoked, and the purchase waits in quarantine for the customer that the copy names.
    case withdraw
    /// The owner stays the same. The copy is recorded, once for each token.
    case note(Note)

    public enum Note: String, Hashable, Sendable, CaseIterable {
        /// An older copy names another customer. Recorded as evidence only.
        case olderCopyNamesAnother = "older_copy_names_another"
        /// A newer copy has another token. Recorded as evidence and sent as an event, for an operator's decision.
        case tokenChanged = "token_changed"
    }

    public init(_ facts: OwnershipFacts) {
        if facts.isOlder {
            self = facts.named == .none || facts.named == .owner ? .keep : .note(.olderCopyNamesAnother)
            return
        }
        #if PLANTED_MISTAKES
            if PlantedMistake.keepsReceiptOwner.isPlanted, facts.basis == .receipt, facts.named != .none,
                facts.named != .owner
            {
                self = .keep
                return
            }
        #endif
        switch (facts.basis, facts.named) {
        case (.receipt, .none): self = .confirm(.orderID)
        case (.receipt, .owner), (.orderID, .owner): self = .confirm(.token)
        case (.receipt, .another): self = .move
        case (.receipt, .anothersOtherOrder): self = .withdraw
        case (.receipt, .unknown): self = .contest
        case (_, .none), (_, .owner): self = .keep
        case (_, .another), (_, .anothersOtherOrder), (_, .unknown):
            // A person, or an earlier copy, made the decision when this token was already known.
            self = facts.isKnownToken ? .keep : .note(.tokenChanged)
        }
    }
}

/// The evidence that a granted purchase belongs to its owner, weakest first.
public enum OwnershipBasis: String, Hashable, Sendable, CaseIterable, Comparable {
    /// A receipt, and the order id sent with it. A receipt hides the token, so this is the sender's own statement.
    case receipt
    /// A signed copy without a token, and the order id, the device or the restore that came with it.
    case orderID = "order_id"
    /// The token that Apple signed, in a proof, a notification or a response.
    case token
    /// A person's decision: an operator's, or that of a customer who presents Apple's order number.
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
    ///   - match: how the owner was found.
    ///   - chain: the basis of the renewed purchase; nil if no granted purchase is renewed.
    public init(of transaction: PaidTransaction, foundBy match: OwnerMatch, chain: OwnershipBasis?) {
        switch match {
        case .orderNumber, .operatorDecision: self = .person
        // A renewal has the basis of the purchase that it renews. A receipt does not state that it is a renewal.
        case .originalTransaction: self = transaction.hidesToken ? .receipt : chain ?? .orderID
        case .token, .accountToken, .acceptance: self = .token
        case .orderID, .device, .backend, .claim:
            self = transaction.hidesToken ? .receipt : transaction.signedToken == nil ? .orderID : .token
        }
    }
}

extension PaidTransaction {
    /// The token as evidence of the owner; nil if another party pays for this copy, because the token is then the
    /// payer's.
    public var signedToken: AppAccountToken? { terms.isPaidByAnotherAccount ? nil : token }
}

/// How a receipt is treated if Apple cannot be asked for its signed transaction.
public enum ReceiptPolicy: String, Hashable, Sendable, CaseIterable {
    /// It waits in quarantine until a signed copy arrives, or a person decides.
    case quarantine
    /// It is granted by the order id sent with it, its points are held, and a signed copy may still move it.
    case provisional
}

/// The shop's settings for receipts.
public struct ReceiptTerms: Hashable, Sendable {
    public var policy: ReceiptPolicy
    /// How long points granted by a receipt alone are held.
    public var holdHours: Int64

    /// In milliseconds, how long receipts of a customer grant nothing by themselves after a signed token gave one of
    /// the customer's purchases to another customer.
    public static let distrust: Int64 = 90 * 86_400_000

    public init(policy: ReceiptPolicy = .quarantine, holdHours: Int64 = 24) {
        self.policy = policy
        self.holdHours = holdHours
    }

    /// The end of the hold for points that are granted now.
    public func holdEnd(from now: Instant) -> Instant { now.adding(milliseconds: holdHours * 3_600_000) }
}

extension OwnershipBasis {
    /// For operators: the evidence for the owner of a grant.
    public var sentence: LocalizedText {
        switch self {
        case .receipt:
            LocalizedText(
                en: "A receipt and the order id sent with it. A signed transaction may change the owner.",
                zh: "收据及随附的订单号。签名交易可能改变归属。")
        case .orderID:
            LocalizedText(en: "A signed transaction without a token.", zh: "不带令牌的签名交易。")
        case .token: LocalizedText(en: "The token that Apple signed.", zh: "Apple 签名的令牌。")
        case .person:
            LocalizedText(
                en: "A decision by an operator, or by the customer with Apple's order number.",
                zh: "人工决定：由运营人员，或由出示 Apple 订单号的客户。")
        }
    }
}

extension OwnershipDecision.Note {
    /// For operators.
    public var sentence: LocalizedText {
        switch self {
        case .olderCopyNamesAnother:
            LocalizedText(
                en: "An older signed transaction has another user's token. Older transactions don't change the owner.",
                zh: "较早的签名交易带有其他用户的令牌。较早的签名交易不改变归属。")
        case .tokenChanged:
            LocalizedText(
                en:
                    "A newer signed transaction has another token. Transfer the purchase if another customer owns it.",
                zh: "较新的签名交易带有另一个令牌。若购买属于其他客户，请新建一次转移。")
        }
    }
}

/// How a later signed copy changes the owner of a granted purchase, and the customer that it names.
public struct OwnershipChange: Sendable {
    /// The customer that the copy names, with the order under which the purchase would be granted.
    public struct Buyer: Sendable {
        public let user: UserID
        /// The owner after the change: the user, unless they were merged or their subscription was moved.
        public let newOwner: UserID
        public let order: Order?
        public let newOrderID: OrderID?
        public let match: OwnerMatch
    }

    public let decision: OwnershipDecision
    public var buyer: Buyer?

    static let none = OwnershipChange(decision: .keep)

    /// - Parameter match: the outcome that the purchase would have if it were new.
    init(of grant: Grant, match: PurchaseDecision.Outcome, _ shared: SharedFacts) {
        self = .none
        guard let known = shared.facts.known, !shared.facts.submitted.hidesToken else { return }
        // The ledger cannot store a token that is not a UUID.
        let token = shared.facts.submitted.token == .unreadable ? nil : shared.facts.submitted.token
        let isKnownToken = !known.hidesToken && known.token == token
        // The token equals the order's own id, so the app or this server set it.
        let isOwnToken = shared.facts.submitted.signedToken == .order(grant.orderID)
        if shared.facts.basis > .orderID, isOwnToken { return }
        if shared.facts.basis != .receipt, isKnownToken { return }
        let isOlder = SignedCopy(shared.facts.submitted) < SignedCopy(known)
        let (named, buyer) =
            isOlder ? (Self.named(byOlderCopyOf: grant, shared), nil) : Self.named(match, grant, shared)
        let decision = OwnershipDecision(
            OwnershipFacts(basis: shared.facts.basis, named: named, isOlder: isOlder, isKnownToken: isKnownToken))
        self.init(decision: decision, buyer: buyer)
    }

    private init(decision: OwnershipDecision, buyer: Buyer? = nil) {
        self.decision = decision
        self.buyer = buyer
    }

    private static func named(byOlderCopyOf grant: Grant, _ shared: SharedFacts) -> OwnershipFacts.NamedOwner {
        guard let token = shared.facts.submitted.signedToken else { return .none }
        if token == .order(grant.orderID) { return .owner }
        guard let user = shared.facts.userOfSubmittedToken else { return .unknown }
        return user == grant.userID ? .owner : .another
    }

    private static func named(
        _ match: PurchaseDecision.Outcome, _ grant: Grant, _ shared: SharedFacts
    ) -> (OwnershipFacts.NamedOwner, Buyer?) {
        let token = shared.facts.submitted.signedToken
        switch match {
        case .grant(let user, let order, let newOrderID, let match):
            if match == .originalTransaction, shared.facts.originalBasis ?? .receipt == .receipt {
                return (token == nil ? .none : .unknown, nil)
            }
            guard token != nil || match == .originalTransaction else { return (.none, nil) }
            let newOwner = shared.newOwner(of: user, under: order?.id).user
            return (
                newOwner == grant.userID ? .owner : .another,
                Buyer(user: user, newOwner: newOwner, order: order, newOrderID: newOrderID, match: match)
            )
        case .quarantine(.unknownOwnership): return (.unknown, nil)
        case .quarantine(let reason):
            guard token != nil else { return (.none, nil) }
            if shared.namedUser.map({ shared.account(of: $0) }) == grant.userID { return (.owner, nil) }
            return (reason == .contradictsOrder ? .anothersOtherOrder : .unknown, nil)
        case .alreadyGranted, .revoke, .reinstate, .revoked: return (.none, nil)
        }
    }
}
