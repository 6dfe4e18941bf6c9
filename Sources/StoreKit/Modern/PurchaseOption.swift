import Foundation

extension Product {
    /// What a purchase is made with besides its product.
    public struct PurchaseOption: Hashable, Sendable {
        enum Content: Sendable {
            case appAccountToken(UUID)
            case quantity(Int)
            case asksToBuy(Bool)
            case storefrontChange(@Sendable (Storefront) -> Bool)
            case offer(PurchaseQuestion.Offer)
            case introductoryEligibility(String)
            case custom(key: String)
        }

        let content: Content
        /// What tells one option from another; a closure can't.
        private let name: String

        init(_ content: Content, _ name: String) {
            self.content = content
            self.name = name
        }

        public static func == (left: PurchaseOption, right: PurchaseOption) -> Bool { left.name == right.name }
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }
}

extension Product.PurchaseOption {
    /// Comes back in the transaction: whose purchase it is.
    public static func appAccountToken(_ token: UUID) -> Product.PurchaseOption {
        Product.PurchaseOption(.appAccountToken(token), "appAccountToken \(token)")
    }

    /// 1 to 10, of consumables and non-renewing subscriptions.
    public static func quantity(_ quantity: Int) -> Product.PurchaseOption {
        Product.PurchaseOption(.quantity(quantity), "quantity \(quantity)")
    }

    /// Whether a parent is asked, whoever the account belongs to.
    public static func simulatesAskToBuyInSandbox(_ simulateAskToBuy: Bool) -> Product.PurchaseOption {
        Product.PurchaseOption(.asksToBuy(simulateAskToBuy), "simulatesAskToBuyInSandbox \(simulateAskToBuy)")
    }

    /// Asked if the account has moved to another storefront since the product was fetched; without it the purchase
    /// goes on.
    public static func onStorefrontChange(
        shouldContinuePurchase: @escaping @Sendable (Storefront) -> Bool
    ) -> Product.PurchaseOption {
        Product.PurchaseOption(.storefrontChange(shouldContinuePurchase), "onStorefrontChange")
    }

    /// An offer for current and former subscribers, with the developer's signature in the classic form.
    ///
    /// - Parameters:
    ///   - signature: DER.
    ///   - timestamp: milliseconds.
    public static func promotionalOffer(
        offerID: String, keyID: String, nonce: UUID, signature: Data, timestamp: Int
    ) -> Product.PurchaseOption {
        var offer = PurchaseQuestion.Offer(type: "promotional", identifier: offerID)
        offer.signature = PurchaseQuestion.Offer.Signature(
            keyIdentifier: keyID, nonce: nonce, timestamp: Int64(timestamp), signature: signature.base64EncodedString())
        return Product.PurchaseOption(.offer(offer), "promotionalOffer \(offerID) \(nonce)")
    }

    public static func promotionalOffer(
        offerID: String, signature: Product.SubscriptionOffer.Signature
    ) -> Product.PurchaseOption {
        promotionalOffer(
            offerID: offerID, keyID: signature.keyID, nonce: signature.nonce, signature: signature.signature,
            timestamp: signature.timestamp)
    }

    /// The same with the developer's signature as a token.
    public static func promotionalOffer(_ offerID: String, compactJWS: String) -> [Product.PurchaseOption] {
        let offer = PurchaseQuestion.Offer(type: "promotional", identifier: offerID, jws: compactJWS)
        return [Product.PurchaseOption(.offer(offer), "promotionalOffer \(offerID) \(compactJWS)")]
    }

    /// An offer for who left.
    public static func winBackOffer(_ offer: Product.SubscriptionOffer) -> Product.PurchaseOption {
        Product.PurchaseOption(
            .offer(PurchaseQuestion.Offer(type: "winBack", identifier: offer.id)), "winBackOffer \(offer.id ?? "")")
    }

    /// The developer's word on who may have the introductory offer.
    public static func introductoryOfferEligibility(compactJWS: String) -> Product.PurchaseOption {
        Product.PurchaseOption(
            .introductoryEligibility(compactJWS), "introductoryOfferEligibility \(compactJWS)")
    }

    // No effect, as on Apple's platforms (facts/storekit-client B1).

    public static func custom(key: String, value: String) -> Product.PurchaseOption { custom(key) }
    public static func custom(key: String, value: Double) -> Product.PurchaseOption { custom(key) }
    public static func custom(key: String, value: Bool) -> Product.PurchaseOption { custom(key) }
    public static func custom(key: String, value: Data) -> Product.PurchaseOption { custom(key) }

    private static func custom(_ key: String) -> Product.PurchaseOption {
        Product.PurchaseOption(.custom(key: key), "custom \(key)")
    }
}
