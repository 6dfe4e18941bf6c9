import TillBilling

/// Selects the offer of a subscription purchase and its price (facts/business-rules §9).
enum SubscriptionOffer {
    /// The charges of an offer, starting with the first. Nil if it has no price in this storefront.
    static func terms(
        of offer: ProductOffer, storefront: String, listPrice: Money
    ) -> StoreSubscription.RunningOffer? {
        let isFree = offer.discount == .freeTrial
        guard let price = isFree ? Money(amount: 0, currency: listPrice.currency) : offer.prices[storefront],
            offer.discount != .oneTime
        else { return nil }
        let (charges, periods) = offer.discount == .payAsYouGo ? (max(1, offer.periods), nil) : (1, offer.period)
        return StoreSubscription.RunningOffer(
            offer: StoreTransaction.Offer(
                kind: offer.kind, identifier: offer.identifier, discount: offer.discount,
                period: offer.period?.times(max(1, offer.periods))),
            price: price, period: periods, charges: charges)
    }

    /// The offer of this purchase, if any. Its signature or code is used up.
    ///
    /// - Parameter known: the customer's current or former subscription in the group.
    static func choose(
        _ purchase: Purchase, known: StoreSubscription?, _ change: StoreChange
    ) throws -> Result<StoreSubscription.RunningOffer?, StoreRefusal> {
        let offer: ProductOffer
        switch purchase.request.offer {
        // A commitment starts without an offer.
        case nil where purchase.request.monthlyBilling: return .success(nil)
        case nil: return try introductory(purchase, known: known, change)
        case .promotional(let identifier, let signature):
            // The signature is verified first and used up by any attempt; without a valid signature the caller learns
            // nothing about eligibility.
            if let refusal = try OfferChecks.check(signature, offer: identifier, of: purchase.request, change) {
                return .failure(refusal)
            }
            guard let found = find(.promotional, identifier, purchase.product) else {
                return .failure(.unknownOffer(identifier, product: purchase.product.id.text))
            }
            guard known != nil else { return .failure(.notEligible(offer: identifier)) }
            offer = found
        case .winBack(let identifier):
            guard let found = find(.winBack, identifier, purchase.product) else {
                return .failure(.unknownOffer(identifier, product: purchase.product.id.text))
            }
            guard known?.state == .expired else { return .failure(.notEligible(offer: identifier)) }
            offer = found
        case .code(let code): return try redeem(code, purchase, known: known, change)
        }
        guard let terms = terms(of: offer, storefront: purchase.storefront, listPrice: purchase.price) else {
            return .failure(.notForSale(product: purchase.product.id.text, storefront: purchase.storefront))
        }
        return .success(terms)
    }

    /// Checks existence, eligibility and price in this order, so a customer who can't use a code keeps it.
    private static func redeem(
        _ text: String, _ purchase: Purchase, known: StoreSubscription?, _ change: StoreChange
    ) throws -> Result<StoreSubscription.RunningOffer?, StoreRefusal> {
        let found: (code: OfferCode, offer: ProductOffer)
        switch try OfferChecks.find(text, of: purchase, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let value): found = value
        }
        guard found.offer.isFor(customer(known)) else { return .failure(.codeNotForCustomer(found.code.text)) }
        guard let terms = terms(of: found.offer, storefront: purchase.storefront, listPrice: purchase.price) else {
            return .failure(.notForSale(product: purchase.product.id.text, storefront: purchase.storefront))
        }
        try OfferCodeIssuer.use(found.code, account: purchase.account.name, change)
        return .success(terms)
    }

    /// A refunded subscriber counts as expired (our choice).
    private static func customer(_ known: StoreSubscription?) -> ProductOffer.Customer {
        guard let known else { return .new }
        return known.isGoingOn ? .existing : .expired
    }

    private static func find(_ kind: ProductOffer.Kind, _ identifier: String, _ product: StoreProduct) -> ProductOffer?
    {
        product.offers(kind).first { $0.identifier == identifier }
    }

    /// Whether this customer may have the group's introductory offer: once, and not while subscribed.
    static func isNew(_ known: StoreSubscription?) -> Bool {
        known.map { $0.hadIntroductory == nil && !$0.isGoingOn } ?? true
    }

    /// Once per group and customer, and not while subscribed; the developer's signed token overrides both.
    private static func introductory(
        _ purchase: Purchase, known: StoreSubscription?, _ change: StoreChange
    ) throws -> Result<StoreSubscription.RunningOffer?, StoreRefusal> {
        var isEligible = isNew(known)
        if let token = purchase.request.introductoryEligibility {
            switch try OfferChecks.introductoryEligibility(token, of: purchase.request, change) {
            case .failure(let refusal): return .failure(refusal)
            case .success(let word): isEligible = word
            }
        }
        guard isEligible, let offer = purchase.product.offers(.introductory).first else { return .success(nil) }
        // Without a price in this storefront the offer is not available here.
        return .success(terms(of: offer, storefront: purchase.storefront, listPrice: purchase.price))
    }

    /// The win-back offers for a former subscriber, best first: the cheapest, and of equal prices the longest.
    static func winBacks(of product: StoreProduct?, storefront: String) -> [String] {
        guard let product, product.isOnSale, let price = product.prices[storefront] else { return [] }
        let offers = product.offers(.winBack).compactMap { offer in
            terms(of: offer, storefront: storefront, listPrice: price).flatMap { terms in
                offer.identifier.map { (identifier: $0, price: terms.price.amount, charges: terms.charges) }
            }
        }
        return offers.sorted { ($0.price, -$0.charges, $0.identifier) < ($1.price, -$1.charges, $1.identifier) }
            .map(\.identifier)
    }
}

extension StoreProduct {
    /// Whether it can renew. The sandbox also sells products before review; a product removed from sale is never sold
    /// (facts/business-rules §3).
    var isOnSale: Bool { state != .developerRemovedFromSale && state != .removedFromSale }
}
