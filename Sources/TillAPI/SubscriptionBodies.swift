import TillBilling

/// `GET /v1/users/{userId}/subscriptions`: a user's current and past subscriptions.
public struct SubscriptionsReply: Codable, Sendable, Hashable {
    /// Newest first.
    public let data: [SubscriptionReply]
    /// True in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
    public let sandbox: Bool?

    public init(data: [SubscriptionReply], sandbox: Bool? = nil) {
        self.data = data
        self.sandbox = sandbox
    }
}

/// One subscription of a user: all periods of one original transaction.
public struct SubscriptionReply: Codable, Sendable, Hashable {
    /// The subscription's identity.
    public let originalTransactionId: String
    /// The transaction of the current period, or of the last one.
    public let transactionId: String
    public let productId: String
    /// `Subscription.State`.
    public let state: String
    /// The state's name for people.
    public let stateName: LocalizedText
    /// The product's name in the catalogue; its id if the catalogue has no name.
    public let title: LocalizedText
    public var entitlement: String?
    public var plan: String?
    /// The subscription group's identifier.
    public var group: String?
    /// When the customer subscribed: for the first time, or again after a lapse.
    public let since: Instant
    /// The first moment without service, including the grace period; in the past for an ended subscription.
    public let expiresAt: Instant
    public var graceUntil: Instant?
    /// Absent while unknown.
    public var willRenew: Bool?
    public var renewsAt: Instant?
    /// The product at the next renewal, which differs after a change that takes effect then.
    public var renewalProductId: String?
    /// The renewal price with the offer applied.
    public var renewalPrice: Money?
    /// `pending` or `accepted`.
    public var priceIncrease: String?
    public var offer: SubscriptionOfferReply?
    /// The offer of the next period.
    public var renewalOffer: SubscriptionOfferReply?
    public let isFamilyShared: Bool
    /// Why it ended: `Subscription.Expiry`.
    public var reason: String?

    public init(_ original: TransactionID, _ subscription: Subscription, title: LocalizedText) {
        let current = subscription.current
        originalTransactionId = original.text
        transactionId = current.transactionID.text
        productId = current.productID.text
        state = subscription.state.rawValue
        stateName = subscription.state.name
        self.title = title
        group = current.terms.groupID
        since = subscription.since
        expiresAt = subscription.until
        graceUntil = subscription.graceUntil
        willRenew = subscription.willRenew
        renewsAt = subscription.renewsAt
        renewalProductId = subscription.renewalProductID?.text
        renewalPrice = subscription.renewalPrice
        priceIncrease = subscription.priceIncrease?.rawValue
        offer = current.terms.offer.map(SubscriptionOfferReply.init)
        renewalOffer = subscription.renewalOffer.map(SubscriptionOfferReply.init)
        isFamilyShared = current.terms.isFamilyShared
        reason = subscription.expiry?.rawValue
    }
}

/// An offer that reduces the price of a period.
public struct SubscriptionOfferReply: Codable, Sendable, Hashable {
    /// `introductory`, `promotional`, `offer_code`, `win_back`, or the number of an unknown type.
    public let type: String
    public let id: String?
    /// Apple's value: `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`.
    public let discount: String?

    public init(_ offer: TransactionTerms.Offer) {
        type = offer.name
        id = offer.id
        discount = offer.discount
    }
}
