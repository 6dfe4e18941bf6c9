import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An entitlement that the signed-in user has or had.
public struct Entitlement: Hashable, Sendable {
    /// The duration of an entitlement. A value from a later server keeps its name.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A permanent entitlement.
        public static let lasting = Kind(rawValue: "lasting")
        /// An entitlement for a time that the server keeps: plans bought once, accumulated and converted.
        public static let service = Kind(rawValue: "service")
        /// An entitlement for a period that Apple keeps and renews.
        public static let subscription = Kind(rawValue: "subscription")
    }

    /// The entitlement's name in the catalogue.
    public let name: String
    /// The product of the newest purchase that grants it.
    public let productID: String
    /// The duration of the entitlement.
    public let kind: Kind
    /// The state of the subscription. Without one, `active` while the entitlement is available, then `expired`,
    /// `revoked`, or `upgraded` for a plan that another plan replaced.
    public let state: SubscriptionState
    /// Why the entitlement is or isn't available.
    public let reason: EntitlementReason
    /// The plan that grants it, if any.
    public let plan: String?
    /// The device that the order named.
    public let deviceID: String?
    /// The devices that the service covers; nil for the whole account.
    public let deviceIDs: [String]?
    /// The date of purchase; for a plan, the start of uninterrupted service; for a subscription, when the customer
    /// subscribed.
    public let since: Date
    /// The first moment without it, including a grace period; nil for a permanent entitlement.
    public let expires: Date?
    /// For a subscription: whether it renews then. Nil while unknown, and for other kinds.
    public let willRenew: Bool?
    /// The newest purchase that grants it.
    public let transactionID: String
    /// For a subscription: the original transaction, which identifies it.
    public let originalTransactionID: String?

    private let text: LocalizedText?

    init(_ right: EntitlementsResponse.Right) {
        name = right.entitlement
        productID = right.productId
        kind = Kind(rawValue: right.kind)
        state = SubscriptionState(rawValue: right.state ?? SubscriptionState.active.rawValue)
        reason = EntitlementReason(rawValue: right.why ?? "")
        plan = right.plan
        deviceID = right.deviceId
        deviceIDs = right.deviceIds
        since = Date(right.since)
        expires = right.expiresAt.map(Date.init)
        willRenew = right.willRenew
        transactionID = right.transactionId
        originalTransactionID = right.originalTransactionId
        text = right.sentence
    }

    /// A sentence with the reason; empty for a payment that the server has not answered yet.
    ///
    /// - Parameter language: as in `TillError.message(in:)`.
    public func sentence(in language: String? = nil) -> String {
        text?.text(in: language) ?? ""
    }
}

/// The reason why an entitlement is or isn't available. A value from a later server keeps its name.
public struct EntitlementReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    init(_ reason: RightReason) { rawValue = reason.rawValue }

    /// The product is owned permanently.
    public static let bought = EntitlementReason(.bought)
    /// The service is paid for a time that the server keeps.
    public static let paid = EntitlementReason(.paid)
    /// The subscription is paid.
    public static let subscribed = EntitlementReason(.subscribed)
    /// The customer uses a free trial.
    public static let trial = EntitlementReason(.trial)
    /// The period is paid, but the subscription won't renew.
    public static let renewalOff = EntitlementReason(.renewalOff)
    /// Apple couldn't charge and still grants service.
    public static let gracePeriod = EntitlementReason(.gracePeriod)
    /// Another family member pays.
    public static let familyShared = EntitlementReason(.familyShared)
    /// The entitlement was never bought.
    public static let neverHad = EntitlementReason(.neverHad)
    /// The time has ended.
    public static let expired = EntitlementReason(.expired)
    /// The subscription ended because renewal was off.
    public static let cancelled = EntitlementReason(.cancelled)
    /// The subscription ended because Apple couldn't charge.
    public static let paymentFailed = EntitlementReason(.paymentFailed)
    /// The subscription ended because the customer didn't agree to a higher price.
    public static let priceNotAccepted = EntitlementReason(.priceNotAccepted)
    /// The subscription ended because the product was no longer for sale.
    public static let notForSale = EntitlementReason(.notForSale)
    /// Apple is trying to charge, without service.
    public static let billingProblem = EntitlementReason(.billingProblem)
    /// The purchase was refunded.
    public static let refunded = EntitlementReason(.refunded)
    /// Family Sharing of the purchase ended.
    public static let familyAccessEnded = EntitlementReason(.familyAccessEnded)
    /// An upgrade or another plan replaced it.
    public static let replaced = EntitlementReason(.replaced)
    /// The service covers another device.
    public static let otherDevice = EntitlementReason(.otherDevice)
}

/// Whether an entitlement is available now, until when, and why.
public struct EntitlementAccess: Hashable, Sendable {
    /// The requested entitlement.
    public let name: String
    /// A Boolean value that indicates whether the entitlement is available now.
    public let isAllowed: Bool
    /// The first moment without it, in the future or past; nil for a permanent entitlement and for one that never
    /// existed.
    public let expires: Date?
    /// Why the entitlement is or isn't available.
    public let reason: EntitlementReason
    /// The current and past purchases that grant it, at most 50; those that allow it come first.
    public let sources: [Entitlement]

    private let text: LocalizedText?

    init(_ answer: EntitlementAccessResponse) {
        name = answer.entitlement
        isAllowed = answer.allowed
        expires = answer.until.map(Date.init)
        reason = EntitlementReason(rawValue: answer.why)
        sources = answer.sources.map(Entitlement.init)
        text = answer.sentence
    }

    /// A sentence with the reason.
    ///
    /// - Parameter language: as in `TillError.message(in:)`.
    public func sentence(in language: String? = nil) -> String {
        text?.text(in: language) ?? ""
    }
}

/// `GET /v1/users/{userId}/entitlements`, decoded so that unknown kinds of a later server hide no other entitlement,
/// and an earlier server's response suffices.
struct EntitlementsResponse: Decodable {
    struct Right: Codable, Hashable, Sendable {
        let entitlement: String
        let productId: String
        let kind: String
        let state: String?
        let why: String?
        let sentence: LocalizedText?
        let plan: String?
        let deviceId: String?
        let deviceIds: [String]?
        let since: Instant
        let expiresAt: Instant?
        let willRenew: Bool?
        let transactionId: String
        let originalTransactionId: String?
    }

    let data: [Right]
}

/// `GET /v1/users/{userId}/entitlements/{entitlement}`.
struct EntitlementAccessResponse: Decodable {
    let entitlement: String
    let allowed: Bool
    let until: Instant?
    let why: String
    let sentence: LocalizedText?
    let sources: [EntitlementsResponse.Right]
}
