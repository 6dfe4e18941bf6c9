/// What Apple signed about one transaction, as far as the purchase decision needs it.
public struct PaidTransaction: Hashable, Sendable {
    /// All copies share one object: a purchase is passed through many functions, and has two dozen values.
    @usableFromInline private(set) var content: Content

    @usableFromInline
    final class Content: Sendable {
        @usableFromInline let values: Values
        init(_ values: Values) { self.values = values }
    }

    @usableFromInline
    struct Values: Hashable, Sendable {
        @usableFromInline let id: TransactionID
        @usableFromInline let originalID: TransactionID
        @usableFromInline let productID: ProductID
        @usableFromInline let quantity: Int
        @usableFromInline let environment: StoreEnvironment
        @usableFromInline var token: AppAccountToken?
        @usableFromInline let purchasedAt: Instant
        @usableFromInline let signedAt: Instant
        @usableFromInline let revokedAt: Instant?
        @usableFromInline var chainBeganAt: Instant?
        @usableFromInline var isRenewal: Bool
        @usableFromInline let statesReason: Bool
        @usableFromInline let isFromReceipt: Bool
        @usableFromInline let signedPrice: SignedPrice?
        @usableFromInline let terms: TransactionTerms
        @usableFromInline var appTransactionID: String?
    }

    private mutating func change(_ change: (inout Values) -> Void) {
        var values = content.values
        change(&values)
        content = Content(values)
    }

    @inlinable public var id: TransactionID { content.values.id }
    @inlinable public var originalID: TransactionID { content.values.originalID }
    @inlinable public var productID: ProductID { content.values.productID }
    @inlinable public var quantity: Int { content.values.quantity }
    @inlinable public var environment: StoreEnvironment { content.values.environment }
    /// Nil if Apple signed none.
    @inlinable public var token: AppAccountToken? { content.values.token }
    @inlinable public var purchasedAt: Instant { content.values.purchasedAt }
    /// When Apple signed this copy. A later copy of the same transaction has newer information.
    @inlinable public var signedAt: Instant { content.values.signedAt }
    @inlinable public var revokedAt: Instant? { content.values.revokedAt }
    /// When the first transaction of its chain was purchased; nil if Apple did not sign it.
    @inlinable public var chainBeganAt: Instant? { content.values.chainBeganAt }
    /// Whether Apple's server charged it, without a purchase by the customer. It reuses the first order's token.
    @inlinable public var isRenewal: Bool { content.values.isRenewal }
    /// Whether Apple signed the reason. A receipt contains none, and then the periods around it decide
    /// (`SubscriptionChain`).
    @inlinable public var statesReason: Bool { content.values.statesReason }
    /// Whether it comes from a PKCS#7 receipt, which has no token and never shows the refund of a consumable. A token
    /// of such a copy comes from Apple's answer about the receipt.
    @inlinable public var isFromReceipt: Bool { content.values.isFromReceipt }
    /// The price as signed.
    @inlinable public var signedPrice: SignedPrice? { content.values.signedPrice }
    @inlinable public var terms: TransactionTerms { content.values.terms }
    /// The same for all purchases of one Apple Account in the app, so people who share a phone share it: recorded as
    /// evidence, never decisive.
    public var appTransactionID: String? {
        @inlinable get { content.values.appTransactionID }
        set { change { $0.appTransactionID = newValue } }
    }

    public init(
        id: TransactionID, originalID: TransactionID, productID: ProductID, quantity: Int,
        environment: StoreEnvironment,
        token: AppAccountToken?, purchasedAt: Instant, signedAt: Instant, revokedAt: Instant?, isRenewal: Bool,
        isFromReceipt: Bool, price: SignedPrice?, terms: TransactionTerms = TransactionTerms(),
        chainBeganAt: Instant? = nil, statesReason: Bool = true, appTransactionID: String? = nil
    ) {
        content = Content(
            Values(
                id: id, originalID: originalID, productID: productID, quantity: quantity, environment: environment,
                token: token, purchasedAt: purchasedAt, signedAt: signedAt, revokedAt: revokedAt,
                chainBeganAt: chainBeganAt, isRenewal: isRenewal, statesReason: statesReason,
                isFromReceipt: isFromReceipt, signedPrice: price, terms: terms, appTransactionID: appTransactionID))
    }

    public static func == (left: PaidTransaction, right: PaidTransaction) -> Bool {
        left.content === right.content || left.content.values == right.content.values
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(content.values) }

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
        let decides = chain.periods.first { $0.transactionID == id }?.isRenewal ?? isRenewal
        guard decides != isRenewal else { return self }
        var decided = self
        decided.change { $0.isRenewal = decides }
        return decided
    }

    /// Sets the token that Apple stated about an earlier receipt with this purchase. The receipt itself shows none.
    public mutating func keepToken(of stated: PaidTransaction) {
        guard hidesToken, stated.isFromReceipt else { return }
        change { $0.token = stated.token }
    }

    /// Replaces this copy with the newer one, and keeps two values that the newer one may lack because the ledger does
    /// not store them: a token that names no order, and the start of the chain.
    public mutating func yield(to newer: PaidTransaction) {
        let (token, chainBeganAt) = (newer.token ?? token, newer.chainBeganAt ?? chainBeganAt)
        self = newer
        change {
            $0.token = token
            $0.chainBeganAt = chainBeganAt
        }
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
