import TillBilling

/// `POST /v1/offers/promotional`: the offer to sign, the customer, and the format.
public struct PromotionalOfferBody: Codable, Sendable {
    public var productId: String
    /// The offer's id in App Store Connect.
    public var offerId: String
    /// `classic` if absent.
    public var form: OfferForm?
    /// The order to be paid: its id goes into the purchase as `appAccountToken`, and therefore into the classic format.
    public var orderId: UniqueID?
    /// The user whom the order must belong to.
    public var userId: String?
    /// The purchase's account token, instead of an order. Classic format only.
    public var appAccountToken: UniqueID?
    /// Instead of both, for StoreKit 1. Classic format only.
    public var applicationUsername: String?
    /// Any transaction of the customer, or the `appTransactionId`. JWS format only.
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

/// The two formats of a promotional offer's signature.
public enum OfferForm: String, Codable, Sendable, Hashable, CaseIterable {
    /// Key id, nonce, signature and time: for StoreKit 1, and StoreKit 2's original API.
    case classic
    /// One signed text: for StoreKit 2 since 2025.
    case jws
}

/// A signed promotional offer, valid for one attempt to buy.
public struct PromotionalOfferReply: Codable, Sendable, Hashable {
    public let form: OfferForm
    public let productId: String
    public let offerId: String
    /// The complete `jws` format.
    public var compactJWS: String?
    // The parts of the `classic` format.
    public var keyId: String?
    public var nonce: UniqueID?
    /// Milliseconds since 1970, as StoreKit expects them.
    public var timestamp: Int64?
    /// Base64.
    public var signature: String?
    /// The signed `appAccountToken` or `applicationUsername`; empty if the purchase must not set either.
    public var account: String?
    /// The time from which Apple refuses the signature.
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
    /// Whether the customer may use the introductory offer.
    public let allowed: Bool
    /// Any transaction of the customer, or the `appTransactionId`.
    public let transactionId: String

    public init(productId: String, allowed: Bool, transactionId: String) {
        self.productId = productId
        self.allowed = allowed
        self.transactionId = transactionId
    }
}

/// The signed statement about a customer's introductory offer.
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
