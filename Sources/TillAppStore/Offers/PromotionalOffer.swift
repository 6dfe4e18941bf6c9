import TillBilling

/// A promotional offer that a customer may take, as it will be signed (facts/business-rules §9). Who deserves one is
/// for the app's backend to decide; Apple only checks that somebody with the key signed it.
public struct PromotionalOffer: Sendable, Hashable {
    /// The auto-renewable subscription that is offered.
    public let productID: ProductID
    /// As it was entered in App Store Connect: 1 to 100 visible ASCII characters.
    public let offerID: String
    /// What the purchase will carry as `appAccountToken` or `applicationUsername`: in lower case, at most 255 bytes,
    /// empty if it carries none. Part of the classic form only.
    public let account: String
    /// Any transaction of the customer, or the `appTransactionId`. Part of the form as JWS only; optional, and
    /// recommended there.
    public let transactionID: TransactionID?

    /// - Throws: which text can't be part of an offer, and why.
    public init(
        productID: ProductID, offerID: String, account: String = "", transactionID: TransactionID? = nil
    ) throws(OfferRefusal) {
        self.productID = try OfferText.product(productID)
        self.offerID = try OfferText.offer(offerID)
        self.account = try OfferText.account(account)
        if let transactionID {
            self.transactionID = try OfferText.transaction(transactionID)
        } else {
            self.transactionID = nil
        }
    }
}

/// A promotional offer's classic signature: what `SKPaymentDiscount` and StoreKit 2's
/// `promotionalOffer(offerID:keyID:nonce:signature:timestamp:)` take (facts/storekit-client).
///
/// It is for one attempt to buy, even if that fails, and for 24 hours (facts/limits §4): ask for another one each time.
public struct PromotionalOfferSignature: Sendable, Hashable {
    public let keyID: String
    /// Written in lower case.
    public let nonce: UniqueID
    /// When it was signed; StoreKit takes its milliseconds.
    public let timestamp: Instant
    /// Base64 of the ECDSA signature in DER. StoreKit 1 takes the text, StoreKit 2 the bytes.
    public let signature: String

    public static let lifetime: Int64 = 24 * 3_600

    /// From then on Apple refuses it.
    public var expiresAt: Instant { timestamp.adding(seconds: Self.lifetime) }
}
