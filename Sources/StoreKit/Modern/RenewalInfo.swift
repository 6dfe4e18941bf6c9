import Foundation
import TillAppStore

extension Product.SubscriptionInfo {
    /// The next renewal of a subscription (facts/jws §5).
    public struct RenewalInfo: Hashable, Sendable {
        public let originalTransactionID: UInt64
        public let currentProductID: String
        public let willAutoRenew: Bool
        /// The product that renews next.
        public let autoRenewPreference: String?
        /// Set after the subscription has ended, or while billing fails.
        public let expirationReason: ExpirationReason?
        public let priceIncreaseStatus: PriceIncreaseStatus
        public let isInBillingRetry: Bool
        public let gracePeriodExpirationDate: Date?
        /// The offer of the next period.
        @available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, *)
        public let offer: Transaction.Offer?
        /// The end of the newest period, which may be in the past.
        public let renewalDate: Date?
        /// The price with the offer applied.
        public let renewalPrice: Decimal?
        @available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
        public let currency: Locale.Currency?
        public let recentSubscriptionStartDate: Date
        /// The token of the next renewal's transaction.
        public let appAccountToken: UUID?
        public let appTransactionID: String
        /// Ordered from best to worst.
        @available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, *)
        public let eligibleWinBackOfferIDs: [String]
        @available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
        public let environment: AppStore.Environment
        /// The billing plan of the next charge.
        @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
        public let renewalBillingPlanType: Product.SubscriptionInfo.BillingPlanType?
        /// Set during a commitment.
        @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
        public let commitmentInfo: CommitmentInfo?
        public let signedDate: Date
        public let deviceVerification: Data
        public let deviceVerificationNonce: UUID
        let signedText: SignedText

        /// The signed payload, JSON in the schema of facts/jws §5.
        public var jsonRepresentation: Data { signedText.payload }

        /// The raw values are those of `expirationIntent`.
        public struct ExpirationReason: RawRepresentable, Hashable, Sendable {
            public let rawValue: Int

            public init(rawValue: Int) { self.rawValue = rawValue }

            public static let autoRenewDisabled = ExpirationReason(rawValue: 1)
            public static let billingError = ExpirationReason(rawValue: 2)
            public static let didNotConsentToPriceIncrease = ExpirationReason(rawValue: 3)
            public static let productUnavailable = ExpirationReason(rawValue: 4)
            public static let unknown = ExpirationReason(rawValue: 5)

            /// In English.
            @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
            public var localizedDescription: String {
                switch self {
                case .autoRenewDisabled: "Auto-Renew Disabled"
                case .billingError: "Billing Error"
                case .didNotConsentToPriceIncrease: "Did Not Consent to Price Increase"
                case .productUnavailable: "Product Unavailable"
                default: "Unknown"
                }
            }
        }

        @frozen public enum PriceIncreaseStatus: Hashable, Sendable {
            case noIncreasePending
            /// The customer hasn't responded to the price increase.
            case pending
            case agreed

            /// In English.
            @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
            public var localizedDescription: String {
                switch self {
                case .noIncreasePending: "No Increase Pending"
                case .pending: "Pending"
                case .agreed: "Agreed"
                }
            }
        }
    }
}

extension Product.SubscriptionInfo.RenewalInfo: SignedValue {
    static func verify(_ jws: String, by verifier: SignedDataVerifier) throws(VerificationError) {
        _ = try verifier.renewalInfo(jws)
    }

    init(_ payload: RenewalInfoPayload, _ text: SignedText) {
        signedText = text
        originalTransactionID = payload.originalTransactionID.flatMap { UInt64($0) } ?? 0
        currentProductID = payload.productID ?? ""
        willAutoRenew = payload.autoRenewStatus == .on
        autoRenewPreference = payload.autoRenewProductID
        expirationReason = payload.expirationIntent.map { ExpirationReason(rawValue: $0.rawValue) }
        priceIncreaseStatus =
            switch payload.priceIncreaseStatus {
            case nil: .noIncreasePending
            case .consentedOrTold: .agreed
            default: .pending
            }
        isInBillingRetry = payload.isInBillingRetryPeriod ?? false
        gracePeriodExpirationDate = payload.gracePeriodExpiresDate.map { Date($0) }
        offer = payload.offer.flatMap { Transaction.Offer($0) }
        renewalDate = payload.renewalDate.map { Date($0) }
        renewalPrice = payload.renewalPriceMilliunits.map { Decimal(milliunits: $0) }
        currency = payload.currency.map { Locale.Currency($0) }
        recentSubscriptionStartDate = payload.recentSubscriptionStartDate.map { Date($0) } ?? .epoch
        appAccountToken = payload.appAccountToken.flatMap { UUID(uuidString: $0) }
        appTransactionID = payload.appTransactionID ?? ""
        eligibleWinBackOfferIDs = payload.eligibleWinBackOfferIDs ?? []
        environment = AppStore.Environment(rawValue: payload.environment ?? "")
        renewalBillingPlanType = payload.renewalBillingPlanType.map {
            Product.SubscriptionInfo.BillingPlanType(rawValue: $0.rawValue)
        }
        commitmentInfo = payload.commitment.flatMap { CommitmentInfo($0) }
        signedDate = payload.signedDate.map { Date($0) } ?? .epoch
        (deviceVerification, deviceVerificationNonce) = text.deviceProof
    }
}

