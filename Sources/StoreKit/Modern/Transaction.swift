import Foundation
import TillAppStore

/// A transaction of the App Store.
///
/// The store delivers it in a ``VerificationResult``; the value alone proves nothing.
public struct Transaction: Identifiable, Sendable {
    /// The signed payload: JSON in the schema of JWSTransactionDecodedPayload.
    public var jsonRepresentation: Data { signedText.payload }

    public let id: UInt64
    /// The id of the first purchase; for a subscription's renewals, of its first period.
    public let originalID: UInt64
    /// Set for auto-renewable subscriptions only.
    public let webOrderLineItemID: String?
    public let productID: String
    public let productType: Product.ProductType
    public let subscriptionGroupID: String?
    public let appBundleID: String
    public let purchaseDate: Date
    public let originalPurchaseDate: Date
    /// Set for subscriptions only.
    public let expirationDate: Date?
    public let purchasedQuantity: Int
    /// A Boolean value that indicates whether an upgrade has replaced this subscription.
    public let isUpgraded: Bool
    public let ownershipType: OwnershipType
    /// The token that the app set for the purchase.
    public let appAccountToken: UUID?
    /// When the purchase was refunded or revoked; nil while it is valid.
    public let revocationDate: Date?
    public let revocationReason: RevocationReason?
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public let revocationType: RevocationType?
    /// The refunded part of the price in percent, up to three decimals; nil without a refund.
    public let revocationPercentage: Decimal?
    /// The offer that was applied.
    @available(iOS 17.2, macOS 14.2, tvOS 17.2, watchOS 10.2, *)
    public let offer: Offer?
    @available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
    public let environment: AppStore.Environment
    @available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *)
    public let storefront: Storefront
    @available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *)
    public let reason: Reason
    /// The price of the whole quantity, with any offer applied.
    public let price: Decimal?
    @available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
    public let currency: Locale.Currency?
    /// The id of the customer's download of the app.
    public let appTransactionID: String
    /// Set for a year that can be paid in two ways.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public let billingPlanType: Product.SubscriptionInfo.BillingPlanType?
    /// Set for a month of a year that is paid monthly.
    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public let commitmentInfo: CommitmentInfo?
    /// The original id of the subscription that a change between it and a bundle replaced. The emulated store has no
    /// bundles, so it is nil there.
    public let previousOriginalTransactionID: UInt64?
    public let signedDate: Date
    /// Proves, with the nonce and `AppStore.deviceVerificationID`, that the transaction was signed for this device.
    public let deviceVerification: Data
    public let deviceVerificationNonce: UUID

    let signedText: SignedText
}

extension Transaction: SignedValue {
    static func verify(_ jws: String, by verifier: SignedDataVerifier) throws(VerificationError) {
        _ = try verifier.transaction(jws)
    }

    init(_ payload: TransactionPayload, _ text: SignedText) {
        signedText = text
        id = payload.transactionID.flatMap { UInt64($0) } ?? 0
        originalID = payload.originalTransactionID.flatMap { UInt64($0) } ?? id
        webOrderLineItemID = payload.webOrderLineItemID
        productID = payload.productID ?? ""
        productType = Product.ProductType(rawValue: payload.typeText ?? "")
        subscriptionGroupID = payload.subscriptionGroupID
        appBundleID = payload.bundleID ?? ""
        purchaseDate = payload.purchaseDate.map { Date($0) } ?? .epoch
        originalPurchaseDate = payload.originalPurchaseDate.map { Date($0) } ?? purchaseDate
        expirationDate = payload.expiresDate.map { Date($0) }
        purchasedQuantity = payload.quantity ?? 1
        isUpgraded = payload.isUpgraded ?? false
        ownershipType = payload.ownership.map { OwnershipType(rawValue: $0.rawValue) } ?? .purchased
        appAccountToken = payload.appAccountToken.flatMap { UUID(uuidString: $0) }
        revocationDate = payload.revocationDate.map { Date($0) }
        revocationReason = payload.revocationReason.map { RevocationReason(rawValue: $0.rawValue) }
        revocationType = payload.revocationType.map { RevocationType(rawValue: $0.rawValue) }
        revocationPercentage = payload.revocationPercentage.map { Decimal(milliunits: Int64($0)) }
        offer = payload.offer.flatMap { Offer($0) }
        environment = AppStore.Environment(rawValue: payload.environment ?? "")
        currency = payload.currency.map { Locale.Currency($0) }
        storefront = Storefront(
            countryCode: payload.storefront ?? "", id: payload.storefrontID ?? "", currency: payload.currency)
        reason = payload.transactionReason.map { Reason(rawValue: $0.rawValue) } ?? .purchase
        price = payload.priceMilliunits.map { Decimal(milliunits: $0) }
        appTransactionID = payload.appTransactionID ?? ""
        billingPlanType = payload.billingPlanType.map {
            Product.SubscriptionInfo.BillingPlanType(rawValue: $0.rawValue)
        }
        commitmentInfo = payload.commitment.flatMap { CommitmentInfo($0) }
        previousOriginalTransactionID = payload.previousOriginalTransactionID.flatMap { UInt64($0) }
        signedDate = payload.signedDate.map { Date($0) } ?? .epoch
        (deviceVerification, deviceVerificationNonce) = text.deviceProof
    }
}

