import TillBilling

extension StoreProduct {
    /// The products of LearnPoints, and of a new store: packs of points at the classic tiers' prices, one product of
    /// each other kind, and a membership by the month (level 2) or the year (level 1). The yearly one has an offer of
    /// each kind.
    public static func sampleCatalog(bundleID: String) -> [StoreProduct] {
        [
            SampleProduct("points60", .consumable, "60 points", "60 学点", fen: 600, cents: 99),
            SampleProduct("points300", .consumable, "300 points", "300 学点", fen: 3_000, cents: 499),
            SampleProduct("points680", .consumable, "680 points", "680 学点", fen: 6_800, cents: 999),
            SampleProduct("points1280", .consumable, "1,280 points", "1280 学点", fen: 12_800, cents: 1_999),
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
        ].map { $0.product(of: bundleID, note: LocalizedText(en: "For LearnPoints.", zh: "用于 LearnPoints。")) }
    }

    /// The eight products of a cloud service: Basic and Premium, by the month and the year, each bought once or
    /// renewed. The renewed ones form one subscription group, with Premium on the higher level, and have an offer code
    /// for a free month.
    public static func samplePlans(bundleID: String) -> [StoreProduct] {
        let plans = [
            SamplePlan("basic", 2, .month, "Basic Monthly", "基础版月付", "基础版连续包月", fen: 1_800, cents: 299),
            SamplePlan("basic", 2, .year, "Basic Annual", "基础版年付", "基础版连续包年", fen: 19_800, cents: 2_999),
            SamplePlan("premium", 1, .month, "Premium Monthly", "高级版月付", "高级版连续包月", fen: 4_500, cents: 699),
            SamplePlan("premium", 1, .year, "Premium Annual", "高级版年付", "高级版连续包年", fen: 44_800, cents: 6_999),
        ]
        return (plans.map(\.boughtOnce) + plans.map(\.renewed)).map {
            $0.product(of: bundleID, note: LocalizedText(en: "Cloud storage for cameras.", zh: "摄像头云存储。"))
        }
    }
}

/// One plan of the cloud service, which is sold as two products.
private struct SamplePlan {
    let boughtOnce: SampleProduct
    let renewed: SampleProduct

    init(
        _ rank: String, _ level: Int64, _ period: SubscriptionPeriod, _ english: String, _ chinese: String,
        _ chineseRenewed: String, fen: Int64, cents: Int64
    ) {
        let id = "\(rank)_\(period == .year ? "annual" : "monthly")"
        boughtOnce = SampleProduct(id, .consumable, english, chinese, fen: fen, cents: cents)
        renewed = SampleProduct(
            "\(id)_auto", .autoRenewable, "\(english) (renews)", chineseRenewed, fen: fen, cents: cents,
            SubscriptionTerms(groupID: "21000002", groupName: "Cloud plans", level: level, period: period),
            [ProductOffer(kind: .code, identifier: "welcome", discount: .freeTrial, period: OfferPeriod(1, .month))])
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

    /// - Parameter note: the description.
    func product(of bundleID: String, note: LocalizedText) -> StoreProduct {
        var product = StoreProduct(
            id: ProductID("\(bundleID).\(suffix)"), kind: kind, name: name.en, prices: prices, subscription: terms)
        product.offers = offers
        product.isFamilyShareable = suffix == "library" || suffix == "member.yearly"
        product.localizations = [
            StoreProduct.Localization(locale: "en-US", displayName: name.en, description: note.en),
            StoreProduct.Localization(locale: "zh-Hans", displayName: name.zh, description: note.zh),
        ]
        return product
    }
}
