import TillBilling

extension StoreProduct {
    /// What the store sells until it is told otherwise: LearnPoints' packs of points (SCENARIOS L), at the classic
    /// tiers' prices, and one product of each other kind.
    public static func sampleCatalogue(bundleID: String) -> [StoreProduct] {
        func priced(_ fen: Int64, _ cents: Int64) -> [String: Money] {
            [
                "CHN": Money(amount: fen, currency: Currency("CNY")),
                "USA": Money(amount: cents, currency: Currency("USD")),
            ]
        }
        func product(_ suffix: String) -> ProductID { ProductID("\(bundleID).\(suffix)") }
        return [
            StoreProduct(id: product("points60"), kind: .consumable, name: "60 points", prices: priced(600, 99)),
            StoreProduct(id: product("points300"), kind: .consumable, name: "300 points", prices: priced(3_000, 499)),
            StoreProduct(id: product("points680"), kind: .consumable, name: "680 points", prices: priced(6_800, 999)),
            StoreProduct(id: product("library"), kind: .nonConsumable, name: "Library", prices: priced(1_800, 299)),
            StoreProduct(id: product("course"), kind: .nonRenewing, name: "90-day course", prices: priced(6_000, 899)),
            StoreProduct(
                id: product("member.monthly"), kind: .autoRenewable, name: "Membership, monthly",
                prices: priced(1_800, 299),
                subscription: SubscriptionTerms(groupID: "21000001", period: .month)),
        ]
    }
}
