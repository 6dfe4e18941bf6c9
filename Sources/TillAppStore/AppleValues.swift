import TillBilling

// Values that Apple may extend in any year. Each keeps its raw value, so an unknown one survives (facts/jws §1); the
// known ones have names.

extension ProductType {
    /// The types in the order of their numbers in receipts, from 0 (attribute 1707, facts/pkcs7-receipt §3.2).
    private static let receiptTypes: [ProductType] = [.nonConsumable, .consumable, .nonRenewing, .autoRenewable]

    /// Nil for an unknown number.
    public init?(receiptNumber number: Int64) {
        guard let index = Int(exactly: number), Self.receiptTypes.indices.contains(index) else { return nil }
        self = Self.receiptTypes[index]
    }

    /// Nil for a type that receipts do not contain.
    public var receiptNumber: Int64? { Self.receiptTypes.firstIndex(of: self).map(Int64.init) }
}

public struct Ownership: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let purchased = Ownership(rawValue: "PURCHASED")
    public static let familyShared = Ownership(rawValue: "FAMILY_SHARED")
    /// A seat that an organization or a group pays for.
    public static let assigned = Ownership(rawValue: "ASSIGNED")
}

public struct TransactionReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Bought by the customer, including upgrades.
    public static let purchase = TransactionReason(rawValue: "PURCHASE")
    /// Charged by Apple's server, including a downgrade that takes effect.
    public static let renewal = TransactionReason(rawValue: "RENEWAL")
}

public struct RevocationReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let other = RevocationReason(rawValue: 0)
    public static let issueWithApp = RevocationReason(rawValue: 1)
}

public struct RevocationType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let refundFull = RevocationType(rawValue: "REFUND_FULL")
    public static let refundProrated = RevocationType(rawValue: "REFUND_PRORATED")
    public static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
}

public struct OfferType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let introductory = OfferType(rawValue: 1)
    public static let promotional = OfferType(rawValue: 2)
    public static let offerCode = OfferType(rawValue: 3)
    public static let winBack = OfferType(rawValue: 4)
}

public struct OfferDiscountType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
    public static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
    public static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
    public static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")
}

public struct BillingPlanType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let billedUpFront = BillingPlanType(rawValue: "BILLED_UPFRONT")
    public static let monthly = BillingPlanType(rawValue: "MONTHLY")
}

public struct AutoRenewStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let off = AutoRenewStatus(rawValue: 0)
    public static let on = AutoRenewStatus(rawValue: 1)
}

public struct ExpirationIntent: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let cancelled = ExpirationIntent(rawValue: 1)
    public static let billingError = ExpirationIntent(rawValue: 2)
    public static let noConsentToPriceIncrease = ExpirationIntent(rawValue: 3)
    public static let productUnavailable = ExpirationIntent(rawValue: 4)
    public static let other = ExpirationIntent(rawValue: 5)
}

public struct PriceIncreaseStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let unanswered = PriceIncreaseStatus(rawValue: 0)
    public static let consentedOrTold = PriceIncreaseStatus(rawValue: 1)
}

public struct Platform: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let iOS = Platform(rawValue: "iOS")
    public static let macOS = Platform(rawValue: "macOS")
    public static let tvOS = Platform(rawValue: "tvOS")
    public static let visionOS = Platform(rawValue: "visionOS")
}

/// The state of an item's price increase (facts/jws §5).
public struct AdvancedCommercePriceIncreaseStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let scheduled = AdvancedCommercePriceIncreaseStatus(rawValue: "SCHEDULED")
    public static let pending = AdvancedCommercePriceIncreaseStatus(rawValue: "PENDING")
    public static let accepted = AdvancedCommercePriceIncreaseStatus(rawValue: "ACCEPTED")
}

/// The status of a subscription at the time a notification was signed (facts/jws §7).
public struct SubscriptionStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let active = SubscriptionStatus(rawValue: 1)
    public static let expired = SubscriptionStatus(rawValue: 2)
    public static let billingRetry = SubscriptionStatus(rawValue: 3)
    public static let billingGracePeriod = SubscriptionStatus(rawValue: 4)
    public static let revoked = SubscriptionStatus(rawValue: 5)
}

/// Why the customer requests a refund; only in CONSUMPTION_REQUEST (facts/jws §7).
public struct ConsumptionRequestReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    public static let other = ConsumptionRequestReason(rawValue: "OTHER")
}

