import TillAppStore
import TillBilling

/// Products as `PUT /emulator/products` takes them and `GET` gives them:
/// `{"id", "type", "name", "prices": {"CHN": {"amount": 600, "currency": "CNY"}}, "subscriptionGroup"?, "period"?}`.
enum ProductText {
    /// App Store Connect's own limit is often quoted as this (facts/limits §2).
    static let limit = 10_000

    static func products(_ body: RequestBody) throws(Problem) -> [StoreProduct] {
        guard case .array(let items)? = body.value("products") else {
            throw RequestBody.wrong("products", "a list of products", "商品列表")
        }
        guard items.count <= limit else {
            throw RequestBody.wrong("products", "a list of at most \(limit)", "不超过 \(limit) 项的列表")
        }
        var products: [StoreProduct] = []
        var seen: Set<String> = []
        for item in items {
            let product = try product(item)
            guard seen.insert(product.id.text).inserted else {
                throw .badRequest(
                    "duplicate_product", "\(product.id) is listed twice.", "商品 \(product.id) 重复。")
            }
            products.append(product)
        }
        return products
    }

    private static func product(_ item: JSONValue) throws(Problem) -> StoreProduct {
        let body = try RequestBody(
            item, knowing: ["id", "type", "name", "prices", "subscriptionGroup", "period"])
        let id = ProductID(try body.requiredText("id", upTo: 100))
        guard id.isWellFormed else {
            throw RequestBody.wrong("id", "letters, digits, - . _, at most 100", "字母、数字、- . _，最多 100 个")
        }
        let kind = try body.choice("type", of: ProductKind.self) ?? .consumable
        let group = try body.text("subscriptionGroup", upTo: 64)
        let period = try body.choice("period", of: SubscriptionPeriod.self)
        guard (kind == .autoRenewable) == (group != nil), (kind == .autoRenewable) == (period != nil) else {
            throw .badRequest(
                "wrong_value",
                "\(id): subscriptionGroup and period belong to auto-renewable subscriptions, and those need both.",
                "\(id)：subscriptionGroup 与 period 只属于自动续期订阅，且两者都需要。")
        }
        let subscription = group.flatMap { group in period.map { SubscriptionTerms(groupID: group, period: $0) } }
        return StoreProduct(
            id: id, kind: kind, name: try body.text("name", upTo: 256) ?? id.text, prices: try prices(body, id),
            subscription: subscription)
    }

    private static func prices(_ body: RequestBody, _ id: ProductID) throws(Problem) -> [String: Money] {
        guard case .object(let members)? = body.value("prices"), (1...200).contains(members.count) else {
            throw RequestBody.wrong(
                "prices", "prices by storefront: {\"CHN\": {\"amount\": 600, \"currency\": \"CNY\"}}",
                "按地区的价格：{\"CHN\": {\"amount\": 600, \"currency\": \"CNY\"}}")
        }
        var prices: [String: Money] = [:]
        for (storefront, value) in members {
            guard Storefront.isWellFormed(storefront) else {
                throw RequestBody.wrong(
                    "prices", "keyed by three capital letters of ISO 3166-1, not \(storefront.prefix(20))",
                    "以 ISO 3166-1 的三个大写字母为键")
            }
            let price = try RequestBody(value, knowing: ["amount", "currency"])
            let currency = Currency(try price.requiredText("currency"))
            // Apple's dearest price point is USD 10,000; ten of it still fit when they become thousandths.
            guard let amount = try price.integer("amount", in: 0...100_000_000_000), currency.isWellFormed else {
                throw RequestBody.wrong(
                    "prices", "minor units and a currency of three capital letters", "最小货币单位的整数与三个大写字母的货币代码")
            }
            prices[storefront] = Money(amount: amount, currency: currency)
        }
        return prices
    }

    static func json(_ product: StoreProduct) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(product.id.text), "type": .string(product.kind.rawValue), "name": .string(product.name),
            "prices": .object(
                product.prices.mapValues {
                    ["amount": .int($0.amount), "currency": .string($0.currency.text)]
                }),
        ]
        members["subscriptionGroup"] = product.subscription.map { .string($0.groupID) }
        members["period"] = product.subscription.map { .string($0.period.rawValue) }
        return .object(members)
    }
}
