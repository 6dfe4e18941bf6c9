import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One thing that whoever is signed in may use now.
public struct Entitlement: Hashable, Sendable {
    /// How long it lasts. A kind that only a later server knows keeps its name.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// For good.
        public static let lasting = Kind(rawValue: "lasting")
        /// For a time that the server keeps: plans bought once, stacked and converted (C5, C11).
        public static let service = Kind(rawValue: "service")
        /// For a period that Apple keeps and renews.
        public static let subscription = Kind(rawValue: "subscription")
    }

    /// The right's own name, from the catalogue.
    public let name: String
    /// Of the newest purchase it comes from.
    public let productID: String
    /// How long it holds.
    public let kind: Kind
    /// The plan it comes from, if it is service.
    public let plan: String?
    /// The device it was bought for, as the order named it.
    public let deviceID: String?
    /// The devices that service is for; nil for all of the account.
    public let deviceIDs: [String]?
    /// Since when it holds.
    public let since: Date
    /// The first moment without it; nil for what lasts.
    public let expires: Date?
    /// The newest purchase it comes from.
    public let transactionID: String

    init(_ right: EntitlementsAnswer.Right) {
        name = right.entitlement
        productID = right.productId
        kind = Kind(rawValue: right.kind)
        plan = right.plan
        deviceID = right.deviceId
        deviceIDs = right.deviceIds
        since = Date(right.since)
        expires = right.expiresAt.map(Date.init)
        transactionID = right.transactionId
    }
}

/// `GET /v1/users/{userId}/entitlements`, read so that a kind of a later server hides none of the others.
struct EntitlementsAnswer: Decodable {
    struct Right: Decodable {
        let entitlement: String
        let productId: String
        let kind: String
        let plan: String?
        let deviceId: String?
        let deviceIds: [String]?
        let since: Instant
        let expiresAt: Instant?
        let transactionId: String
    }

    let data: [Right]
}
