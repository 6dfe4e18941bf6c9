/// The type of a product, as Apple signs it (facts/business-rules §1).
public enum ProductType: String, Hashable, Sendable, Codable, CaseIterable {
    case consumable = "Consumable"
    case nonConsumable = "Non-Consumable"
    case autoRenewable = "Auto-Renewable Subscription"
    case nonRenewing = "Non-Renewing Subscription"
    /// Historic: free of charge, no longer in App Store Connect. Supported for reading old data; never sold.
    case freeSubscription = "Free Subscription"

    /// Only these types support a quantity other than 1 (SKPayment.quantity).
    public var allowsQuantity: Bool { self == .consumable || self == .nonRenewing }
}

/// What a purchase does for its buyer. The titles of an order name it.
public enum PurchaseKind: String, Hashable, Sendable, Codable, CaseIterable {
    /// It adds points to a wallet.
    case topUp
    /// A subscription, a plan or a permanent entitlement becomes active.
    case access
}

/// A product of the shop, and what its buyer receives.
public struct CatalogProduct: Hashable, Sendable, Codable, Identifiable {
    /// The id in App Store Connect; never changes.
    public let id: ProductID
    public let type: ProductType
    public let names: ProductNames
    /// The list price, for the shop page and for reports. The price paid is the one that Apple signs; the price never
    /// blocks a grant.
    public let price: Money
    /// List prices in the currencies of other storefronts, in minor units: `{"CNY": 4800}`. An amount paid for a plan
    /// in one of these currencies counts in proportion to this price. Empty if the shop lists none.
    public let prices: [String: Int64]
    /// Points per unit, by kind of points: `{"points": 60}`. Empty for products without points.
    public let points: [String: Int64]
    /// The permanent entitlement that a buyer receives, if any.
    public let entitlement: String?
    /// The plan that the product sells, if any.
    public let plan: PlanTerms?
    /// The ids of the promotional offers that the app may request with a user's token, as in App Store Connect. Every
    /// other offer is the backend's to request.
    public let promotionalOffers: [String]

    /// What a purchase of the product does for its buyer.
    public var purchaseKind: PurchaseKind { points.isEmpty ? .access : .topUp }

    public init(
        id: ProductID, type: ProductType, names: ProductNames, price: Money, points: [String: Int64] = [:],
        entitlement: String? = nil, plan: PlanTerms? = nil, prices: [String: Int64] = [:],
        promotionalOffers: [String] = []
    ) {
        self.id = id
        self.type = type
        self.names = names
        self.price = price
        self.prices = prices
        self.points = points
        self.entitlement = entitlement
        self.plan = plan
        self.promotionalOffers = promotionalOffers
    }

    /// A product with a name in both languages of Till's own sentences.
    public init(
        id: ProductID, type: ProductType, names: LocalizedText, price: Money, points: [String: Int64] = [:],
        entitlement: String? = nil, plan: PlanTerms? = nil, prices: [String: Int64] = [:],
        promotionalOffers: [String] = []
    ) {
        self.init(
            id: id, type: type, names: ProductNames(names), price: price, points: points, entitlement: entitlement,
            plan: plan, prices: prices, promotionalOffers: promotionalOffers)
    }

    /// Omits `prices` and `promotionalOffers` if they are empty.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(type, forKey: .type)
        try container.encode(names, forKey: .names)
        try container.encode(price, forKey: .price)
        if !prices.isEmpty { try container.encode(prices, forKey: .prices) }
        try container.encode(points, forKey: .points)
        try container.encodeIfPresent(entitlement, forKey: .entitlement)
        try container.encodeIfPresent(plan, forKey: .plan)
        if !promotionalOffers.isEmpty { try container.encode(promotionalOffers, forKey: .promotionalOffers) }
    }

    private enum CodingKeys: String, CodingKey {
        case id, type, names, price, prices, points, entitlement, plan, promotionalOffers
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(ProductID.self, forKey: .id)
        type = try container.decode(ProductType.self, forKey: .type)
        names = try container.decode(ProductNames.self, forKey: .names)
        price = try container.decode(Money.self, forKey: .price)
        prices = try container.decodeIfPresent([String: Int64].self, forKey: .prices) ?? [:]
        points = try container.decodeIfPresent([String: Int64].self, forKey: .points) ?? [:]
        entitlement = try container.decodeIfPresent(String.self, forKey: .entitlement)
        plan = try container.decodeIfPresent(PlanTerms.self, forKey: .plan)
        promotionalOffers = try container.decodeIfPresent([String].self, forKey: .promotionalOffers) ?? []
    }

    /// The points for a quantity, with kinds in alphabetical order. Nil if an amount overflows, which the catalogue's
    /// checks prevent.
    public func points(quantity: Int) -> [(kind: String, amount: Int64)]? {
        var counted: [(kind: String, amount: Int64)] = []
        for (kind, each) in points.sorted(by: { $0.key < $1.key }) {
            let (amount, overflow) = each.multipliedReportingOverflow(by: Int64(quantity))
            guard !overflow else { return nil }
            counted.append((kind, amount))
        }
        return counted
    }
}
