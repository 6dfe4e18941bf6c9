import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One thing that whoever is signed in may use now, or could once.
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
    /// How it stands; `active` for what no subscription gives.
    public let state: SubscriptionState
    /// Why it may be used, or not any more.
    public let reason: EntitlementReason
    /// The plan it comes from, if it is service.
    public let plan: String?
    /// The device it was bought for, as the order named it.
    public let deviceID: String?
    /// The devices that service is for; nil for all of the account.
    public let deviceIDs: [String]?
    /// Since when it holds.
    public let since: Date
    /// The first moment without it, a grace period included; nil for what lasts.
    public let expires: Date?
    /// Of a subscription: whether it goes on then. Nil while nobody knows.
    public let willRenew: Bool?
    /// The newest purchase it comes from.
    public let transactionID: String
    /// Of a subscription: its identity.
    public let originalTransactionID: String?

    private let words: Text?

    init(_ right: EntitlementsAnswer.Right) {
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
        words = right.sentence
    }

    /// The reason in a sentence, for people.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; the device's if nil.
    public func sentence(in language: String? = nil) -> String {
        words?[language.map(Language.init(preference:)) ?? .ofDevice] ?? ""
    }
}

/// Why something may be used, or not. A reason that only a later server knows keeps its name.
public struct EntitlementReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    init(_ reason: RightReason) { rawValue = reason.rawValue }

    /// For good.
    public static let bought = EntitlementReason(.bought)
    /// For a time that the server keeps.
    public static let paid = EntitlementReason(.paid)
    /// The subscription is paid for.
    public static let subscribed = EntitlementReason(.subscribed)
    /// A free trial.
    public static let trial = EntitlementReason(.trial)
    /// Still paid for, but it will not renew.
    public static let renewalOff = EntitlementReason(.renewalOff)
    /// Apple could not charge and still gives service.
    public static let gracePeriod = EntitlementReason(.gracePeriod)
    /// Somebody else of the family pays.
    public static let familyShared = EntitlementReason(.familyShared)
    /// It was never bought.
    public static let neverHad = EntitlementReason(.neverHad)
    /// Its time is over.
    public static let expired = EntitlementReason(.expired)
    /// It ended because renewal had been turned off.
    public static let cancelled = EntitlementReason(.cancelled)
    /// It ended because Apple could not charge.
    public static let paymentFailed = EntitlementReason(.paymentFailed)
    /// It ended because a higher price was not agreed to.
    public static let priceNotAccepted = EntitlementReason(.priceNotAccepted)
    /// It ended because the product was not for sale any more.
    public static let notForSale = EntitlementReason(.notForSale)
    /// Apple tries to charge, without service.
    public static let billingProblem = EntitlementReason(.billingProblem)
    /// The money went back.
    public static let refunded = EntitlementReason(.refunded)
    /// The family shares it no more.
    public static let familyAccessEnded = EntitlementReason(.familyAccessEnded)
    /// An upgrade or another plan took its place.
    public static let replaced = EntitlementReason(.replaced)
    /// It runs for another device.
    public static let otherDevice = EntitlementReason(.otherDevice)
}

/// Whether one thing may be used now, until when, and why.
public struct EntitlementAccess: Hashable, Sendable {
    /// As it was asked for.
    public let name: String
    /// Whether it may be used now.
    public let isAllowed: Bool
    /// The first moment without it, to come or past; nil for what lasts and for what never was.
    public let expires: Date?
    /// Why, or why not.
    public let reason: EntitlementReason
    /// What it comes from, or came from: what allows it first.
    public let sources: [Entitlement]

    private let words: Text?

    init(_ answer: EntitlementAccessAnswer) {
        name = answer.entitlement
        isAllowed = answer.allowed
        expires = answer.until.map(Date.init)
        reason = EntitlementReason(rawValue: answer.why)
        sources = answer.sources.map(Entitlement.init)
        words = answer.sentence
    }

    /// The reason in a sentence, for people.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; the device's if nil.
    public func sentence(in language: String? = nil) -> String {
        words?[language.map(Language.init(preference:)) ?? .ofDevice] ?? ""
    }
}

/// `GET /v1/users/{userId}/entitlements`, read so that a kind of a later server hides none of the others, and an
/// earlier server's answer is enough.
struct EntitlementsAnswer: Decodable {
    struct Right: Decodable {
        let entitlement: String
        let productId: String
        let kind: String
        let state: String?
        let why: String?
        let sentence: Text?
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
struct EntitlementAccessAnswer: Decodable {
    let entitlement: String
    let allowed: Bool
    let until: Instant?
    let why: String
    let sentence: Text?
    let sources: [EntitlementsAnswer.Right]
}
