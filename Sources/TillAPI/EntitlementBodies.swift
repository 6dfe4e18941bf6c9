import TillBilling

/// `GET /v1/users/{userId}/entitlements`: a user's current entitlements.
public struct EntitlementsReply: Codable, Sendable, Hashable {
    /// Oldest first.
    public let data: [EntitlementReply]
    /// True in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
    public let sandbox: Bool?

    public init(data: [EntitlementReply], sandbox: Bool? = nil) {
        self.data = data
        self.sandbox = sandbox
    }
}

/// One entitlement of a user.
public struct EntitlementReply: Codable, Sendable, Hashable {
    public typealias Kind = EntitlementKind

    public let entitlement: String
    /// The product of its newest purchase.
    public let productId: String
    public let kind: Kind
    /// `Subscription.State`. Permanent entitlements and service that the server keeps are `active` while they exist.
    public let state: String
    /// `RightReason`.
    public let why: String
    /// The reason for people.
    public let sentence: LocalizedText
    public var plan: String?
    /// The device that the order named.
    public var deviceId: String?
    /// The devices that a service covers, sorted; absent for the whole account.
    public var deviceIds: [String]?
    /// The date of purchase; for a service, the start of uninterrupted service; for a subscription, when the customer
    /// subscribed.
    public let since: Instant
    /// The first moment without it, including the grace period; absent for a permanent entitlement. In the past if it
    /// has ended.
    public let expiresAt: Instant?
    /// For a subscription: whether it renews then. Absent while unknown.
    public var willRenew: Bool?
    /// Its newest purchase.
    public let transactionId: String
    /// For a subscription.
    public var originalTransactionId: String?

    public init(
        entitlement: String, productId: ProductID, kind: Kind, state: Subscription.State, why: RightReason,
        since: Instant, expiresAt: Instant? = nil, transactionId: TransactionID
    ) {
        self.entitlement = entitlement
        self.productId = productId.text
        self.kind = kind
        self.state = state.rawValue
        self.why = why.rawValue
        sentence = why.sentence(until: expiresAt)
        self.since = since
        self.expiresAt = expiresAt
        self.transactionId = transactionId.text
    }
}

/// `GET /v1/users/{userId}/entitlements/{entitlement}`: whether a user has one entitlement now, until when, and why.
public struct EntitlementAccessReply: Codable, Sendable, Hashable {
    public let entitlement: String
    public let allowed: Bool
    /// The first moment without it, in the future or past; absent for a permanent entitlement and for one that never
    /// existed.
    public let until: Instant?
    /// `RightReason`.
    public let why: String
    public let sentence: LocalizedText
    /// All its current and past sources; those that allow it come first.
    public let sources: [EntitlementReply]
    /// True in the sandbox, where purchases are not paid: do not deliver real goods. Absent otherwise.
    public let sandbox: Bool?

    public init(
        entitlement: String, until: Instant?, why: RightReason, sources: [EntitlementReply], sandbox: Bool? = nil
    ) {
        self.sandbox = sandbox
        self.entitlement = entitlement
        allowed = why.allows
        self.until = until
        self.why = why.rawValue
        sentence = why.sentence(until: until)
        self.sources = sources
    }
}
