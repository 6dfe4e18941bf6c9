import TillBilling
import TillCrypto
import TillJSON

/// Signs offers with the app's In-App Purchase key, in the form that StoreKit 1 began with and in the newer one, a JWS
/// (facts/business-rules §9). Every signature has a nonce of its own and is for one attempt to buy.
public struct OfferSigner: Sendable {
    private let key: InAppPurchaseKey
    private let bundleID: String
    private let clock: @Sendable () -> Instant
    private let entropy: @Sendable (Int) -> [UInt8]

    /// - Parameter entropy: as many unpredictable bytes as asked for.
    public init(
        key: InAppPurchaseKey, bundleID: String, clock: @escaping @Sendable () -> Instant,
        entropy: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.key = key
        self.bundleID = bundleID
        self.clock = clock
        self.entropy = entropy
    }

    /// The classic form: seven texts with U+2063 between them, signed with ECDSA over SHA-256.
    ///
    /// - Throws: if the key fails to sign, or if the configured bundle id or key id holds a separator itself.
    public func signature(for offer: PromotionalOffer) throws(IssuingFault) -> PromotionalOfferSignature {
        let nonce = UniqueID(random: entropy(16))
        let now = clock()
        let fields = [
            bundleID, key.keyID, offer.productID.text, offer.offerID, offer.account, nonce.description,
            String(now.milliseconds),
        ]
        // The offer's texts are checked where it is made; these two come from a configuration.
        guard fields.allSatisfy({ !$0.unicodeScalars.contains(Self.separator) }) else {
            throw IssuingFault("the bundle id or the key id holds U+2063")
        }
        let message = fields.joined(separator: String(Character(Self.separator)))
        let signature = try key.privateKey.signSHA256(Array(message.utf8))
        return PromotionalOfferSignature(
            keyID: key.keyID, nonce: nonce, timestamp: now, signature: Base64.encode(signature))
    }

    /// The form as JWS, for StoreKit 2's `promotionalOffer(_:compactJWS:)`.
    public func token(for offer: PromotionalOffer) throws(IssuingFault) -> String {
        var claims: [String: JSONValue] = [
            "productId": .string(offer.productID.text), "offerIdentifier": .string(offer.offerID),
        ]
        claims["transactionId"] = offer.transactionID.map { .string($0.text) }
        return try token(audience: "promotional-offer", claims)
    }

    /// For StoreKit 2's `introductoryOfferEligibility(compactJWS:)`.
    public func token(for eligibility: IntroductoryEligibility) throws(IssuingFault) -> String {
        try token(
            audience: "introductory-offer-eligibility",
            [
                "productId": .string(eligibility.productID.text),
                "allowIntroductoryOffer": .bool(eligibility.isAllowed),
                "transactionId": .string(eligibility.transactionID.text),
            ])
    }

    /// For an Advanced Commerce purchase.
    public func token(for request: AdvancedCommerceRequest) throws(IssuingFault) -> String {
        try token(audience: "advanced-commerce-api", ["request": .string(Base64.encode(request.json))])
    }

    private static let separator: Unicode.Scalar = "\u{2063}"

    private func token(audience: String, _ more: [String: JSONValue]) throws(IssuingFault) -> String {
        var claims = more
        claims["iss"] = .string(key.issuerID)
        claims["iat"] = .int(clock().seconds)
        claims["aud"] = .string(audience)
        claims["bid"] = .string(bundleID)
        claims["nonce"] = .string(UniqueID(random: entropy(16)).description)
        return try key.token(claims: claims)
    }
}

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

/// The developer's own word on whether a customer may have the introductory offer of a subscription, in place of what
/// StoreKit would decide (facts/business-rules §9).
public struct IntroductoryEligibility: Sendable, Hashable {
    public let productID: ProductID
    public let isAllowed: Bool
    /// Any transaction of the customer; for one who never bought anything, the `appTransactionId`.
    public let transactionID: TransactionID

    /// - Throws: which text can't be part of it, and why.
    public init(productID: ProductID, isAllowed: Bool, transactionID: TransactionID) throws(OfferRefusal) {
        self.productID = try OfferText.product(productID)
        self.isAllowed = isAllowed
        self.transactionID = try OfferText.transaction(transactionID)
    }
}

/// A request of the Advanced Commerce API that an app hands to StoreKit (facts/business-rules §9). What stands in it is
/// between the developer and Apple; here it is JSON, and signed as it is.
public struct AdvancedCommerceRequest: Sendable, Hashable {
    /// An object, in UTF-8.
    public let json: [UInt8]

    /// Of ours: Apple names none.
    public static let limit = 64 << 10

    /// - Throws: if it is no JSON object, or longer than 64 KiB.
    public init(json: [UInt8]) throws(OfferRefusal) {
        guard json.count <= Self.limit else { throw OfferRefusal(.request, .tooLong) }
        guard let value = try? JSONValue(decoding: json), value.object != nil else {
            throw OfferRefusal(.request, .notJSON)
        }
        self.json = json
    }
}