extension Transaction {
    /// The status of the subscription that this transaction belongs to.
    public var subscriptionStatus: Product.SubscriptionInfo.Status? {
        get async {
            guard productType == .autoRenewable else { return nil }
            return try? await Product.SubscriptionInfo.status(transactionID: id)
        }
    }
}

// Every property is read from the signed text.
extension Transaction: Hashable {
    public static func == (left: Transaction, right: Transaction) -> Bool { left.signedText == right.signedText }
    public func hash(into hasher: inout Hasher) { hasher.combine(signedText) }
}

extension Transaction: CustomDebugStringConvertible {
    public var debugDescription: String { String(decoding: jsonRepresentation, as: UTF8.self) }
}

// Text members that later ones have replaced, for apps built for iOS 15.
extension Transaction {
    @available(iOS, introduced: 15.0, deprecated: 16.0, message: "Use environment")
    @available(macOS, introduced: 12.0, deprecated: 13.0, message: "Use environment")
    @available(tvOS, introduced: 15.0, deprecated: 16.0, message: "Use environment")
    @available(watchOS, introduced: 8.0, deprecated: 9.0, message: "Use environment")
    public var environmentStringRepresentation: String { environment.rawValue }

    @available(iOS, introduced: 15.0, deprecated: 17.0, message: "Use reason")
    @available(macOS, introduced: 12.0, deprecated: 14.0, message: "Use reason")
    @available(tvOS, introduced: 15.0, deprecated: 17.0, message: "Use reason")
    @available(watchOS, introduced: 8.0, deprecated: 10.0, message: "Use reason")
    public var reasonStringRepresentation: String { reason.rawValue }

    @available(iOS, introduced: 15.0, deprecated: 17.0, message: "Use storefront")
    @available(macOS, introduced: 12.0, deprecated: 14.0, message: "Use storefront")
    @available(tvOS, introduced: 15.0, deprecated: 17.0, message: "Use storefront")
    @available(watchOS, introduced: 8.0, deprecated: 10.0, message: "Use storefront")
    public var storefrontCountryCode: String { storefront.countryCode }

    @available(iOS, introduced: 15.0, deprecated: 16.0, message: "Use currency")
    @available(macOS, introduced: 12.0, deprecated: 13.0, message: "Use currency")
    @available(tvOS, introduced: 15.0, deprecated: 16.0, message: "Use currency")
    @available(watchOS, introduced: 8.0, deprecated: 9.0, message: "Use currency")
    public var currencyCode: String? { currency?.identifier }

    @available(iOS, introduced: 15.0, deprecated: 17.2, message: "Use offer.type")
    @available(macOS, introduced: 12.0, deprecated: 14.2, message: "Use offer.type")
    @available(tvOS, introduced: 15.0, deprecated: 17.2, message: "Use offer.type")
    @available(watchOS, introduced: 8.0, deprecated: 10.2, message: "Use offer.type")
    public var offerType: OfferType? { offer?.type }

    @available(iOS, introduced: 15.0, deprecated: 17.2, message: "Use offer.id")
    @available(macOS, introduced: 12.0, deprecated: 14.2, message: "Use offer.id")
    @available(tvOS, introduced: 15.0, deprecated: 17.2, message: "Use offer.id")
    @available(watchOS, introduced: 8.0, deprecated: 10.2, message: "Use offer.id")
    public var offerID: String? { offer?.id }

    @available(iOS, introduced: 15.0, deprecated: 17.2, message: "Use offer.paymentMode")
    @available(macOS, introduced: 12.0, deprecated: 14.2, message: "Use offer.paymentMode")
    @available(tvOS, introduced: 15.0, deprecated: 17.2, message: "Use offer.paymentMode")
    @available(watchOS, introduced: 8.0, deprecated: 10.2, message: "Use offer.paymentMode")
    public var offerPaymentModeStringRepresentation: String? { offer?.paymentMode?.rawValue }

