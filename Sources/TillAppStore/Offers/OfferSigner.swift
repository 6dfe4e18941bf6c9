import TillBilling
import TillCrypto
import TillJSON

/// Signs offers with the app's In-App Purchase Key, in StoreKit 1's original format and as a JWS (facts/business-rules
/// §9). Every signature has its own nonce and is valid for one attempt to buy.
public struct OfferSigner: Sendable {
    private let key: InAppPurchaseKey
    private let bundleID: String
    private let clock: @Sendable () -> Instant
    private let entropy: @Sendable (Int) -> [UInt8]

    /// - Parameter entropy: returns the requested number of unpredictable bytes.
    public init(
        key: InAppPurchaseKey, bundleID: String, clock: @escaping @Sendable () -> Instant,
        entropy: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.key = key
        self.bundleID = bundleID
        self.clock = clock
        self.entropy = entropy
    }

    /// The original format: seven texts separated by U+2063, signed with ECDSA over SHA-256.
    ///
    /// - Throws: if the key fails to sign, or if the configured bundle id or key id contains the separator.
    public func signature(for offer: PromotionalOffer) throws(SigningError) -> PromotionalOfferSignature {
        let nonce = UniqueID(random: entropy(16))
        let now = clock()
        let fields = [
            bundleID, key.keyID, offer.productID.text, offer.offerID, offer.account, nonce.description,
            String(now.milliseconds),
        ]
        // The offer's own texts were validated when it was created; these two come from the configuration.
        guard fields.allSatisfy({ !$0.unicodeScalars.contains(Self.separator) }) else {
            throw SigningError("the bundle id or the key id holds U+2063")
        }
        let message = fields.joined(separator: String(Character(Self.separator)))
        let signature = try key.privateKey.signSHA256(Array(message.utf8))
        return PromotionalOfferSignature(
            keyID: key.keyID, nonce: nonce, timestamp: now, signature: Base64.encode(signature))
    }

    /// The JWS, for StoreKit 2's `promotionalOffer(_:compactJWS:)`.
    public func token(for offer: PromotionalOffer) throws(SigningError) -> String {
        var claims: [String: JSONValue] = [
            "productId": .string(offer.productID.text), "offerIdentifier": .string(offer.offerID),
        ]
        claims["transactionId"] = offer.transactionID.map { .string($0.text) }
        return try token(audience: "promotional-offer", claims)
    }

    /// The JWS for StoreKit 2's `introductoryOfferEligibility(compactJWS:)`.
    public func token(for eligibility: IntroductoryEligibility) throws(SigningError) -> String {
        try token(
            audience: "introductory-offer-eligibility",
            [
                "productId": .string(eligibility.productID.text),
                "allowIntroductoryOffer": .bool(eligibility.isAllowed),
                "transactionId": .string(eligibility.transactionID.text),
            ])
    }

    /// The JWS for an Advanced Commerce purchase.
    public func token(for request: AdvancedCommerceRequest) throws(SigningError) -> String {
        try token(audience: "advanced-commerce-api", ["request": .string(Base64.encode(request.json))])
    }

    private static let separator: Unicode.Scalar = "\u{2063}"

    private func token(audience: String, _ more: [String: JSONValue]) throws(SigningError) -> String {
        var claims = more
        claims["iss"] = .string(key.issuerID)
        claims["iat"] = .int(clock().seconds)
        claims["aud"] = .string(audience)
        claims["bid"] = .string(bundleID)
        claims["nonce"] = .string(UniqueID(random: entropy(16)).description)
        return try key.token(claims: claims)
    }
}

/// A promotional offer to be signed for a customer (facts/business-rules §9). The app's backend decides which customers
/// may use it; Apple only verifies the signature.
public struct PromotionalOffer: Sendable, Hashable {
    /// The auto-renewable subscription on offer.
    public let productID: ProductID
    /// The offer's id in App Store Connect: 1 to 100 visible ASCII characters.
    public let offerID: String
    /// The `appAccountToken` or `applicationUsername` of the purchase, in lower case, at most 255 bytes; empty if it
    /// has none. Used in the original format only.
    public let account: String
    /// Any transaction of the customer, or the `appTransactionId`. Used in the JWS only, where it is optional and
    /// recommended.
    public let transactionID: TransactionID?

    /// - Throws: the text that cannot be part of an offer, with the reason.
    public init(
        productID: ProductID, offerID: String, account: String = "", transactionID: TransactionID? = nil
    ) throws(InvalidRequestError) {
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

/// A promotional offer's signature in the original format, for `SKPaymentDiscount` and StoreKit 2's
/// `promotionalOffer(offerID:keyID:nonce:signature:timestamp:)` (facts/storekit-client).
///
/// It is valid for one attempt to buy, successful or not, and for 24 hours (facts/limits §4). Request a new one for
/// each attempt.
public struct PromotionalOfferSignature: Sendable, Hashable {
    public let keyID: String
    /// Sent in lower case.
    public let nonce: UniqueID
    /// The time of signing; StoreKit takes its milliseconds.
    public let timestamp: Instant
    /// Base64 of the ECDSA signature in DER. StoreKit 1 takes the text, StoreKit 2 the bytes.
    public let signature: String

    public static let lifetime: Int64 = 24 * 3_600

    /// The time from which Apple refuses the signature.
    public var expiresAt: Instant { timestamp.adding(seconds: Self.lifetime) }
}

/// The developer's statement whether a customer may use a subscription's introductory offer. It overrides StoreKit's
/// own decision (facts/business-rules §9).
public struct IntroductoryEligibility: Sendable, Hashable {
    public let productID: ProductID
    public let isAllowed: Bool
    /// Any transaction of the customer; for a customer without purchases, the `appTransactionId`.
    public let transactionID: TransactionID

    /// - Throws: the text that is invalid, with the reason.
    public init(productID: ProductID, isAllowed: Bool, transactionID: TransactionID) throws(InvalidRequestError) {
        self.productID = try OfferText.product(productID)
        self.isAllowed = isAllowed
        self.transactionID = try OfferText.transaction(transactionID)
    }
}

/// A request of the Advanced Commerce API that an app passes to StoreKit (facts/business-rules §9). Till signs the JSON
/// unchanged; its content is between the developer and Apple.
public struct AdvancedCommerceRequest: Sendable, Hashable {
    /// A JSON object, in UTF-8.
    public let json: [UInt8]

    /// Till's own limit in bytes: Apple documents none.
    public static let limit = 64 << 10

    /// - Throws: if the bytes are not a JSON object, or longer than 64 KiB.
    public init(json: [UInt8]) throws(InvalidRequestError) {
        guard json.count <= Self.limit else { throw InvalidRequestError("request", .tooLong) }
        guard let value = try? JSONValue(decoding: json), value.object != nil else {
            throw InvalidRequestError("request", .notJSON)
        }
        self.json = json
    }
}
