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
