import TillBilling

/// What a product is, in the words of Apple's signed payloads (facts/jws §4, `type`).
public enum ProductKind: String, Sendable, Hashable, CaseIterable {
    case consumable = "Consumable"
    case nonConsumable = "Non-Consumable"
    case autoRenewable = "Auto-Renewable Subscription"
    case nonRenewing = "Non-Renewing Subscription"

    /// Only these two may be bought several at a time (facts/business-rules §1).
    var allowsQuantity: Bool { self == .consumable || self == .nonRenewing }

    /// Attribute 1707 of a receipt (facts/pkcs7-receipt §3.2).
    var receiptNumber: Int64 {
        switch self {
        case .nonConsumable: 0
        case .consumable: 1
        case .nonRenewing: 2
        case .autoRenewable: 3
        }
    }
}

/// One product on sale in the emulated store.
public struct StoreProduct: Sendable, Hashable {
    public var id: ProductID
    public var kind: ProductKind
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
        id: ProductID, kind: ProductKind, name: String, prices: [String: Money], subscription: SubscriptionTerms? = nil
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