    /// ISO 8601.
    @available(iOS, introduced: 15.0, deprecated: 18.4, message: "Use offer.period")
    @available(macOS, introduced: 12.0, deprecated: 15.4, message: "Use offer.period")
    @available(tvOS, introduced: 15.0, deprecated: 18.4, message: "Use offer.period")
    @available(watchOS, introduced: 8.0, deprecated: 11.4, message: "Use offer.period")
    public var offerPeriodStringRepresentation: String? { offer?.periodText }

    public var revocationTypeStringRepresentation: String? { revocationType?.rawValue }
}

extension VerificationResult where SignedType == Transaction {
    /// The JWS to send to a server, in the format of the App Store Server API.
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

// Values that Apple may extend: unknown raw values survive (facts/jws §4).
extension Transaction {
    /// How the customer obtained the product.
    public struct OwnershipType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchased = OwnershipType(rawValue: "PURCHASED")
        public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
        /// An organization or a group assigned the purchase. The emulated store assigns none.
        public static let assigned = OwnershipType(rawValue: "ASSIGNED")
    }

    /// The origin of the transaction: the customer, or a renewal by the App Store.
    @available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *)
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchase = Reason(rawValue: "PURCHASE")
        public static let renewal = Reason(rawValue: "RENEWAL")
    }

    public struct RevocationReason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The refund concerns an issue in the app.
        public static let developerIssue = RevocationReason(rawValue: 1)
        public static let other = RevocationReason(rawValue: 0)
    }

    @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, *)
    public struct RevocationType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let fullRefund = RevocationType(rawValue: "REFUND_FULL")
        public static let proratedRefund = RevocationType(rawValue: "REFUND_PRORATED")
        public static let familyRevocation = RevocationType(rawValue: "FAMILY_REVOKE")
        /// The end of an assignment. The emulated store assigns no purchases.
        public static let assignmentRevocation = RevocationType(rawValue: "ASSIGNMENT_REVOKE")
    }

    public struct OfferType: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let introductory = OfferType(rawValue: 1)
        public static let promotional = OfferType(rawValue: 2)
        public static let code = OfferType(rawValue: 3)
        public static let winBack = OfferType(rawValue: 4)
    }

    /// The offer that was applied to the price.
    @available(iOS 17.2, macOS 14.2, tvOS 17.2, watchOS 10.2, *)
    public struct Offer: Hashable, Sendable {
        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let freeTrial = PaymentMode(rawValue: "FREE_TRIAL")
            public static let payAsYouGo = PaymentMode(rawValue: "PAY_AS_YOU_GO")
            public static let payUpFront = PaymentMode(rawValue: "PAY_UP_FRONT")
            public static let oneTime = PaymentMode(rawValue: "ONE_TIME")
        }

        /// Set for all offers except introductory ones.
        public let id: String?
        public let type: OfferType
        public let paymentMode: PaymentMode?
        /// The total duration of the offer.
        @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
        public let period: Product.SubscriptionPeriod?
        /// ISO 8601.
        let periodText: String?

        /// Nil without a type. A renewal's offer has the same form.
        init?(_ offer: TransactionPayload.Offer) {
            guard let type = offer.type else { return nil }
            self.type = OfferType(rawValue: type.rawValue)
            id = offer.identifier
            paymentMode = offer.discountType.map { PaymentMode(rawValue: $0.rawValue) }
            periodText = offer.period
            period = periodText.flatMap { Product.SubscriptionPeriod(iso8601: $0) }
        }
    }
}

// In English.

@available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
extension Transaction.OfferType {
    public var localizedDescription: String {
        switch self {
        case .introductory: "Introductory"
        case .promotional: "Promotional"
        case .code: "Offer Code"
        case .winBack: "Win-Back"
        default: "Unknown"
        }
    }
}

@available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
extension Transaction.RevocationReason {
    public var localizedDescription: String {
        switch self {
        case .developerIssue: "Developer Issue"
        case .other: "Other"
        default: "Unknown"
        }
    }
}

@available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
extension Transaction.OwnershipType {
    public var localizedDescription: String {
        switch self {
        case .purchased: "Purchased"
        case .familyShared: "Family Shared"
        case .assigned: "Assigned"
        default: "Unknown"
        }
    }
}
