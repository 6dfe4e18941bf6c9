import TillBilling

/// `POST /v1/offers/promotional`: what to sign, for whom, and in which form.
public struct PromotionalOfferBody: Codable, Sendable {
    public var productId: String
    /// As it was entered in App Store Connect.
    public var offerId: String
    /// `classic` if absent.
    public var form: OfferForm?
    /// The order that will be paid: its id goes into the purchase as `appAccountToken`, and so into the classic form.
    public var orderId: UniqueID?
    /// Whose order it must be.
    public var userId: String?
    /// In place of an order: what the purchase will carry. Classic form only.
    public var appAccountToken: UniqueID?
    /// In place of both, for StoreKit 1. Classic form only.
    public var applicationUsername: String?
    /// Any transaction of the customer, or the `appTransactionId`. JWS form only.
    public var transactionId: String?

    public init(
        productId: String, offerId: String, form: OfferForm? = nil, orderId: UniqueID? = nil, userId: String? = nil,
        appAccountToken: UniqueID? = nil, applicationUsername: String? = nil, transactionId: String? = nil
    ) {
        self.productId = productId
        self.offerId = offerId
        self.form = form
        self.orderId = orderId
        self.userId = userId
        self.appAccountToken = appAccountToken
        self.applicationUsername = applicationUsername
        self.transactionId = transactionId
    }
}

/// The two ways Apple takes a promotional offer.
public enum OfferForm: String, Codable, Sendable, Hashable, CaseIterable {
    /// Key id, nonce, signature and time: StoreKit 1, and StoreKit 2's first way.
    case classic
    /// One signed text: StoreKit 2 since 2025.
    case jws
}

/// A signed promotional offer: for one attempt to buy.
public struct PromotionalOfferReply: Codable, Sendable, Hashable {
    public let form: OfferForm
    public let productId: String
    public let offerId: String
    /// The whole of the form `jws`.
    public var compactJWS: String?
    // The parts of the form `classic`.
    public var keyId: String?
    public var nonce: UniqueID?
    /// Milliseconds since 1970, as StoreKit takes them.
    public var timestamp: Int64?
    /// Base64.
    public var signature: String?
    /// What was signed as `appAccountToken` or `applicationUsername`; empty if the purchase must carry neither.
    public var account: String?
    /// From then on Apple refuses it.
    public var expiresAt: Instant?

    public init(form: OfferForm, productId: String, offerId: String) {
        self.form = form
        self.productId = productId
        self.offerId = offerId
    }
}

/// `POST /v1/offers/introductory`.
public struct IntroductoryOfferBody: Codable, Sendable {
    public let productId: String
    /// Whether the customer may have the introductory offer.
    public let allowed: Bool
    /// Any transaction of the customer, or the `appTransactionId`.
    public let transactionId: String

    public init(productId: String, allowed: Bool, transactionId: String) {
        self.productId = productId
        self.allowed = allowed
        self.transactionId = transactionId
    }
}

/// The signed word on a customer's introductory offer.
public struct IntroductoryOfferReply: Codable, Sendable, Hashable {
    public let productId: String
    public let allowed: Bool
    public let transactionId: String
    public let compactJWS: String

    public init(productId: String, allowed: Bool, transactionId: String, compactJWS: String) {
        self.productId = productId
        self.allowed = allowed
        self.transactionId = transactionId
        self.compactJWS = compactJWS
    }
}
