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
        let products = ["basic_monthly", "premium_monthly"].flatMap { id in
            [
                CloudPlans.product(id, 299, "P1M", "basic"),
                CloudPlans.product("\(id)_auto", 299, "P1M", "basic", type: .autoRenewable, plan: id),
            ]
        }
        let catalog = Catalog(products: products)
        #expect(catalog.findings.isEmpty)
        for name in ["basic_monthly", "com.example.cloud.basic_monthly"] {
            #expect(catalog.plan(named: name, bundleID: "com.example.cloud")?.productID == products[0].id)
        }
        #expect(catalog.plan(named: "basic_monthly", bundleID: "")?.productID == products[0].id)
        for name in ["basic_monthly_auto", "com.example.cloud.basic_monthly_auto", "basic", ""] {
            #expect(catalog.plan(named: name, bundleID: "com.example.cloud") == nil)
        }
    }

    @Test("Plans that would make a conversion wrong are findings with their remedy (L2, C4)")
    func findings() {
        func codes(_ products: Product...) -> [String] { Catalog(products: products).findings.map(\.code.rawValue) }
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
