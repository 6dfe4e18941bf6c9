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
        public let offer: Transaction.Offer?
        /// The end of the newest period, which may be in the past.
        public let renewalDate: Date?
        /// The price with the offer applied.
        public let renewalPrice: Decimal?
        public let currency: Locale.Currency?
        public let recentSubscriptionStartDate: Date
        /// The token of the next renewal's transaction.
        public let appAccountToken: UUID?
        public let appTransactionID: String
        /// Ordered from best to worst.
        public let eligibleWinBackOfferIDs: [String]
        public let environment: AppStore.Environment
        public let signedDate: Date
        public let deviceVerification: Data
        public let deviceVerificationNonce: UUID
        /// The store sends it beside the signed data.
        public internal(set) var state = RenewalState.expired
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

        public enum PriceIncreaseStatus: Hashable, Sendable {
            case noIncreasePending
            /// The customer hasn't responded to the price increase.
            case pending
            case agreed

            /// In English.
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
        signedDate = payload.signedDate.map { Date($0) } ?? .epoch
        (deviceVerification, deviceVerificationNonce) = text.deviceProof
    }
}

// Deprecated names, for older code.
extension Product.SubscriptionInfo.RenewalInfo {
    @available(*, deprecated, message: "Use offer.type")
    public var offerType: Transaction.OfferType? { offer?.type }

    @available(*, deprecated, message: "Use offer.id")
    public var offerID: String? { offer?.id }

    @available(*, deprecated, message: "Use offer.paymentMode")
    public var offerPaymentModeStringRepresentation: String? { offer?.paymentMode?.rawValue }

    @available(*, deprecated, message: "Use offer.period")
    public var offerPeriodStringRepresentation: String? { offer?.periodText }

    @available(*, deprecated, message: "Use environment")
    public var environmentStringRepresentation: String { environment.rawValue }

    @available(*, deprecated, message: "Use currency")
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

    /// The same result with the state that the store sends beside it.
    func withState(_ state: Product.SubscriptionInfo.RenewalState) -> Self {
        var info = unsafePayloadValue
        info.state = state
        return switch self {
        case .verified: .verified(info)
        case .unverified(_, let error): .unverified(info, error)
        }
    }
}

public typealias SubscriptionRenewalInfo = Product.SubscriptionInfo.RenewalInfo
