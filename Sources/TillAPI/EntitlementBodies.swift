import TillBilling

/// `GET /v1/users/{userId}/entitlements`: what a user may use now.
public struct EntitlementsReply: Codable, Sendable, Hashable {
    /// The oldest first.
    public let data: [EntitlementReply]
    /// True in the sandbox, where nobody pays: give no real goods. Absent otherwise.
    public let sandbox: Bool?

    public init(data: [EntitlementReply], sandbox: Bool? = nil) {
        self.data = data
        self.sandbox = sandbox
    }
}

/// One right of a user.
public struct EntitlementReply: Codable, Sendable, Hashable {
    public typealias Kind = EntitlementKind

    public let entitlement: String
    /// Of the newest purchase it comes from.
    public let productId: String
    public let kind: Kind
    /// `Subscription.State`; what lasts and what the server keeps is `active` while it is there.
    public let state: String
    /// `RightReason`.
    public let why: String
    /// The same for people.
    public let sentence: Text
    public var plan: String?
    /// As the order named it.
    public var deviceId: String?
    /// What a service is for, sorted; absent for all of the account.
    public var deviceIds: [String]?
    /// When it was bought; of a service, since when there has been no gap; of a subscription, when the customer
    /// subscribed.
    public let since: Instant
    /// The first moment without it, the grace period included; absent for what lasts. Past for what is over.
    public let expiresAt: Instant?
    /// Of a subscription: whether it goes on then. Absent while nobody knows.
    public var willRenew: Bool?
    /// The newest purchase it comes from.
    public let transactionId: String
    /// Of a subscription.
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

/// `GET /v1/users/{userId}/entitlements/{entitlement}`: whether a user may use one thing now, until when, and why.
public struct EntitlementAnswer: Codable, Sendable, Hashable {
    public let entitlement: String
    public let allowed: Bool
    /// The first moment without it, to come or past; absent for what lasts and for what never was.
    public let until: Instant?
    /// `RightReason`.
    public let why: String
    public let sentence: Text
    /// Everything it comes from, or came from: what allows it first.
    public let sources: [EntitlementReply]
    /// True in the sandbox, where nobody pays: give no real goods. Absent otherwise.
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
