import TillBilling

/// Checks what a customer brings to get a lower price (facts/business-rules §9). Who is eligible for what kind of offer
/// is the subscription's business; here it is only whether the paper is genuine.
enum OfferDesk {
    /// The developer's signature over a promotional offer: genuine, for this purchase, not 24 hours old, not used
    /// before. Uses it up, whatever becomes of the purchase.
    /// - Returns: why not; nil if it is good.
    static func check(
        _ signature: OfferSignature, offer identifier: String, of request: PurchaseRequest, _ turn: Turn
    ) throws -> StoreRefusal? {
        guard !identifier.isEmpty else { return .missingOfferParameters("identifier") }
        let offers = try ProductTable.find(request.productID, turn.session)?.offers(.promotional) ?? []
        guard offers.contains(where: { $0.identifier == identifier }) else {
            return .unknownOffer(identifier, product: request.productID.text)
        }
        let paper = OfferPaper(request: request, developer: try DeveloperKey(turn.session), turn: turn)
        return try paper.check(signature, offer: identifier)
    }

    /// The code and the offer behind it, if it is one of this app and may still be redeemed. Nothing is used up.
    static func find(
        _ text: String, of purchase: Purchase, _ turn: Turn
    ) throws -> Result<(code: OfferCode, offer: ProductOffer), StoreRefusal> {
        let found = try CodeCounter.find(text, for: purchase.product, account: purchase.account.name, turn)
        if case .success(let value) = found, value.code.batch.bundleID != purchase.request.bundleID {
            return .failure(.unknownCode(text))
        }
        return found
    }

    /// What the developer's signed word says about the introductory offer: true or false; a refusal if it is not
    /// genuine.
    static func introductoryEligibility(
        _ token: String, of request: PurchaseRequest, _ turn: Turn
    ) throws -> Result<Bool, StoreRefusal> {
        let paper = OfferPaper(request: request, developer: try DeveloperKey(turn.session), turn: turn)
        return try paper.introductoryEligibility(token)
    }

    /// What a one-time purchase may be bought with: a code for a lower price, and nothing else.
    static func offer(
        _ offer: PurchaseRequest.Offer, of purchase: Purchase, _ turn: Turn
    ) throws -> Result<ProductOffer, StoreRefusal> {
        let product = purchase.product
        let text: String
        switch offer {
        case .code(let code): text = code
        case .promotional(let identifier, _), .winBack(let identifier):
            return .failure(.unknownOffer(identifier, product: product.id.text))
        }
        let found: (code: OfferCode, offer: ProductOffer)
        switch try find(text, of: purchase, turn) {
        case .success(let value): found = value
        case .failure(let refusal): return .failure(refusal)
        }
        // Asked before the code is gone: a customer who can't use it here keeps it.
        guard let price = found.offer.prices[purchase.storefront] else {
            return .failure(.notForSale(product: product.id.text, storefront: purchase.storefront))
        }
        guard found.offer.discount == .oneTime, price.currency == purchase.price.currency,
            price.amount >= 0, price.amount < purchase.price.amount
        else { return .failure(.wrongOfferPrice(product: product.id.text)) }
        try CodeCounter.use(found.code, account: purchase.account.name, turn)
        return .success(found.offer)
    }

    /// A code redeemed outside the app, in the App Store: nobody gives an `appAccountToken` there.
    static func redeemOutside(
        _ code: String, account: String, bundleID: String, _ turn: Turn
    ) throws -> Result<PurchaseResult, StoreRefusal> {
        guard let found = try OfferCodeTable.find(code, turn.session), found.batch.bundleID == bundleID else {
            return .failure(.unknownCode(code))
        }
        var request = PurchaseRequest(bundleID: bundleID, productID: found.batch.productID)
        request.account = account
        request.offer = .code(found.text)
        request.outcome = .purchased
        return try PaymentSheet.pay(request, turn)
    }
}
