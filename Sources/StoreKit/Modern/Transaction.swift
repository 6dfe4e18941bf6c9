import Foundation
import TillAppStore

/// A transaction of the App Store.
///
/// The store delivers it in a ``VerificationResult``; the value alone proves nothing.
public struct Transaction: Identifiable, Hashable, Sendable {
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
    public let revocationType: RevocationType?
    /// The offer that was applied.
    public let offer: Offer?
    public let environment: AppStore.Environment
    public let storefront: Storefront
    public let reason: Reason
    /// The price of the whole quantity, with any offer applied.
    public let price: Decimal?
    public let currency: Locale.Currency?
    /// The id of the customer's download of the app.
    public let appTransactionID: String
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
        offer = payload.offer.flatMap { Offer($0) }
        environment = AppStore.Environment(rawValue: payload.environment ?? "")
        currency = payload.currency.map { Locale.Currency($0) }
        storefront = Storefront(
            countryCode: payload.storefront ?? "", id: payload.storefrontID ?? "", currency: payload.currency)
        reason = payload.transactionReason.map { Reason(rawValue: $0.rawValue) } ?? .purchase
        price = payload.priceMilliunits.map { Decimal(milliunits: $0) }
        appTransactionID = payload.appTransactionID ?? ""
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

extension Transaction: CustomDebugStringConvertible {
    public var debugDescription: String { String(decoding: jsonRepresentation, as: UTF8.self) }
}

// Text members that later ones have replaced, for apps built for iOS 15.
extension Transaction {
    public var environmentStringRepresentation: String { environment.rawValue }
    public var reasonStringRepresentation: String { reason.rawValue }
    public var storefrontCountryCode: String { storefront.countryCode }
    public var currencyCode: String? { currency?.identifier }
    public var offerType: OfferType? { offer?.type }
    public var offerID: String? { offer?.id }
    public var offerPaymentModeStringRepresentation: String? { offer?.paymentMode?.rawValue }
    /// ISO 8601.
    public var offerPeriodStringRepresentation: String? { offer?.periodText }
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
    }

    /// The origin of the transaction: the customer, or a renewal by the App Store.
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

    public struct RevocationType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let fullRefund = RevocationType(rawValue: "REFUND_FULL")
        public static let proratedRefund = RevocationType(rawValue: "REFUND_PRORATED")
        public static let familyRevocation = RevocationType(rawValue: "FAMILY_REVOKE")
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

extension Transaction.RevocationReason {
    public var localizedDescription: String {
        switch self {
        case .developerIssue: "Developer Issue"
        case .other: "Other"
        default: "Unknown"
        }
    }
}
