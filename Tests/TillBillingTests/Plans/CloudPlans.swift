import TillBilling

/// The four plans of C4, and a trial.
enum CloudPlans {
    static let dollar = Currency("USD")
    static let start = Instant(seconds: 1_767_225_600)  // 2026-01-01

    static let names = ["BM", "BA", "PM", "PA"]

    /// `BM` Basic by the month, `PA` Premium by the year, `T` a trial of a week.
    static func plan(_ name: some StringProtocol, scope: PlanScope? = nil) -> Plan? {
        switch name {
        case "BM": plan("basic_monthly", 299, "P1M", "basic", scope)
        case "BA": plan("basic_annual", 2_999, "P1Y", "basic", scope)
        case "PM": plan("premium_monthly", 699, "P1M", "premium", scope)
        case "PA": plan("premium_annual", 6_999, "P1Y", "premium", scope)
        case "T": plan("trial", 0, "P7D", "premium", scope)
        default: nil
        }
    }

    static func product(
        _ id: String, _ cents: Int64, _ length: String, _ rank: String? = nil, type: ProductType = .consumable,
        currency: Currency = dollar, plan: String? = nil, scope: PlanScope? = nil
    ) -> CatalogProduct {
        CatalogProduct(
            id: ProductID("com.example.cloud.\(id)"), type: type, names: LocalizedText(en: id, zh: "套餐 \(id)"),
            price: Money(amount: cents, currency: currency),
            plan: PlanLength(length).map { PlanTerms(id: PlanID(plan ?? id), length: $0, rank: rank, scope: scope) })
    }

    private static func plan(
        _ id: String, _ cents: Int64, _ length: String, _ rank: String, _ scope: PlanScope?
    ) -> Plan? {
        Plan(soldBy: product(id, cents, length, rank, scope: scope))
    }

    /// `15d`, `30d-1s`, `100d+1s`, `30d-1ms` in milliseconds.
    static func milliseconds(_ text: some StringProtocol) -> Int64? {
        let days = text.prefix { $0.isNumber }
        let rest = text.dropFirst(days.count + 1)
        let more = rest.isEmpty ? 0 : Int64(String(rest.filter { $0.isNumber || $0 == "-" }))
        let isMilliseconds = rest.hasSuffix("ms")
        guard let whole = Int64(days), let more else { return nil }
        return whole * 86_400_000 + more * (isMilliseconds ? 1 : 1_000)
    }
}
