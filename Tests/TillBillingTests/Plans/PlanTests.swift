import Testing
import TillBilling

@Suite("Plans in the catalogue") struct PlanTests {
    @Test(
        "A length is one unit of ISO 8601; a month is 30 days and a year 365 (C5)",
        arguments: [
            ("P1M", 30), ("P1Y", 365), ("P7D", 7), ("P2W", 14), ("P10Y", 3_650), ("P0M", nil), ("P11Y", nil),
            ("P", nil), ("PM", nil), ("1M", nil), ("P1M1D", nil), ("PT1M", nil), ("P-1M", nil), ("p1m", nil),
            ("P99999D", nil), ("P1١D", nil), ("", nil),
        ] as [(String, Int?)])
    func lengths(_ text: String, _ days: Int?) {
        #expect(PlanLength(text)?.days == days)
    }

    @Test("Eight products of four plans are found by each of their names, and Apple manages four of them (C4)")
    func names() {
        let terms: [(id: String, cents: Int64, length: String, rank: String)] = [
            ("basic_monthly", 299, "P1M", "basic"), ("basic_annual", 2_999, "P1Y", "basic"),
            ("premium_monthly", 699, "P1M", "premium"), ("premium_annual", 6_999, "P1Y", "premium"),
        ]
        let stored = terms.map { CloudPlans.product($0.id, $0.cents, $0.length, $0.rank) }
        let managed = terms.map {
            CloudPlans.product("\($0.id)_auto", $0.cents, $0.length, $0.rank, type: .autoRenewable, plan: $0.id)
        }
        // Apple's products come first: the first product of a plan is not always the one that the server keeps.
        let catalog = Catalog(products: managed + stored)
        #expect(catalog.products.count == 8 && catalog.findings.isEmpty)
        let app = "com.example.cloud"
        for (plan, product) in zip(terms, stored) {
            for (name, bundleID) in [(plan.id, app), ("\(app).\(plan.id)", app), (plan.id, "")] {
                let found = catalog.plan(named: name, bundleID: bundleID)
                #expect(found?.productID == product.id, "\(name)")
                #expect(found?.id.text == plan.id && found?.price.amount == plan.cents, "\(name)")
                #expect(found?.length.text == plan.length && found?.rank == plan.rank, "\(name)")
            }
            // The server computes no plan for what Apple renews.
            for name in ["\(plan.id)_auto", "\(app).\(plan.id)_auto", plan.rank] {
                #expect(catalog.plan(named: name, bundleID: app) == nil, "\(name)")
            }
        }
        #expect(catalog.plan(named: "", bundleID: app) == nil)
    }

    @Test("Plans that would make a conversion wrong are findings with their remedy (L2, C4)")
    func findings() {
        func codes(_ products: CatalogProduct...) -> [String] {
            Catalog(products: products).findings.map(\.code.rawValue)
        }
        let basic = CloudPlans.product("basic_monthly", 299, "P1M", "basic")
        #expect(codes(basic, CloudPlans.product("trial", 0, "P7D")).isEmpty)
        #expect(codes(CloudPlans.product("a", 299, "P1M", type: .nonConsumable)) == ["bad_plan"])
        #expect(codes(CloudPlans.product("a", 299, "P1M", "", plan: "a")) == ["bad_plan"])
        #expect(codes(CloudPlans.product("a", 299, "P1M", plan: "sp ace")) == ["bad_plan"])
        #expect(codes(basic, CloudPlans.product("b", 299, "P1Y", "basic", plan: "basic_monthly")) == ["plan_differs"])
        #expect(codes(basic, CloudPlans.product("b", 299, "P1M", plan: "basic_monthly")) == ["plan_differs"])
        let scoped = CloudPlans.product("b", 299, "P1M", "basic", plan: "basic_monthly", scope: .device)
        #expect(codes(basic, scoped) == ["plan_differs"])
        let named = CloudPlans.product("b", 299, "P1M", "basic", plan: "basic_monthly", scope: .account)
        #expect(codes(basic, named).isEmpty)
        #expect(codes(basic, CloudPlans.product("b", 600, "P1M", currency: Currency("CNY"))) == ["plan_currencies"])
        let renewed = CloudPlans.product("b", 600, "P1M", type: .autoRenewable, currency: Currency("CNY"))
        #expect(codes(basic, renewed).isEmpty)
    }
}
