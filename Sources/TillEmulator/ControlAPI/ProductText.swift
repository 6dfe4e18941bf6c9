import TillBilling
import TillJSON

/// Products as `PUT /emulator/products` takes them and `GET` returns them, in the same form.
enum ProductText {
    /// App Store Connect's own limit is often quoted as this (facts/limits §2).
    static let limit = 10_000
    /// The longest name or description for customers: our own bound, because Xcode has none. Texts above App Store
    /// Connect's limits are findings.
    static let copyLimit = 4_000

    private static let localization = ControlObject<StoreProduct.Localization> {
        $0.add(
            "locale", .text(limit: 20), required: true,
            LocalizedText(en: "the locale: zh-Hans, en-US", zh: "语言：zh-Hans、en-US")
        ) {
            .string($0.locale)
        }
        $0.add(
            "displayName", .text(limit: copyLimit), required: true, LocalizedText(en: "the display name", zh: "显示名称")
        ) {
            .string($0.displayName)
        }
        $0.add("description", .text(limit: copyLimit), required: true, LocalizedText(en: "the description", zh: "描述")) {
            .string($0.description)
        }
    }

    static var localizationMembers: [ControlMember] { localization.members }

    /// A part of the metadata (`POST /emulator/products/{id}/metadata`).
    static func metadata(_ item: FileMember) throws(ControlError) -> ProductMetadata {
        try item.knows(["name", "tier", "reviewScreenshot", "localization"])
        var metadata = ProductMetadata(
            name: try item.text("name", upTo: 64), prices: try tier(item).map(tierPrices),
            hasReviewScreenshot: try item.bool("reviewScreenshot"))
        if let localization = try item.member("localization") {
            metadata.localization = try Self.localization(localization)
        }
        return metadata
    }

    private static func localization(_ item: FileMember) throws(ControlError) -> StoreProduct.Localization {
        try item.knows(["locale", "displayName", "description"])
        return StoreProduct.Localization(
            locale: try item.required("locale").text(upTo: 20),
            displayName: try item.copy("displayName", upTo: copyLimit),
            description: try item.copy("description", upTo: copyLimit))
    }

    static var members: [ControlMember] { object.members }
    static func json(_ product: StoreProduct) -> JSONValue { object.json(product) }

