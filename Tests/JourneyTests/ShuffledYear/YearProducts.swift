import TillBilling

@testable import TillEmulator

/// The server's catalogue for the year's products: points, lasting rights, rights while a subscription runs, and plans
/// whose time the server keeps.
enum YearProducts {
    static let catalog = Catalog(products: YearCatalogue.products.map(product))

    private static func product(_ sold: StoreProduct) -> CatalogProduct {
        let id = sold.id.text
        let type = ProductType(rawValue: sold.kind.rawValue) ?? .consumable
        let price = sold.prices["USA"] ?? Money(amount: 0, currency: Currency("USD"))
        var points: [String: Int64] = [:]
        if id.hasPrefix("points"), let count = Int64(id.dropFirst(6)) { points["points"] = count }
        let isLasting = type == .autoRenewable || type == .nonConsumable
        return CatalogProduct(
            id: sold.id, type: type, names: LocalizedText(en: id, zh: id), price: price, points: points,
            entitlement: isLasting ? sold.subscription.map { "group \($0.groupID)" } ?? id : nil, plan: plan(id))
    }

    private static func plan(_ id: String) -> PlanTerms? {
        let parts = id.split(separator: "_")
        let rank = parts.count > 1 ? String(parts[0]) : id
        let length = id == "pass" || parts.count > 1 && parts[1] == "monthly" ? "P1M" : "P1Y"
        guard id == "pass" || parts.count > 1, let length = PlanLength(length) else { return nil }
        return PlanTerms(id: PlanID(parts.prefix(2).joined(separator: "_")), length: length, rank: rank)
    }

    /// Plans bought once and renewing ones (C4, C11), in addition to the stories of the store's own year.
    static let planStories = YearStories.read(
        """
        lives on plans      | 2 buy basic_monthly; 12 buy premium_monthly; 20 refundonce basic_monthly; \
                              60 buy basic_annual; 90 buy premium_annual; 100 refundonce basic_annual; \
                              130 reverseonce basic_annual; 300 buy basic_monthly 3
        stacks plans        | 3 buy basic_monthly 2; 4 buy basic_monthly; 40 buy premium_monthly 3; \
                              45 ask premium_monthly prorated; 200 buy pass; 205 buy pass 2; 210 refundonce pass
        renews beside plans | 5 buy basic_monthly_auto; 9 buy premium_monthly; 30 buy points300; \
                              40 change premium_monthly_auto; 90 refund plan unused; 130 buy premium_annual_auto; \
                              140 refundonce points300; 150 reverseonce points300; 340 buy premium_annual
        """)
}
