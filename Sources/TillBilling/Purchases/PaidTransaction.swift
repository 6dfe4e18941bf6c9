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
    /// As signed.
    public let signedPrice: SignedPrice?
    public let terms: TransactionTerms
    /// One for each Apple Account and app, so whoever shares a phone shares it: evidence, and never a reason (U1).
    public var appTransactionID: String?

    public init(
        id: TransactionID, originalID: TransactionID, productID: ProductID, quantity: Int, environment: Environment,
        token: AppAccountToken?, purchasedAt: Instant, signedAt: Instant, revokedAt: Instant?, isRenewal: Bool,
        isFromReceipt: Bool, price: SignedPrice?, terms: TransactionTerms = TransactionTerms(),
        chainBeganAt: Instant? = nil, statesReason: Bool = true
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
        signedPrice = price
        self.terms = terms
        self.chainBeganAt = chainBeganAt
    }

    /// In minor units.
    public var price: Money? { signedPrice?.money }

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

/// What Apple signed about a transaction beside who paid for what: how long it lasts, on what terms, and where.
public struct TransactionTerms: Hashable, Sendable {
    /// Nil for a type that nobody here knows yet.
    public var type: ProductType?
    /// Auto-renewable subscriptions only. Taken, never computed from the purchase date.
    public var expiresAt: Instant?
    /// Superseded by an upgrade, whose transaction carries on (facts/business-rules §8.2).
    public var isUpgraded: Bool
    /// A family member's copy of what another member paid for.
    public var isFamilyShared: Bool
    /// Apple's word about who owns it, where that is neither the purchaser nor the purchaser's family: `ASSIGNED` for a
    /// seat that an organization or a group pays for, or what Apple adds. Nil for all others.
    public var otherOwnership: String?
    /// The subscription group's identifier.
    public var groupID: String?
    /// ISO 3166-1 alpha-3.
    public var storefront: String?
    public var offer: Offer?
    /// `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE` or what Apple adds; nil while it stands, and in older copies.
    public var revocationType: String?
    /// How much of the price Apple gave back, in thousandths of a percent: 100 % is 100000. Nil if Apple did not say.
    public var revocationPercentage: Int?

    /// The offer that the price came from.
    public struct Offer: Hashable, Sendable {
        /// 1 introductory, 2 promotional, 3 code, 4 win-back.
        public var type: Int
        /// Absent for introductory offers.
        public var id: String?
        /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`, `ONE_TIME`.
        public var discount: String?

        public init(type: Int, id: String? = nil, discount: String? = nil) {
            self.type = type
            self.id = id
            self.discount = discount
        }
    }

    public init(
        type: ProductType? = nil, expiresAt: Instant? = nil, isUpgraded: Bool = false, isFamilyShared: Bool = false,
        groupID: String? = nil, storefront: String? = nil, offer: Offer? = nil
    ) {
        self.type = type
        self.expiresAt = expiresAt
        self.isUpgraded = isUpgraded
        self.isFamilyShared = isFamilyShared
        self.groupID = groupID
        self.storefront = storefront
        self.offer = offer
    }

    /// Whether somebody else paid for this copy: the token and the order that it names are then the payer's.
    public var isPaidBySomebodyElse: Bool { isFamilyShared || otherOwnership != nil }
}
