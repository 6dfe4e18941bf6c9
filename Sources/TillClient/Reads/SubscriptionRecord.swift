import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The state of a subscription. A value from a later server keeps its name.
public struct SubscriptionState: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    init(_ state: TillBilling.Subscription.State) { rawValue = state.rawValue }

    /// The subscription is paid.
    public static let active = SubscriptionState(.active)
    /// The subscription is paid, and renewal is off.
    public static let cancelled = SubscriptionState(.cancelled)
    /// Apple couldn't charge and still grants service.
    public static let grace = SubscriptionState(.grace)
    /// Apple is trying to charge, without service.
    public static let billingRetry = SubscriptionState(.billingRetry)
    /// The subscription has ended.
    public static let expired = SubscriptionState(.expired)
    /// The subscription was refunded, or Family Sharing ended.
    public static let revoked = SubscriptionState(.revoked)
    /// Another purchase replaced the subscription.
    public static let upgraded = SubscriptionState(.upgraded)
}

/// An auto-renewable subscription of the signed-in user, as verified by the server.
public struct SubscriptionRecord: Hashable, Sendable, Identifiable {
    /// The original transaction, which never changes.
    public let id: String
    /// The transaction of the current period, or of the last one.
    public let transactionID: String
    /// The product of that period.
    public let productID: String
    /// The state of the subscription.
    public let state: SubscriptionState
    /// The entitlement that the subscription grants, if any.
    public let entitlement: String?
    /// The plan that the subscription sells, if any.
    public let plan: String?
    /// The subscription group's identifier.
    public let groupID: String?
    /// When the customer subscribed: for the first time, or again after a lapse.
    public let since: Date
    /// The first moment without service, including a grace period; in the past for an ended subscription.
    public let expires: Date
    /// The end of the grace period, during grace.
    public let graceUntil: Date?
    /// Whether the subscription will renew; nil while unknown.
    public let willRenew: Bool?
    /// When the subscription renews, if it will; nil once the renewal is late.
    public let renews: Date?
    /// The product at the next renewal, which differs after a change that takes effect then. Nil unless it will renew.
    public let renewalProductID: String?
    /// The price at the next renewal, with the offer applied, in units of the currency. Nil while unknown, and unless
    /// it will renew.
    public let renewalPrice: Decimal?
    /// The ISO 4217 code of the renewal price.
    public let renewalCurrency: String?
    /// A Boolean value that indicates whether a higher price waits for the customer's consent.
    public let isPriceIncreasePending: Bool
    /// A Boolean value that indicates whether another family member pays.
    public let isFamilyShared: Bool
    /// Why the subscription ended, as a code of the server: `cancelled`, `billing_error`, `price_increase`,
    /// `product_unavailable`, `other`. Also `billing_error` while Apple is trying to charge. Otherwise nil, and if
    /// Apple stated no reason.
    public let expirationReason: String?

    private let name: LocalizedText
    private let stateText: LocalizedText?

    init(_ reply: SubscriptionsResponse.Subscription) {
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
        stateText = reply.stateName
    }

    /// The product's name in the catalogue; its id if the catalogue has no name.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; nil for the device's language.
    public func title(in language: String? = nil) -> String {
        name[language.map(Language.init(preference:)) ?? .ofDevice]
    }

    /// The state's name.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; nil for the device's language.
    public func stateName(in language: String? = nil) -> String {
        stateText?[language.map(Language.init(preference:)) ?? .ofDevice] ?? state.rawValue
    }
}

/// `GET /v1/users/{userId}/subscriptions`, decoded so that unknown values of a later server hide nothing.
struct SubscriptionsResponse: Decodable {
    struct Subscription: Decodable {
        let originalTransactionId: String
        let transactionId: String
        let productId: String
        let state: String
        let stateName: LocalizedText?
        let title: LocalizedText
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
