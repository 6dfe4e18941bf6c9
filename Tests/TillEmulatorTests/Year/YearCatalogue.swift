import TillAppStore
import TillBilling

@testable import TillEmulator

/// The year's products: three groups of subscriptions with every kind of offer, and all kinds of one-time purchases.
enum YearCatalogue {
    static let bundleID = "com.example.learnpoints"
    static let storefronts = ["USA", "CHN", "DEU", "JPN"]

    /// A price in each storefront, derived from the first one's.
    static func prices(_ cents: Int64) -> [String: Money] {
        [
            "USA": Money(amount: cents, currency: Currency("USD")),
            "CHN": Money(amount: cents * 7, currency: Currency("CNY")),
            "DEU": Money(amount: cents + 20, currency: Currency("EUR")),
            "JPN": Money(amount: cents * 3 / 2, currency: Currency("JPY")),
        ]
    }

    private static func product(
        _ id: String, _ group: String, level: Int64, _ period: SubscriptionPeriod, _ cents: Int64,
        isShared: Bool = false, _ offers: [ProductOffer] = []
    ) -> StoreProduct {
        var product = StoreProduct(
            id: ProductID(id), kind: .autoRenewable, name: id, prices: prices(cents),
            subscription: SubscriptionTerms(groupID: group, level: level, period: period))
        product.offers = offers
        product.isFamilyShareable = isShared
        return product
    }

    private static func once(
        _ id: String, _ kind: ProductType, _ cents: Int64, isShared: Bool = false, _ offers: [ProductOffer] = []
    ) -> StoreProduct {
        var product = StoreProduct(id: ProductID(id), kind: kind, name: id, prices: prices(cents))
        product.isFamilyShareable = isShared
        product.offers = offers
        return product
    }

    private static func steps(
        _ kind: ProductOffer.Kind, _ id: String?, _ period: OfferPeriod, _ periods: Int64, _ cents: Int64
    ) -> ProductOffer {
        ProductOffer(
            kind: kind, identifier: id, discount: .payAsYouGo, period: period, periods: periods, prices: prices(cents))
    }

    private static func free(_ kind: ProductOffer.Kind, _ id: String?, _ period: OfferPeriod) -> ProductOffer {
        ProductOffer(kind: kind, identifier: id, discount: .freeTrial, period: period)
    }

    private static func ahead(
        _ kind: ProductOffer.Kind, _ id: String?, _ period: OfferPeriod, _ cents: Int64
    ) -> ProductOffer {
        ProductOffer(kind: kind, identifier: id, discount: .payUpFront, period: period, prices: prices(cents))
    }

    private static let club = "21000001"
    private static let family = "21000002"
    private static let extra = "21000003"
    private static let plan = "21000004"
    private static let month = OfferPeriod(1, .month)

    static let products = usual + plans

    private static let usual: [StoreProduct] = [
        product(
            "gold.month", club, level: 1, .month, 999,
            [
                steps(.promotional, "up", month, 1, 499), steps(.code, "gold-code", month, 2, 599),
                steps(.winBack, "gold-back", month, 1, 199),
            ]),
        product("gold.year", club, level: 1, .year, 9_999),
        product(
            "silver.month", club, level: 2, .month, 499,
            [
                steps(.promotional, "half", month, 2, 249), free(.promotional, "gift", month),
                ahead(.promotional, "quarter", OfferPeriod(3, .month), 999), steps(.code, "silver-code", month, 3, 199),
                free(.code, "silver-gift", OfferPeriod(2, .week)), steps(.winBack, "back", month, 2, 99),
                free(.winBack, "back-gift", OfferPeriod(1, .week)),
            ]),
        product("silver.twin", club, level: 2, .month, 499),
        product("silver.year", club, level: 2, .year, 4_999),
        product("bronze.week", club, level: 3, .week, 99, [steps(.promotional, "down", OfferPeriod(1, .week), 2, 49)]),
        product("trial.month", club, level: 2, .month, 499, [free(.introductory, nil, OfferPeriod(7, .day))]),
        product("steps.month", club, level: 2, .month, 499, [steps(.introductory, nil, month, 3, 99)]),
        product("ahead.month", club, level: 2, .month, 499, [ahead(.introductory, nil, OfferPeriod(3, .month), 599)]),
        product("home.month", family, level: 2, .month, 1_299, isShared: true),
        product("home.year", family, level: 2, .year, 12_999, isShared: true),
        product("house.month", family, level: 1, .month, 1_799, isShared: true),
        product("alone.month", family, level: 3, .month, 699),
        product("flash.week", extra, level: 1, .week, 199),
        once(
            "points60", .consumable, 99,
            [ProductOffer(kind: .code, identifier: "points-code", discount: .oneTime, prices: prices(49))]),
        once("points300", .consumable, 499),
        once("library", .nonConsumable, 1_999, isShared: true),
        once("theme", .nonConsumable, 299),
        once("pass", .nonRenewing, 2_999),
    ]

    /// The plans of a cloud service, each bought once or renewing.
    private static let plans: [StoreProduct] = [
        ("basic_monthly", 299, SubscriptionPeriod.month, 2), ("basic_annual", 2_999, .year, 2),
        ("premium_monthly", 699, .month, 1), ("premium_annual", 6_999, .year, 1),
    ].flatMap { (id: String, cents: Int64, period: SubscriptionPeriod, level: Int64) in
        [once(id, .consumable, cents), product(id + "_auto", plan, level: level, period, cents)]
    }
}
