import Foundation
import TillAppStore

/// What was bought: one charge of the App Store, as it signed it.
///
/// What comes from the store comes inside a ``VerificationResult``; this value by itself proves nothing.
public struct Transaction: Identifiable, Hashable, Sendable {
    /// The payload's bytes: JSON in the schema of JWSTransactionDecodedPayload.
    public var jsonRepresentation: Data { signedText.payload }

    public let id: UInt64
    /// Of the first purchase; of a subscription's renewals the first period's.
    public let originalID: UInt64
    /// Of auto-renewable subscriptions only.
    public let webOrderLineItemID: String?
    public let productID: String
    public let productType: Product.ProductType
    public let subscriptionGroupID: String?
    public let appBundleID: String
    public let purchaseDate: Date
    public let originalPurchaseDate: Date
    /// Of subscriptions only.
    public let expirationDate: Date?
    public let purchasedQuantity: Int
    /// Whether a higher plan has taken this one's place.
    public let isUpgraded: Bool
    public let ownershipType: OwnershipType
    /// What the app gave when it bought.
    public let appAccountToken: UUID?
    /// When it was refunded or taken back; nil while it stands.
    public let revocationDate: Date?
    public let revocationReason: RevocationReason?
    public let revocationType: RevocationType?
    /// The offer it was bought with.
    public let offer: Offer?
    public let environment: AppStore.Environment
    public let storefront: Storefront
    public let reason: Reason
    /// For the whole quantity, after any offer.
    public let price: Decimal?
    public let currency: Locale.Currency?
    /// Of this customer's download of the app.
    public let appTransactionID: String
    public let signedDate: Date
    /// Proves, with the nonce and `AppStore.deviceVerificationID`, that this was signed for this device.
    public let deviceVerification: Data
    public let deviceVerificationNonce: UUID

    let signedText: SignedText
}

extension Transaction: SignedValue {
    static func verify(_ jws: String, by verifier: SignedDataVerifier) throws(VerificationFailure) {
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
    /// What became of the subscription that this is a period of.
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

// Texts that later members have replaced; apps that were built for iOS 15 read them.
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
    /// What a server is sent: the same format as in the App Store Server API.
    public var jwsRepresentation: String { text.jws }
    public var headerData: Data { text.header }
    public var payloadData: Data { text.payload }
    public var signatureData: Data { text.signature }
    /// What the signature covers.
    public var signedData: Data { text.signed }
    public var signedDate: Date { unsafePayloadValue.signedDate }
    public var deviceVerification: Data { unsafePayloadValue.deviceVerification }
    public var deviceVerificationNonce: UUID { unsafePayloadValue.deviceVerificationNonce }
}

// Values of a transaction that Apple may add to: the raw ones survive (facts/jws §4).
extension Transaction {
    /// How the customer came by it.
    public struct OwnershipType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchased = OwnershipType(rawValue: "PURCHASED")
        public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
    }

    /// Who started it: the customer, or the App Store's clock.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchase = Reason(rawValue: "PURCHASE")
        public static let renewal = Reason(rawValue: "RENEWAL")
    }

    public struct RevocationReason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Something was wrong with the app.
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

    /// What made it cheaper.
    public struct Offer: Hashable, Sendable {
        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let freeTrial = PaymentMode(rawValue: "FREE_TRIAL")
            public static let payAsYouGo = PaymentMode(rawValue: "PAY_AS_YOU_GO")
            public static let payUpFront = PaymentMode(rawValue: "PAY_UP_FRONT")
            public static let oneTime = PaymentMode(rawValue: "ONE_TIME")
        }

        /// Of all but introductory ones.
        public let id: String?
        public let type: OfferType
        public let paymentMode: PaymentMode?
        /// How long it lasts in all.
        public let period: Product.SubscriptionPeriod?
        /// ISO 8601.
        let periodText: String?

        /// Nil for one without a type. A renewal's are the same.
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
