import Testing
import TillBilling

@Suite("The catalogue") struct CatalogTests {
    private func product(
        _ id: String, zh: String = "学点", price: Int64 = 600, currency: String = "CNY",
        points: [String: Int64] = ["points": 60],
        entitlement: String? = nil
    ) -> CatalogProduct {
        CatalogProduct(
            id: ProductID(id), type: .consumable, names: LocalizedText(en: "Points", zh: zh),
            price: Money(amount: price, currency: Currency(currency)), points: points, entitlement: entitlement)
    }

    @Test("A good catalogue has no findings, and its products are found by id") func good() {
        let catalog = Catalog(products: [product("a"), product("b", points: [:], entitlement: "pro")])
        #expect(catalog.findings.isEmpty)
        #expect(catalog[ProductID("b")]?.entitlement == "pro")
        #expect(catalog[ProductID("B")] == nil)
    }

    @Test("Each fault is a named finding with its remedy (L2)") func findings() {
        let catalog = Catalog(products: [
            product("a"), product("a"), product("sp ace"), product("nameless", zh: ""), product("cheap", price: -1),
            product("odd", currency: "cny"), product("none", points: [:]), product("zero", points: ["points": 0]),
            product(String(repeating: "x", count: 101)),
        ])
        #expect(
            catalog.findings.map { "\($0.code.rawValue) \($0.product?.text.prefix(8) ?? "")" } == [
                "duplicate_product_id a", "malformed_product_id sp ace", "missing_name nameless", "bad_price cheap",
                "bad_price odd", "gives_nothing none", "bad_points zero", "malformed_product_id xxxxxxxx",
            ])
        #expect(Catalog(products: []).findings.map(\.code) == [.noProducts])
    }

    @Test("Only a subscription opens promotional offers, each once and by an id that App Store Connect can have (L2)")
    func offers() throws {
        func codes(_ offers: [String], _ type: ProductType = .autoRenewable) -> [Catalog.Finding.Code] {
            let product = CatalogProduct(
                id: ProductID("a"), type: type, names: LocalizedText(en: "Member", zh: "会员"),
                price: Money(amount: 600, currency: Currency("CNY")), entitlement: "member", promotionalOffers: offers)
            return Catalog(products: [product]).findings.map(\.code)
        }
        #expect(codes([]).isEmpty && codes(["loyal", "welcome-back"]).isEmpty && codes([], .consumable).isEmpty)
        for offers in [["a", "a"], [""], ["with space"], ["优惠"], [String(repeating: "x", count: 101)]] {
            #expect(codes(offers) == [.badOffers], "\(offers)")
        }
        #expect(codes((0...100).map { "offer\($0)" }) == [.badOffers])
        #expect(codes(["loyal"], .nonRenewing) == [.badOffers] && codes(["loyal"], .consumable) == [.badOffers])
    }

    @Test("Points are multiplied by the quantity, listed in a fixed order, and never overflow silently") func points() {
        let pack = product("a", points: ["points": 60, "bonus": 5])
        #expect(pack.points(quantity: 3)?.map { "\($0.kind) \($0.amount)" } == ["bonus 15", "points 180"])
        #expect(product("b", points: ["points": Int64.max]).points(quantity: 2) == nil)
    }
}
