import TillBilling

/// `GET /v1/users/{userId}/entitlements`: what a user may use now.
public struct EntitlementsReply: Codable, Sendable, Hashable {
    /// The oldest first.
    public let data: [EntitlementReply]

    public init(data: [EntitlementReply]) { self.data = data }
}

/// One right of a user.
public struct EntitlementReply: Codable, Sendable, Hashable {
    public enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        /// For good.
        case lasting
        /// For a time that the server keeps: plans bought once, stacked and converted (C5, C11).
        case service
        /// For a period that Apple keeps and renews.
        case subscription
    }

    public let entitlement: String
    /// Of the newest purchase it comes from.
    public let productId: String
    public let kind: Kind
    public let plan: String?
    /// As the order named it.
    public let deviceId: String?
    /// What a service is for, sorted; absent for all of the account.
    public let deviceIds: [String]?
    /// When it was bought; of a service, since when there has been no gap; of a subscription, when its period began.
    public let since: Instant
    /// The first moment without it; absent for what lasts.
    public let expiresAt: Instant?
    /// The newest purchase it comes from.
    public let transactionId: String

    public init(
        entitlement: String, productId: ProductID, kind: Kind, plan: PlanID? = nil, deviceId: String? = nil,
        deviceIds: [String]? = nil, since: Instant, expiresAt: Instant? = nil, transactionId: TransactionID
    ) {
        self.entitlement = entitlement
        self.productId = productId.text
        self.kind = kind
        self.plan = plan?.text
        self.deviceId = deviceId
        self.deviceIds = deviceIds
        self.since = since
        self.expiresAt = expiresAt
        self.transactionId = transactionId.text
    }
}
