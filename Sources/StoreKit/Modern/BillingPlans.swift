import Foundation
import TillAppStore

extension Product.SubscriptionInfo {
    /// How the subscription is charged: once for its period, or a year in twelve monthly charges.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public struct BillingPlanType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let upFront = BillingPlanType(rawValue: "BILLED_UPFRONT")
        public static let monthly = BillingPlanType(rawValue: "MONTHLY")
    }

    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public typealias BillingPeriod = Product.SubscriptionPeriod

    /// The whole time that the customer commits to.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public struct CommitmentInfo: Hashable, Sendable {
        /// The sum of all charges of the commitment.
        public let price: Decimal
        /// ``price`` as formatted for the storefront.
        public let displayPrice: String
        public let period: Product.SubscriptionPeriod
    }

    /// The price of a subscription in one billing plan.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public struct PricingTerms: Hashable, Sendable {
        public let billingPlanType: BillingPlanType
        /// The price of one charge.
        public let billingPrice: Decimal
        /// ``billingPrice`` as formatted for the storefront.
        public let billingDisplayPrice: String
        /// The time between two charges.
        public let billingPeriod: BillingPeriod
        public let commitmentInfo: CommitmentInfo
        /// The offers of this plan.
        public let subscriptionOffers: [Product.SubscriptionOffer]

        /// The plan's offers of one type.
        public subscript(offers type: Product.SubscriptionOffer.OfferType) -> [Product.SubscriptionOffer] {
            subscriptionOffers.filter { $0.type == type }
        }
    }
}

extension Product.SubscriptionInfo.PricingTerms {
    /// The plan that charges the whole period at once.
    static func upFront(
        _ price: Decimal, for period: Product.SubscriptionPeriod, offers: [Product.SubscriptionOffer],
        _ style: Decimal.FormatStyle.Currency
    ) -> Self {
        Self(
            billingPlanType: .upFront, billingPrice: price, billingDisplayPrice: price.formatted(style),
            billingPeriod: period,
            commitmentInfo: Product.SubscriptionInfo.CommitmentInfo(
                price: price, displayPrice: price.formatted(style), period: period),
            subscriptionOffers: offers)
    }

    /// The plan that charges a year by the month. The emulated store has no offers for it.
    static func monthly(_ price: Decimal, _ style: Decimal.FormatStyle.Currency) -> Self {
        Self(
            billingPlanType: .monthly, billingPrice: price, billingDisplayPrice: price.formatted(style),
            billingPeriod: .monthly,
            commitmentInfo: Product.SubscriptionInfo.CommitmentInfo(
                price: price * 12, displayPrice: (price * 12).formatted(style), period: .yearly),
            subscriptionOffers: [])
    }
}

extension Transaction {
    /// The place of one monthly charge in its commitment.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public struct CommitmentInfo: Hashable, Sendable {
        /// 1 for the first charge.
        public let billingPeriodNumber: UInt64
        public let totalBillingPeriods: UInt64
        /// The end of the commitment.
        public let expirationDate: Date
        /// The sum of all charges of the commitment.
        public let price: Decimal

        /// Nil if a member is missing.
        init?(_ payload: TransactionPayload.Commitment) {
            guard let number = payload.billingPeriodNumber.flatMap({ UInt64(exactly: $0) }),
                let total = payload.totalBillingPeriods.flatMap({ UInt64(exactly: $0) }),
                let end = payload.expiresDate, let price = payload.priceMilliunits
            else { return nil }
            billingPeriodNumber = number
            totalBillingPeriods = total
            expirationDate = Date(end)
            self.price = Decimal(milliunits: price)
        }
    }
}

extension Product.SubscriptionInfo.RenewalInfo {
    /// What follows the current commitment.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public struct CommitmentInfo: Hashable, Sendable {
        /// The product of the time after the commitment.
        public let autoRenewPreference: String
        /// Whether the subscription goes on after the commitment. The months of the commitment renew in any case.
        public let willAutoRenew: Bool
        public let renewalBillingPlanType: Product.SubscriptionInfo.BillingPlanType
        /// The end of the commitment.
        public let renewalDate: Date
        /// The price of the next commitment, or of the period that is paid up front; 0 if none follows.
        public let renewalPrice: Decimal

        /// Nil if a member is missing.
        init?(_ payload: RenewalInfoPayload.Commitment) {
            guard let product = payload.autoRenewProductID, let date = payload.renewalDate,
                let plan = payload.renewalBillingPlanType
            else { return nil }
            autoRenewPreference = product
            willAutoRenew = payload.autoRenewStatus == .on
            renewalBillingPlanType = Product.SubscriptionInfo.BillingPlanType(rawValue: plan.rawValue)
            renewalDate = Date(date)
            renewalPrice = Decimal(milliunits: payload.renewalPriceMilliunits ?? 0)
        }
    }
}
