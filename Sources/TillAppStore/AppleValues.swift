import TillBilling

// Values that Apple may extend any year. Each keeps the raw value it came with, so an unknown one survives
// (facts/jws §1); the known ones have names.

extension ProductType {
    /// The types that receipts number from 0 (attribute 1707, facts/pkcs7-receipt §3.2).
    private static let receiptTypes: [ProductType] = [.nonConsumable, .consumable, .nonRenewing, .autoRenewable]

    /// Nil for a number that means nothing here.
    public init?(receiptNumber number: Int64) {
        guard let index = Int(exactly: number), Self.receiptTypes.indices.contains(index) else { return nil }
        self = Self.receiptTypes[index]
    }

    /// Nil for a type that no receipt has.
    public var receiptNumber: Int64? { Self.receiptTypes.firstIndex(of: self).map(Int64.init) }
}

public struct Ownership: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let purchased = Ownership(rawValue: "PURCHASED")
    public static let familyShared = Ownership(rawValue: "FAMILY_SHARED")
    /// A seat of what an organization or a group pays for.
    public static let assigned = Ownership(rawValue: "ASSIGNED")
}

public struct TransactionReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// By the customer, upgrades included.
    public static let purchase = TransactionReason(rawValue: "PURCHASE")
    /// By Apple's server, a downgrade that takes effect included.
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

/// Where an item's price increase stands (facts/jws §5).
public struct AdvancedCommercePriceIncreaseStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let scheduled = AdvancedCommercePriceIncreaseStatus(rawValue: "SCHEDULED")
    public static let pending = AdvancedCommercePriceIncreaseStatus(rawValue: "PENDING")
    public static let accepted = AdvancedCommercePriceIncreaseStatus(rawValue: "ACCEPTED")
}

/// A subscription at the moment a notification was signed (facts/jws §7).
public struct SubscriptionStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let active = SubscriptionStatus(rawValue: 1)
    public static let expired = SubscriptionStatus(rawValue: 2)
    public static let billingRetry = SubscriptionStatus(rawValue: 3)
    public static let billingGracePeriod = SubscriptionStatus(rawValue: 4)
    public static let revoked = SubscriptionStatus(rawValue: 5)
}

/// Why the customer asks for a refund; only in CONSUMPTION_REQUEST (facts/jws §7).
public struct ConsumptionRequestReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    public static let other = ConsumptionRequestReason(rawValue: "OTHER")
}

/// What a notification tells of (facts/notifications §4).
public struct NotificationType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A subscription began (`.initialBuy`) or began again (`.resubscribe`).
    public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
    /// A subscription renewed, normally or by `.billingRecovery`.
    public static let didRenew = NotificationType(rawValue: "DID_RENEW")
    /// The product of the next renewal changed: `.upgrade` now, `.downgrade` at the renewal, none if a change was
    /// taken back.
    public static let didChangeRenewalPref = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// Renewal was switched on or off (`.autoRenewEnabled`, `.autoRenewDisabled`); access does not change.
    public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// An active subscriber redeemed an offer, with `.upgrade`, `.downgrade` or neither.
    public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
    /// Billing failed: with `.gracePeriod` the service goes on, without it stops; Apple tries again up to 60 days.
    public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
    /// Grace ended; Apple goes on trying.
    public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
    /// A subscription ended; the subtype says why, none for other reasons.
    public static let expired = NotificationType(rawValue: "EXPIRED")
    /// A price increase: consent asked (`.pending`), or given or not needed (`.accepted`).
    public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
    /// A purchase of any kind was refunded; the transaction says when, why and how much.
    public static let refund = NotificationType(rawValue: "REFUND")
    /// Apple refused a refund.
    public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
    /// A refund was undone after a dispute.
    public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
    /// The customer asked for a refund; consumption information is due within 12 hours.
    public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
    /// Access by family sharing ended.
    public static let revoke = NotificationType(rawValue: "REVOKE")
    /// The renewal date of one subscription was extended.
    public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
    /// A mass extension ended (`.summary`), or failed for one subscription (`.failure`).
    public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
    /// A consumable, non-consumable or non-renewing subscription was bought.
    public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
    /// An event of an external purchase token.
    public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// A parent withdrew the consent to a minor's use of the app; it comes with `appData`.
    public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
    /// Advanced Commerce only.
    public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
    /// Advanced Commerce only; Apple's changelog calls it MIGRATE.
    public static let migration = NotificationType(rawValue: "MIGRATION")
    /// Advanced Commerce only.
    public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
    /// Asked for by Request a Test Notification.
    public static let test = NotificationType(rawValue: "TEST")

    /// All that are known; Apple may send others.
    public static let known: [NotificationType] = [
        .subscribed, .didRenew, .didChangeRenewalPref, .didChangeRenewalStatus, .offerRedeemed, .didFailToRenew,
        .gracePeriodExpired, .expired, .priceIncrease, .refund, .refundDeclined, .refundReversed,
        .consumptionRequest, .revoke, .renewalExtended, .renewalExtension, .oneTimeCharge, .externalPurchaseToken,
        .rescindConsent, .metadataUpdate, .migration, .priceChange, .test,
    ]
}