    private static let object = ControlObject<StoreProduct> {
        $0.add(
            "id", .text(limit: 100), required: true,
            LocalizedText(
                en: "the product id: letters, digits, - . _; it cannot be changed or reused",
                zh: "商品 ID：字母、数字、- . _；不可更改，删除后不可再用")
        ) { .string($0.id.text) }
        $0.add(
            "type", .choice(of: ProductType.self),
            LocalizedText(
                en: "the product type; Consumable if absent. Free Subscription is discontinued: an old catalogue may "
                    + "keep it, and nothing creates or buys it",
                zh: "商品类型，省略则为 Consumable。Free Subscription 已停用：旧目录可以保留，但不能新建或购买")
        ) { .string($0.kind.rawValue) }
        $0.add(
            "name", .text(limit: 64),
            LocalizedText(en: "the reference name; the product id if absent", zh: "参考名称，省略则为商品 ID")
        ) {
            .string($0.name)
        }
        $0.add(
            "prices", .map,
            LocalizedText(
                en:
                    "the prices by storefront: {\"CHN\": {\"amount\": 600, \"currency\": \"CNY\"}}; or use tier",
                zh: "各店面的价格：{\"CHN\": {\"amount\": 600, \"currency\": \"CNY\"}}；也可只写 tier")
        ) { .object($0.prices.mapValues(\.json)) }
        $0.add(
            "tier", .text(limit: 4),
            LocalizedText(
                en: "the classic price tier: 0 to 87 (text or number), A, B, alt1 to alt5; prices take precedence",
                zh: "经典价格档：0 到 87（可写数字）、A、B、alt1 到 alt5；与 prices 并存时以 prices 为准")
        ) { _ in nil }
        $0.add(
            "subscriptionGroup", .text(limit: 64),
            LocalizedText(en: "the subscription group id; for auto-renewable subscriptions only", zh: "订阅组 ID，仅自动续期订阅")
        ) {
            ($0.subscription?.groupID).map { .string($0) }
        }
        $0.add(
            "groupName", .text(limit: copyLimit),
            LocalizedText(en: "the display name of the group; its id if absent", zh: "客户看到的订阅组名称，省略则为订阅组 ID")
        ) { ($0.subscription?.groupName).map { .string($0) } }
        $0.add(
            "level", .integer(1...1_000),
            LocalizedText(en: "rank in the group, 1 the highest; 1 if absent", zh: "组内等级，1 最高，省略则为 1")
        ) { ($0.subscription?.level).map { .int($0) } }
        $0.add(
            "period", .choice(of: SubscriptionPeriod.self),
            LocalizedText(en: "the subscription group id; for auto-renewable subscriptions only", zh: "订阅组 ID，仅自动续期订阅")
        ) { ($0.subscription?.period).map { .string($0.rawValue) } }
        $0.add(
            "monthlyBilling", .bool,
            LocalizedText(en: "whether a yearly subscription can be paid monthly", zh: "年度订阅是否可按月付款")
        ) {
            $0.subscription?.allowsMonthlyBilling == true ? true : nil
        }
        $0.add(
            "monthlyPrices", .map,
            LocalizedText(
                en:
                    "the prices of monthly billing by storefront; a twelfth of the year's, rounded up, if absent",
                zh: "各店面按月付款的每月价格；省略则为年价的十二分之一，向上取整")
        ) { ($0.subscription?.monthlyPrices).map { .object($0.mapValues(\.json)) } }
        $0.add(
            "familyShareable", .bool,
            LocalizedText(
                en: "whether Family Sharing is allowed; non-consumables and auto-renewable subscriptions only",
                zh: "是否支持家人共享，仅非消耗型与自动续期订阅")
        ) {
            .bool($0.isFamilyShareable)
        }
        $0.add("offers", .list(ProductOfferText.members), LocalizedText(en: "the offers", zh: "优惠")) {
            .array($0.offers.map(ProductOfferText.json))
        }
        $0.add(
            "localizations", .list(localization.members),
            LocalizedText(en: "the localized names and descriptions", zh: "各语言的名称和描述")
        ) {
            .array($0.localizations.map(localization.json))
        }
        $0.add(
            "reviewScreenshot", .bool,
            LocalizedText(en: "whether a review screenshot is uploaded; true if absent", zh: "是否已上传审核截图，省略则为 true")
        ) { .bool($0.hasReviewScreenshot) }
        $0.add(
            "state", .choice(of: ProductState.self),
            LocalizedText(
                en: "the state in App Store Connect; APPROVED if absent", zh: "在 App Store Connect 中的状态，省略则为 APPROVED")
        ) { .string($0.state.rawValue) }
        $0.add(
            "withAppVersion", .bool,
            LocalizedText(en: "whether the product was submitted with an app version", zh: "是否随 App 版本一起提交")
        ) { $0.isWithAppVersion ? true : nil }
    }

    static let answer = ControlResponse(
        "Products",
        [ControlMember("data", .list(members), required: true, LocalizedText(en: "the products", zh: "全部商品"))])

    static func products(_ file: FileMember) throws(ControlError) -> [StoreProduct] {
        try file.knows(["products"])
        var products: [StoreProduct] = []
        for item in try file.required("products").items(upTo: limit) { products.append(try product(item)) }
        return products
    }

    static func product(_ item: FileMember) throws(ControlError) -> StoreProduct {
        try item.knows(members.map(\.name))
        let id = ProductID(try item.required("id").text(upTo: 100))
        let kind = try item.choice("type", of: ProductType.self) ?? .consumable
        var product = StoreProduct(
            id: id, kind: kind, name: try item.text("name", upTo: 64) ?? String(id.text.prefix(64)),
            prices: try prices(item), subscription: try subscription(item, kind))
        product.isFamilyShareable = try item.bool("familyShareable") ?? false
        // Our own bound; `ProductRules` checks App Store Connect's limits.
        for offer in try item.list("offers", upTo: 100) {
            product.offers.append(try ProductOfferText.offer(offer))
        }
        for localization in try item.list("localizations", upTo: 100) {
            product.localizations.append(try Self.localization(localization))
        }
        product.hasReviewScreenshot = try item.bool("reviewScreenshot") ?? true
        product.isWithAppVersion = try item.bool("withAppVersion") ?? false
        product.state = try item.choice("state", of: ProductState.self) ?? .approved
        product.state = ProductReview.reviewed(product)
        try ProductRules.check(product, at: item)
        return product
    }