// Deprecated names, for older code.
extension Product.SubscriptionInfo.RenewalInfo {
    @available(iOS, introduced: 15.0, deprecated: 18.0, message: "Use offer.type")
    @available(macOS, introduced: 12.0, deprecated: 15.0, message: "Use offer.type")
    @available(tvOS, introduced: 15.0, deprecated: 18.0, message: "Use offer.type")
    @available(watchOS, introduced: 8.0, deprecated: 11.0, message: "Use offer.type")
    public var offerType: Transaction.OfferType? { offer?.type }

    @available(iOS, introduced: 15.0, deprecated: 18.0, message: "Use offer.id")
    @available(macOS, introduced: 12.0, deprecated: 15.0, message: "Use offer.id")
    @available(tvOS, introduced: 15.0, deprecated: 18.0, message: "Use offer.id")
    @available(watchOS, introduced: 8.0, deprecated: 11.0, message: "Use offer.id")
    public var offerID: String? { offer?.id }

    @available(iOS, introduced: 15.0, deprecated: 18.0, message: "Use offer.paymentMode")
    @available(macOS, introduced: 12.0, deprecated: 15.0, message: "Use offer.paymentMode")
    @available(tvOS, introduced: 15.0, deprecated: 18.0, message: "Use offer.paymentMode")
    @available(watchOS, introduced: 8.0, deprecated: 11.0, message: "Use offer.paymentMode")
    public var offerPaymentModeStringRepresentation: String? { offer?.paymentMode?.rawValue }

    @available(iOS, introduced: 15.0, deprecated: 18.4, message: "Use offer.period")
    @available(macOS, introduced: 12.0, deprecated: 15.4, message: "Use offer.period")
    @available(tvOS, introduced: 15.0, deprecated: 18.4, message: "Use offer.period")
    @available(watchOS, introduced: 8.0, deprecated: 11.4, message: "Use offer.period")
    public var offerPeriodStringRepresentation: String? { offer?.periodText }

    @available(iOS, introduced: 15.0, deprecated: 16.0, message: "Use environment")
    @available(macOS, introduced: 12.0, deprecated: 13.0, message: "Use environment")
    @available(tvOS, introduced: 15.0, deprecated: 16.0, message: "Use environment")
    @available(watchOS, introduced: 8.0, deprecated: 9.0, message: "Use environment")
    public var environmentStringRepresentation: String { environment.rawValue }

    @available(iOS, introduced: 15.0, deprecated: 16.0, message: "Use currency")
    @available(macOS, introduced: 12.0, deprecated: 13.0, message: "Use currency")
    @available(tvOS, introduced: 15.0, deprecated: 16.0, message: "Use currency")
    @available(watchOS, introduced: 8.0, deprecated: 9.0, message: "Use currency")
    public var currencyCode: String? { currency?.identifier }
}

extension Product.SubscriptionInfo.RenewalInfo: CustomDebugStringConvertible {
    public var debugDescription: String { String(decoding: jsonRepresentation, as: UTF8.self) }
}

extension VerificationResult where SignedType == Product.SubscriptionInfo.RenewalInfo {
    public var jwsRepresentation: String { text.jws }
    public var headerData: Data { text.header }
    public var payloadData: Data { text.payload }
    public var signatureData: Data { text.signature }
    /// The bytes that the signature covers.
    public var signedData: Data { text.signed }
    public var signedDate: Date { unsafePayloadValue.signedDate }
    public var deviceVerification: Data { unsafePayloadValue.deviceVerification }
    public var deviceVerificationNonce: UUID { unsafePayloadValue.deviceVerificationNonce }
}

@available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
public typealias SubscriptionRenewalInfo = Product.SubscriptionInfo.RenewalInfo
