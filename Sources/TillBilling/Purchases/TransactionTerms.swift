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
