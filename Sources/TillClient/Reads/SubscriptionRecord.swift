import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a subscription stands. A state that only a later server knows keeps its name.
public struct SubscriptionState: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    init(_ state: TillBilling.Subscription.State) { rawValue = state.rawValue }

    /// Paid for now.
    public static let active = SubscriptionState(.active)
    /// Paid for now, and renewal is off.
    public static let cancelled = SubscriptionState(.cancelled)
    /// Apple could not charge and still gives service.
    public static let grace = SubscriptionState(.grace)
    /// Apple tries to charge, without service.
    public static let billingRetry = SubscriptionState(.billingRetry)
    /// It is over.
    public static let expired = SubscriptionState(.expired)
    /// The money went back, or the family shares it no more.
    public static let revoked = SubscriptionState(.revoked)
    /// Another purchase took its place.
    public static let upgraded = SubscriptionState(.upgraded)
}

/// An auto-renewable subscription of whoever is signed in, as the server knows it from what Apple signed.
public struct SubscriptionRecord: Hashable, Sendable, Identifiable {
    /// Its original transaction, which never changes.
    public let id: String
    /// Of the period that is used, or was last.
    public let transactionID: String
    /// Of that period.
    public let productID: String
    /// How it stands.
    public let state: SubscriptionState
    /// What it gives.
    public let entitlement: String?
    /// The plan it sells.
    public let plan: String?
    /// The subscription group's identifier.
    public let groupID: String?
    /// When the customer subscribed: for the first time, or again after a lapse.
    public let since: Date
    /// The first moment without service, a grace period included; past for what is over.
    public let expires: Date
    /// While it is in grace.
    public let graceUntil: Date?
    /// Nil while nobody knows.
    public let willRenew: Bool?
    /// If it will.
    public let renews: Date?
    /// What it renews as: another product after a change that waits.
    public let renewalProductID: String?
    /// With the offer.
    public let renewalPrice: Decimal?
    /// Of that; ISO 4217.
    public let renewalCurrency: String?
    /// A higher price waits for the customer's consent.
    public let isPriceIncreasePending: Bool
    /// Somebody else of the family pays.
    public let isFamilyShared: Bool
    /// Why it is over, in the server's word: `cancelled`, `billing_error`, `price_increase`, `product_unavailable`,
    /// `other`.
    public let expirationReason: String?

    private let name: Text
    private let stateWord: Text?

    init(_ reply: SubscriptionsAnswer.Subscription) {
        id = reply.originalTransactionId
        transactionID = reply.transactionId
        productID = reply.productId
        state = SubscriptionState(rawValue: reply.state)
        entitlement = reply.entitlement
        plan = reply.plan
        groupID = reply.group
        since = Date(reply.since)
        expires = Date(reply.expiresAt)
        graceUntil = reply.graceUntil.map(Date.init)
        willRenew = reply.willRenew
        renews = reply.renewsAt.map(Date.init)
        renewalProductID = reply.renewalProductId
        renewalPrice = reply.renewalPrice.map { Decimal(minorUnitsOf: $0) }
        renewalCurrency = reply.renewalPrice?.currency.text
        isPriceIncreasePending = reply.priceIncrease == TillBilling.Subscription.PriceIncrease.pending.rawValue
        isFamilyShared = reply.isFamilyShared
        expirationReason = reply.reason
        name = reply.title
        stateWord = reply.stateName
    }

    /// The product's name.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; the device's if nil.
    public func title(in language: String? = nil) -> String {
        name[language.map(Language.init(preference:)) ?? .ofDevice]
    }

    /// The state's name.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; the device's if nil.
    public func stateName(in language: String? = nil) -> String {
        stateWord?[language.map(Language.init(preference:)) ?? .ofDevice] ?? state.rawValue
    }
}

/// `GET /v1/users/{userId}/subscriptions`, read so that words of a later server hide nothing.
struct SubscriptionsAnswer: Decodable {
    struct Subscription: Decodable {
        let originalTransactionId: String
        let transactionId: String
        let productId: String
        let state: String
        let stateName: Text?
        let title: Text
        let entitlement: String?
        let plan: String?
        let group: String?
        let since: Instant
        let expiresAt: Instant
        let graceUntil: Instant?
        let willRenew: Bool?
        let renewsAt: Instant?
        let renewalProductId: String?
        let renewalPrice: Money?
        let priceIncrease: String?
        let isFamilyShared: Bool
        let reason: String?
    }

    let data: [Subscription]
}
