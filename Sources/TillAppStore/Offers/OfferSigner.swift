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
