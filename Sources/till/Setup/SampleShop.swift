/// The shops that `till init` can begin with.
enum SampleShop: String, Sendable, CaseIterable {
    /// Points bought as consumables.
    case learnPoints = "points"
    /// A cloud service's four plans, each bought once or renewed (C4).
    case cloudPlans = "plans"

    var bundleID: String {
        switch self {
        case .learnPoints: "com.example.learn"
        case .cloudPlans: "com.example.cloud"
        }
    }

    /// The text of its catalogue file.
    var catalog: String {
        switch self {
        case .learnPoints: Starter.catalog
        case .cloudPlans: Self.plans
        }
    }

    /// Basic and Premium, by the month and the year, for one device each. A product's id is the bundle id, a period and
    /// the plan's own id.
    private static let plans: String = {
        let plans = [
            ("basic", "monthly", "P1M", 299, "Basic Monthly", "基础版月付"),
            ("basic", "annual", "P1Y", 2_999, "Basic Annual", "基础版年付"),
            ("premium", "monthly", "P1M", 699, "Premium Monthly", "高级版月付"),
            ("premium", "annual", "P1Y", 6_999, "Premium Annual", "高级版年付"),
        ]
        let kinds = [("Consumable", "", "", ""), ("Auto-Renewable Subscription", "_auto", " (renews)", "（自动续订）")]
        let products = kinds.flatMap { type, suffix, en, zh in
            plans.map { rank, time, length, cents, english, chinese in
                """
                    {
                      "id": "com.example.cloud.\(rank)_\(time)\(suffix)",
                      "type": "\(type)",
                      "names": { "en": "\(english)\(en)", "zh": "\(chinese)\(zh)" },
                      "price": { "amount": \(cents), "currency": "USD" },
                      "plan": { "id": "\(rank)_\(time)", "length": "\(length)", "rank": "\(rank)" }
                    }
                """
            }
        }
        return "{\n  \"products\": [\n" + products.joined(separator: ",\n") + "\n  ]\n}\n"
    }()
}