/// The event that a notification reports (facts/notifications §4).
public struct NotificationType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A subscription began (`.initialBuy`) or began again (`.resubscribe`).
    public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
    /// A subscription renewed, normally or by `.billingRecovery`.
    public static let didRenew = NotificationType(rawValue: "DID_RENEW")
    /// The product of the next renewal changed: `.upgrade` takes effect now, `.downgrade` at the renewal; without a
    /// subtype, the customer reverted a change.
    public static let didChangeRenewalPref = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// Renewal was switched on or off (`.autoRenewEnabled`, `.autoRenewDisabled`); access does not change.
    public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// An active subscriber redeemed an offer, with `.upgrade`, `.downgrade` or neither.
    public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
    /// Billing failed: with `.gracePeriod` the service continues, without it the service stops. Apple retries for up to
    /// 60 days.
    public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
    /// The grace period ended; Apple keeps retrying.
    public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
    /// A subscription ended. The subtype states the reason; other reasons have no subtype.
    public static let expired = NotificationType(rawValue: "EXPIRED")
    /// A price increase: consent is requested (`.pending`), or given or not required (`.accepted`).
    public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
    /// A purchase of any kind was refunded; the transaction states when, why and how much.
    public static let refund = NotificationType(rawValue: "REFUND")
    /// Apple refused a refund.
    public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
    /// Apple reversed a refund after a dispute.
    public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
    /// The customer requested a refund; consumption information is due within 12 hours.
    public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
    /// Access through Family Sharing ended.
    public static let revoke = NotificationType(rawValue: "REVOKE")
    /// The renewal date of one subscription was extended.
    public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
    /// A mass extension ended (`.summary`), or failed for one subscription (`.failure`).
    public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
    /// A consumable, non-consumable or non-renewing subscription was bought.
    public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
    /// An event of an external purchase token.
    public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// A parent withdrew consent to a minor's use of the app; the notification contains `appData`.
    public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
    /// Advanced Commerce only.
    public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
    /// Advanced Commerce only; Apple's changelog calls it MIGRATE.
    public static let migration = NotificationType(rawValue: "MIGRATION")
    /// Advanced Commerce only.
    public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
    /// Sent on the request Request a Test Notification.
    public static let test = NotificationType(rawValue: "TEST")

    /// All known types; Apple may send others.
    public static let known: [NotificationType] = [
        .subscribed, .didRenew, .didChangeRenewalPref, .didChangeRenewalStatus, .offerRedeemed, .didFailToRenew,
        .gracePeriodExpired, .expired, .priceIncrease, .refund, .refundDeclined, .refundReversed,
        .consumptionRequest, .revoke, .renewalExtended, .renewalExtension, .oneTimeCharge, .externalPurchaseToken,
        .rescindConsent, .metadataUpdate, .migration, .priceChange, .test,
    ]
}

/// The detail of a notification's type (facts/notifications §4).
public struct NotificationSubtype: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// SUBSCRIBED: the first subscription in its group, or the first access through Family Sharing.
    public static let initialBuy = NotificationSubtype(rawValue: "INITIAL_BUY")
    /// SUBSCRIBED: a new start after an expiry, with the same product or another of the group.
    public static let resubscribe = NotificationSubtype(rawValue: "RESUBSCRIBE")
    /// DID_RENEW: a billing retry succeeded.
    public static let billingRecovery = NotificationSubtype(rawValue: "BILLING_RECOVERY")
    /// DID_CHANGE_RENEWAL_PREF, OFFER_REDEEMED: effective now, with a new billing period.
    public static let upgrade = NotificationSubtype(rawValue: "UPGRADE")
    /// DID_CHANGE_RENEWAL_PREF, OFFER_REDEEMED: effective at the next renewal.
    public static let downgrade = NotificationSubtype(rawValue: "DOWNGRADE")
    /// DID_CHANGE_RENEWAL_STATUS: the customer switched renewal on.
    public static let autoRenewEnabled = NotificationSubtype(rawValue: "AUTO_RENEW_ENABLED")
    /// DID_CHANGE_RENEWAL_STATUS: the customer switched renewal off, or Apple did after a refund request.
    public static let autoRenewDisabled = NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")
    /// DID_FAIL_TO_RENEW: the service continues until `gracePeriodExpiresDate`.
    public static let gracePeriod = NotificationSubtype(rawValue: "GRACE_PERIOD")
    /// EXPIRED: renewal was off.
    public static let voluntary = NotificationSubtype(rawValue: "VOLUNTARY")
    /// EXPIRED: Apple's billing retries ended without success.
    public static let billingRetry = NotificationSubtype(rawValue: "BILLING_RETRY")
    /// EXPIRED: the customer did not consent to a price increase.
    public static let priceIncrease = NotificationSubtype(rawValue: "PRICE_INCREASE")
    /// EXPIRED: the product was not for sale at the renewal.
    public static let productNotForSale = NotificationSubtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// PRICE_INCREASE: consent is requested and not given yet.
    public static let pending = NotificationSubtype(rawValue: "PENDING")
    /// PRICE_INCREASE: consent is given, or not required.
    public static let accepted = NotificationSubtype(rawValue: "ACCEPTED")
    /// RENEWAL_EXTENSION: the whole mass extension is complete; the notification contains `summary`.
    public static let summary = NotificationSubtype(rawValue: "SUMMARY")
    /// RENEWAL_EXTENSION: the extension failed for one subscription.
    public static let failure = NotificationSubtype(rawValue: "FAILURE")
    /// EXTERNAL_PURCHASE_TOKEN: a token that Apple created was not reported.
    public static let unreported = NotificationSubtype(rawValue: "UNREPORTED")
    /// EXTERNAL_PURCHASE_TOKEN: Apple created a token.
    public static let created = NotificationSubtype(rawValue: "CREATED")
    /// EXTERNAL_PURCHASE_TOKEN: a token is still active.
    public static let activeTokenReminder = NotificationSubtype(rawValue: "ACTIVE_TOKEN_REMINDER")

    /// All known subtypes; Apple may send others.
    public static let known: [NotificationSubtype] = [
        .initialBuy, .resubscribe, .billingRecovery, .upgrade, .downgrade, .autoRenewEnabled, .autoRenewDisabled,
        .gracePeriod, .voluntary, .billingRetry, .priceIncrease, .productNotForSale, .pending, .accepted, .summary,
        .failure, .unreported, .created, .activeTokenReminder,
    ]
}