    private static func subscription(_ item: FileMember, _ kind: ProductType) throws(ControlError) -> SubscriptionTerms?
    {
        let group = try item.text("subscriptionGroup", upTo: 64)
        let name = try item.text("groupName", upTo: copyLimit)
        let period = try item.choice("period", of: SubscriptionPeriod.self)
        let level = try item.integer("level", in: 1...1_000)
        let monthly = try item.bool("monthlyBilling")
        let prices = try item.member("monthlyPrices").map { prices throws(ControlError) in try Self.prices(in: prices) }
        guard kind == .autoRenewable else {
            guard group == nil, name == nil, period == nil, level == nil, monthly != true, prices == nil else {
                throw .badRequest(
                    "wrong_value",
                    "\(item.path): subscriptionGroup, groupName, period, level and monthlyBilling belong to "
                        + "auto-renewables.",
                    "\(item.path)：subscriptionGroup、groupName、period、level、monthlyBilling 只属于自动续期订阅。")
            }
            return nil
        }
        guard let group else { throw missing(item, "subscriptionGroup") }
        guard let period else { throw missing(item, "period") }
        return SubscriptionTerms(
            groupID: group, groupName: name, level: level ?? 1, period: period,
            allowsMonthlyBilling: monthly ?? false, monthlyPrices: prices)
    }

    private static func missing(_ item: FileMember, _ name: String) -> ControlError {
        .badRequest(
            "missing_member", "\"\(item.place(name))\" is missing: auto-renewable subscriptions have one.",
            "缺少成员 “\(item.place(name))”：自动续期订阅需要它。")
    }
}

// MARK: Prices

extension ProductText {
    /// The prices of the tier, if the product has one, overridden by the listed prices.
    private static func prices(_ item: FileMember) throws(ControlError) -> [String: Money] {
        var prices = try tier(item).map(tierPrices) ?? [:]
        guard let named = try item.member("prices") else {
            if !prices.isEmpty { return prices }
            throw .badRequest(
                "missing_member", "\"\(item.place("prices"))\" is missing: give prices by storefront, or a tier.",
                "缺少成员 “\(item.place("prices"))”：请给出各地区的价格，或一个 tier。")
        }
        let own = try Self.prices(in: named)
        guard !own.isEmpty || !prices.isEmpty else {
            throw named.wrong(
                "at least one price, such as {\"CHN\": {\"amount\": 600, \"currency\": \"CNY\"}}", "至少一个价格")
        }
        prices.merge(own) { _, named in named }
        return prices
    }

    /// `{"CHN": {"amount": 600, "currency": "CNY"}}`
    static func prices(in named: FileMember) throws(ControlError) -> [String: Money] {
        var prices: [String: Money] = [:]
        for (code, price) in try named.members(upTo: 200) {
            guard Storefront.exists(code) else { throw price.noStorefront(code) }
            try price.knows(["amount", "currency"])
            let currency = Currency(try price.required("currency").text(upTo: 3))
            // Apple's highest price point is USD 10,000; ten of them still fit when converted to thousandths.
            guard let amount = try price.integer("amount", in: 0...100_000_000_000) else {
                throw price.wrong("minor units with a currency", "最小货币单位的整数与货币")
            }
            guard currency.isWellFormed else {
                throw price.wrong("in a currency of three capital letters", "三个大写字母的货币代码")
            }
            prices[code] = Money(amount: amount, currency: currency)
        }
        return prices
    }

    static func tier(_ item: FileMember) throws(ControlError) -> PriceTier? {
        guard let member = try item.member("tier") else { return nil }
        let id =
            switch member.value {
            case .int(let number): String(number)
            case .string(let text): text
            default: ""
            }
        if let tier = PriceTierTable.latest?[id] { return tier }
        throw member.wrong("a price tier: 0 to 87, A, B, alt1 to alt5", "价格档：0 到 87、A、B、alt1 到 alt5")
    }

    /// In every storefront whose currency is in the tier table; the others get no price.
    static func tierPrices(_ tier: PriceTier) -> [String: Money] {
        var prices: [String: Money] = [:]
        for code in Storefront.codes {
            prices[code] = Storefront.currency(of: code).flatMap { tier.prices[$0] }
        }
        return prices
    }
}

extension FileMember {
    func noStorefront(_ code: String) -> ControlError { .noStorefront(code, member: path) }
}

