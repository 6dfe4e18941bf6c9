/// What Apple signed about one transaction, as far as the purchase decision needs it.
public struct PaidTransaction: Hashable, Sendable {
    public let id: TransactionID
    public let originalID: TransactionID
    public let productID: ProductID
    public let quantity: Int
    public let environment: StoreEnvironment
    /// Nil if Apple signed none.
    public private(set) var token: AppAccountToken?
    public let purchasedAt: Instant
    /// When Apple signed this copy. A later copy of the same transaction has newer information.
    public let signedAt: Instant
    public let revokedAt: Instant?
    /// When the first transaction of its chain was purchased; nil if Apple did not sign it.
    public private(set) var chainBeganAt: Instant?
    /// Whether Apple's server charged it, without a purchase by the customer. It reuses the first order's token.
    public private(set) var isRenewal: Bool
    /// Whether Apple signed the reason. A receipt contains none, and then the periods around it decide
    /// (`SubscriptionChain`).
    public let statesReason: Bool
    /// Whether it comes from a PKCS#7 receipt, which has no token and never shows the refund of a consumable. A token
    /// of such a copy comes from Apple's answer about the receipt.
    public let isFromReceipt: Bool
    /// The price as signed.
    public let signedPrice: SignedPrice?
    public let terms: TransactionTerms
    /// The same for all purchases of one Apple Account in the app, so people who share a phone share it: recorded as
    /// evidence, never decisive.
    public var appTransactionID: String?

    public init(
        id: TransactionID, originalID: TransactionID, productID: ProductID, quantity: Int,
        environment: StoreEnvironment,
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

    /// The price in minor units.
    public var price: Money? { signedPrice?.money }

    /// Whether it is a period of an auto-renewable subscription. Without a signed type, only those have an expiry date.
    public var isSubscription: Bool {
        terms.type.map { $0 == .autoRenewable } ?? (terms.expiresAt != nil)
    }

    /// Whether Apple may have signed a token that this copy does not show.
    public var hidesToken: Bool { isFromReceipt && token == nil }

    /// The transaction as a period of its chain.
    public var period: PaidPeriod {
        PaidPeriod(
            transactionID: id, productID: productID, purchasedAt: purchasedAt, signedAt: signedAt,
            revokedAt: revokedAt, isRenewal: isRenewal, statesReason: statesReason, price: price, terms: terms)
    }

    /// The transaction with `isRenewal` as the periods around it determine.
    public func decided(among chain: SubscriptionChain) -> PaidTransaction {
        var decided = self
        decided.isRenewal = chain.periods.first { $0.transactionID == id }?.isRenewal ?? isRenewal
        return decided
    }

    /// Sets the token that Apple stated about an earlier receipt with this purchase. The receipt itself shows none.
    public mutating func keepToken(of stated: PaidTransaction) {
        guard hidesToken, stated.isFromReceipt else { return }
        token = stated.token
    }

    /// Replaces this copy with the newer one, and keeps two values that the newer one may lack because the ledger does
    /// not store them: a token that names no order, and the start of the chain.
    public mutating func yield(to newer: PaidTransaction) {
        let older = self
        self = newer
        token = newer.token ?? older.token
        chainBeganAt = newer.chainBeganAt ?? older.chainBeganAt
    }
}

/// `appAccountToken` as signed. Apple documents a UUID; another text names no order.
public enum AppAccountToken: Hashable, Sendable {
    case order(OrderID)
    case unreadable
}

/// The caller who submits a proof, which determines whose statements count.
public enum Caller: Hashable, Sendable {
    /// An app's backend with a secret key; its statement about the user is trusted.
    case backend(keyID: String, naming: UserID?)
    /// An app with a user token.
    case user(UserID)
    /// Apple's notification, or Apple's response to a request.
    case apple
}

/// The ledger's record of a transaction.
public struct RecordedTransaction: Hashable, Sendable {
    public enum State: Int, Hashable, Sendable, CaseIterable {
        case granted = 1
        case quarantined = 2
        /// Refunded or revoked; a grant, if there was one, is reversed.
        case revoked = 3
    }
    public let state: State
    /// The newest copy that has arrived.
    public let newest: SignedCopy
    public let grant: Grant?

    public init(state: State, newest: SignedCopy, grant: Grant?) {
        self.state = state
        self.newest = newest
        self.grant = grant
    }
}

/// The signed terms of a transaction: its duration, its conditions and its storefront.
public struct TransactionTerms: Hashable, Sendable {
    /// Nil for a type that Till does not know yet.
    public var type: ProductType?
    /// Auto-renewable subscriptions only. Taken from Apple, never computed from the purchase date.
    public var expiresAt: Instant?
    /// Whether an upgrade replaced it; the upgrade's transaction continues the service (facts/business-rules §8.2).
    public var isUpgraded: Bool
    /// A family member's copy of a purchase that another member paid for.
    public var isFamilyShared: Bool
    /// Apple's ownership type if it is neither the purchaser's nor family sharing: `ASSIGNED` for a seat that an
    /// organization or a group pays for, or a value that Apple adds. Otherwise nil.
    public var otherOwnership: String?
    /// The identifier of the subscription group.
    public var groupID: String?
    /// ISO 3166-1 alpha-3.
    public var storefront: String?
    public var offer: Offer?
    /// `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE` or a value that Apple adds; nil while the purchase is valid,
    /// and in older copies.
    public var revocationType: String?
    /// The refunded part of the price, in thousandths of a percent: 100 % is 100000. Nil if Apple did not sign it.
    public var revocationPercentage: Int?

    /// The offer behind the price.
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

    /// Whether another party paid for this copy; then its token and its order are the payer's.
    public var isPaidByAnotherAccount: Bool { isFamilyShared || otherOwnership != nil }
}
