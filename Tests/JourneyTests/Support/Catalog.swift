import TillBilling
import TillEmulator

extension Shop {
    /// The server's catalogue.
    static let catalog = Catalog(products: [
        pack(points60, 60, 600), pack(points300, 300, 3_000),
        CatalogProduct(
            id: ProductID("com.example.learn.pro"), type: .nonConsumable, names: LocalizedText(en: "Pro", zh: "专业版"),
            price: Money(amount: 9_800, currency: Currency("CNY")), entitlement: "pro"),
    ])

    /// The products of the emulated App Store: one more than the catalogue has.
    static let sampleProducts = [
        sold(points60, .consumable, 600), sold(points300, .consumable, 3_000),
        sold("com.example.learn.pro", .nonConsumable, 9_800), sold("com.example.learn.unlisted", .consumable, 600),
    ]

    private static func sold(_ id: String, _ kind: ProductType, _ price: Int64) -> StoreProduct {
        StoreProduct(
            id: ProductID(id), kind: kind, name: id,
            prices: ["CHN": Money(amount: price, currency: Currency("CNY"))])
    }

    private static func pack(_ id: String, _ points: Int64, _ price: Int64) -> CatalogProduct {
        CatalogProduct(
            id: ProductID(id), type: .consumable, names: LocalizedText(en: "\(points) points", zh: "\(points) 学点"),
            price: Money(amount: price, currency: Currency("CNY")), points: ["points": points])
    }
}