extension ControlError {
    /// The App Store has no storefront with this code.
    static func noStorefront(_ code: String, member: String) -> ControlError {
        let shown = FileMember.legible(code)
        let nearest = Storefront.nearest(to: code)
        return .badRequest(
            "wrong_value",
            "\"\(member)\": there is no storefront \"\(shown)\""
                + (nearest.map { "; did you mean \"\($0)\"?" } ?? ": three capital letters, such as CHN."),
            "“\(member)”：没有地区 “\(shown)”" + (nearest.map { "，是否想写 “\($0)”？" } ?? "：应为三个大写字母，例如 CHN。"))
    }
}

extension RequestBody {
    /// An existing storefront; nil if the member is missing.
    func storefront(_ name: String) throws(ControlError) -> String? {
        guard let code = try text(name) else { return nil }
        guard Storefront.exists(code) else { throw .noStorefront(code, member: name) }
        return code
    }
}

/// An offer as the control API takes and returns it.
enum ProductOfferText {
    static var members: [ControlMember] { object.members }
    static func json(_ offer: ProductOffer) -> JSONValue { object.json(offer) }

    private static let object = ControlObject<ProductOffer> {
        $0.add(
            "kind", .choice(of: ProductOffer.Kind.self), required: true,
            LocalizedText(en: "the kind of offer", zh: "优惠种类")
        ) { .string($0.kind.rawValue) }
        $0.add(
            "identifier", .text(limit: 64),
            LocalizedText(en: "the offer id; required except for introductory offers", zh: "优惠标识，推介促销优惠以外必填")
        ) {
            $0.identifier.map { .string($0) }
        }
        $0.add(
            "discount", .choice(of: ProductOffer.Discount.self), required: true,
            LocalizedText(en: "the payment mode", zh: "付款方式")
        ) { .string($0.discount.rawValue) }
        $0.add(
            "period", .text(limit: 6),
            LocalizedText(
                en: "the offer period: P3D, P1W, P1M, P1Y; the subscription period if absent",
                zh: "优惠周期：P3D、P1W、P1M、P1Y，省略则同订阅周期")
        ) { $0.period.map { .string($0.text) } }
        $0.add(
            "periods", .integer(1...100),
            LocalizedText(en: "the number of periods; more than 1 for pay as you go only", zh: "周期数，仅随用随付可大于 1")
        ) {
            .int($0.periods)
        }
        $0.add("prices", .map, LocalizedText(en: "the price of one charge by storefront", zh: "各店面每次扣款的价格")) {
            .object($0.prices.mapValues(\.json))
        }
        $0.add(
            "customers", .texts,
            LocalizedText(
                en:
                    "the customers eligible for a subscription's codes: NEW, EXISTING, EXPIRED; all if absent",
                zh: "订阅优惠代码适用的客户：NEW、EXISTING、EXPIRED，省略则全部适用")
        ) { $0.customers.map { .array($0.map { .string($0.rawValue) }) } }
    }

    static func offer(_ item: FileMember) throws(ControlError) -> ProductOffer {
        try item.knows(members.map(\.name))
        let kind = try item.choice("kind", of: ProductOffer.Kind.self)
        let discount = try item.choice("discount", of: ProductOffer.Discount.self)
        guard let kind, let discount else {
            _ = try item.required("kind")
            _ = try item.required("discount")
            throw item.wrong("an offer", "一项优惠")
        }
        var period: OfferPeriod?
        if let member = try item.member("period") {
            period = OfferPeriod(try member.text(upTo: 6))
            if period == nil { throw member.wrong("a period such as P3D, P1W, P1M or P1Y", "周期，例如 P3D、P1W、P1M、P1Y") }
        }
        return ProductOffer(
            kind: kind, identifier: try item.text("identifier", upTo: 64), discount: discount, period: period,
            periods: try item.integer("periods", in: 1...100) ?? 1,
            prices: try item.member("prices").map { prices throws(ControlError) in try ProductText.prices(in: prices) }
                ?? [:],
            customers: try customers(item))
    }

    private static func customers(_ item: FileMember) throws(ControlError) -> [ProductOffer.Customer]? {
        guard let list = try item.member("customers") else { return nil }
        var customers: [ProductOffer.Customer] = []
        for member in try list.items(upTo: 3) {
            guard let customer = ProductOffer.Customer(rawValue: try member.text(upTo: 10)) else {
                throw member.wrong("NEW, EXISTING or EXPIRED", "NEW、EXISTING 或 EXPIRED")
            }
            customers.append(customer)
        }
        return customers
    }
}
