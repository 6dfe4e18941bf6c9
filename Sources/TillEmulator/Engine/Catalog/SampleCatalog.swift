import TillBilling

extension StoreProduct {
    /// The products of a new store: packs of points at the classic tiers' prices, one product of each other kind, and a
    /// membership by the month (level 2) or the year (level 1). The yearly one has an offer of each kind.
    public static func sampleCatalog(bundleID: String) -> [StoreProduct] {
        [
            SampleProduct("points60", .consumable, "60 points", "60 学点", fen: 600, cents: 99),
            SampleProduct("points300", .consumable, "300 points", "300 学点", fen: 3_000, cents: 499),
            SampleProduct("points680", .consumable, "680 points", "680 学点", fen: 6_800, cents: 999),
            SampleProduct("library", .nonConsumable, "Library", "书库", fen: 1_800, cents: 299),
            SampleProduct("course", .nonRenewing, "90-day course", "90 天课程", fen: 6_000, cents: 899),
            SampleProduct(
                "member.monthly", .autoRenewable, "Membership, monthly", "会员（月）", fen: 1_800, cents: 299,
                SubscriptionTerms(groupID: "21000001", groupName: "Membership", level: 2, period: .month)),
            SampleProduct(
                "member.yearly", .autoRenewable, "Membership, yearly", "会员（年）", fen: 19_800, cents: 2_999,
                SubscriptionTerms(
                    groupID: "21000001", groupName: "Membership", level: 1, period: .year,
                    allowsMonthlyBilling: true),
                [
                    ProductOffer(kind: .introductory, discount: .freeTrial, period: OfferPeriod(1, .week)),
                    ProductOffer(
                        kind: .promotional, identifier: "loyal", discount: .payAsYouGo, period: OfferPeriod(1, .year),
                        prices: SampleProduct.prices(fen: 9_800, cents: 1_499)),
                    ProductOffer(
                        kind: .code, identifier: "welcome", discount: .payUpFront, period: OfferPeriod(6, .month),
                        prices: SampleProduct.prices(fen: 6_800, cents: 999)),
                    ProductOffer(
                        kind: .winBack, identifier: "comeback", discount: .payUpFront, period: OfferPeriod(1, .year),
                        prices: SampleProduct.prices(fen: 12_800, cents: 1_999)),
                ]),
        ].map { $0.product(of: bundleID) }
    }
}

/// One line of the sample catalogue.
private struct SampleProduct {
    let suffix: String
    let kind: ProductType
    let name: LocalizedText
    let prices: [String: Money]
    let terms: SubscriptionTerms?
    let offers: [ProductOffer]

    init(
        _ suffix: String, _ kind: ProductType, _ english: String, _ chinese: String, fen: Int64, cents: Int64,
        _ terms: SubscriptionTerms? = nil, _ offers: [ProductOffer] = []
    ) {
        self.suffix = suffix
        self.kind = kind
        name = LocalizedText(en: english, zh: chinese)
        prices = Self.prices(fen: fen, cents: cents)
        self.terms = terms
        self.offers = offers
    }

    static func prices(fen: Int64, cents: Int64) -> [String: Money] {
        [
            "CHN": Money(amount: fen, currency: Currency("CNY")),
            "USA": Money(amount: cents, currency: Currency("USD")),
        ]
    }

    func product(of bundleID: String) -> StoreProduct {
        var product = StoreProduct(
            id: ProductID("\(bundleID).\(suffix)"), kind: kind, name: name.en, prices: prices, subscription: terms)
        product.offers = offers
        product.isFamilyShareable = suffix == "library" || suffix == "member.yearly"
        product.localizations = [
            StoreProduct.Localization(locale: "en-US", displayName: name.en, description: "For LearnPoints."),
            StoreProduct.Localization(locale: "zh-Hans", displayName: name.zh, description: "用于 LearnPoints。"),
        ]
        return product
    }
}
