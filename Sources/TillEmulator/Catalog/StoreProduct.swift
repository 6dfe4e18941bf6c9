import TillBilling

extension ProductType {
    /// What the emulated store sells: every type but the one that Apple gave up.
    static let sold = allCases.filter { $0 != .freeSubscription }
}

/// One product on sale in the emulated store.
public struct StoreProduct: Sendable, Hashable {
    public var id: ProductID
    public var kind: ProductType
    /// The reference name of App Store Connect.
    public var name: String
    /// The price of one, by storefront (ISO 3166-1 alpha-3). Where there is no price it is not for sale.
    public var prices: [String: Money]
    /// Of auto-renewables, and of them only.
    public var subscription: SubscriptionTerms?
    public var offers: [ProductOffer] = []
    /// Whether the members of a family get it too: non-consumables and auto-renewables only.
    public var isFamilyShareable = false
    public var state = ProductState.approved
    /// Whether it was submitted together with an app version, whose approval it then waits for.
    public var isWithAppVersion = false
    /// What the store shows, by locale: `en-US`, `zh-Hans`.
    public var localizations: [Localization] = []
    /// App Review asks for a screenshot before it looks at anything (facts/business-rules §2).
    public var hasReviewScreenshot = true
    /// The product's own number in the store; 0 until the store gives it one.
    public var appleID: Int64 = 0

    public struct Localization: Sendable, Hashable, Codable {
        public var locale: String
        public var displayName: String
        public var description: String

        public init(locale: String, displayName: String, description: String) {
            self.locale = locale
            self.displayName = displayName
            self.description = description
        }
    }

    public init(
        id: ProductID, kind: ProductType, name: String, prices: [String: Money], subscription: SubscriptionTerms? = nil
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.prices = prices
        self.subscription = subscription
    }

    /// Whether customers get it: in production once it is approved and has a price somewhere, in sandbox from Ready to
    /// Submit on (facts/business-rules §3).
    public func isSold(in environment: Environment) -> Bool {
        switch environment {
        case .production: state == .approved && !prices.isEmpty
        case .sandbox: !state.isIncomplete && !prices.isEmpty
        }
    }

    func offers(_ kind: ProductOffer.Kind) -> [ProductOffer] { offers.filter { $0.kind == kind } }
}