/// The particular of a notification's type (facts/notifications §4).
public struct NotificationSubtype: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// SUBSCRIBED: the first subscription in its group, or the first access by family sharing.
    public static let initialBuy = NotificationSubtype(rawValue: "INITIAL_BUY")
    /// SUBSCRIBED: again after an expiry, the same product or another of the group.
    public static let resubscribe = NotificationSubtype(rawValue: "RESUBSCRIBE")
    /// DID_RENEW: Apple got its money while it was trying again.
    public static let billingRecovery = NotificationSubtype(rawValue: "BILLING_RECOVERY")
    /// DID_CHANGE_RENEWAL_PREF, OFFER_REDEEMED: effective now, with a new billing period.
    public static let upgrade = NotificationSubtype(rawValue: "UPGRADE")
    /// DID_CHANGE_RENEWAL_PREF, OFFER_REDEEMED: effective at the next renewal.
    public static let downgrade = NotificationSubtype(rawValue: "DOWNGRADE")
    /// DID_CHANGE_RENEWAL_STATUS: the customer switched renewal on.
    public static let autoRenewEnabled = NotificationSubtype(rawValue: "AUTO_RENEW_ENABLED")
    /// DID_CHANGE_RENEWAL_STATUS: switched off by the customer, or by Apple after a refund was asked for.
    public static let autoRenewDisabled = NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")
    /// DID_FAIL_TO_RENEW: the service goes on until `gracePeriodExpiresDate`.
    public static let gracePeriod = NotificationSubtype(rawValue: "GRACE_PERIOD")
    /// EXPIRED: renewal was off.
    public static let voluntary = NotificationSubtype(rawValue: "VOLUNTARY")
    /// EXPIRED: Apple stopped trying.
    public static let billingRetry = NotificationSubtype(rawValue: "BILLING_RETRY")
    /// EXPIRED: no consent to a price increase.
    public static let priceIncrease = NotificationSubtype(rawValue: "PRICE_INCREASE")
    /// EXPIRED: the product was not for sale at the renewal.
    public static let productNotForSale = NotificationSubtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// PRICE_INCREASE: consent is asked for and not given yet.
    public static let pending = NotificationSubtype(rawValue: "PENDING")
    /// PRICE_INCREASE: consent is given, or the increase needs none.
    public static let accepted = NotificationSubtype(rawValue: "ACCEPTED")
    /// RENEWAL_EXTENSION: all of the mass extension is done; it comes with `summary`.
    public static let summary = NotificationSubtype(rawValue: "SUMMARY")
    /// RENEWAL_EXTENSION: it failed for this one subscription.
    public static let failure = NotificationSubtype(rawValue: "FAILURE")
    /// EXTERNAL_PURCHASE_TOKEN: Apple made a token that was not reported.
    public static let unreported = NotificationSubtype(rawValue: "UNREPORTED")
    /// EXTERNAL_PURCHASE_TOKEN: Apple made a token.
    public static let created = NotificationSubtype(rawValue: "CREATED")
    /// EXTERNAL_PURCHASE_TOKEN: a token is still active.
    public static let activeTokenReminder = NotificationSubtype(rawValue: "ACTIVE_TOKEN_REMINDER")

    /// All that are known; Apple may send others.
    public static let known: [NotificationSubtype] = [
        .initialBuy, .resubscribe, .billingRecovery, .upgrade, .downgrade, .autoRenewEnabled, .autoRenewDisabled,
        .gracePeriod, .voluntary, .billingRetry, .priceIncrease, .productNotForSale, .pending, .accepted, .summary,
        .failure, .unreported, .created, .activeTokenReminder,
    ]
}
