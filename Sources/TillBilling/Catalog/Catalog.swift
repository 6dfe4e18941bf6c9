/// All products of a shop. Immutable; a new catalogue is a new value.
public struct Catalog: Sendable, Codable {
    public let products: [CatalogProduct]
    private let byID: [ProductID: CatalogProduct]

    public init(products: [CatalogProduct]) {
        self.products = products
        byID = Dictionary(products.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    public subscript(id: ProductID) -> CatalogProduct? { byID[id] }

    /// The plan with this name: sold by the product with this id, by the product whose id is the bundle id followed by
    /// the name (the usual form in App Store Connect), or by the first product that sells a plan with this id. Nil for
    /// auto-renewable subscriptions, whose time Apple keeps.
    public func plan(named name: String, bundleID: String) -> Plan? {
        for id in [name, "\(bundleID).\(name)"] {
            if let product = byID[ProductID(id)] { return Plan(soldBy: product) }
        }
        return products.lazy.compactMap { Plan(soldBy: $0) }.first { $0.id.text == name }
    }

    private enum CodingKeys: String, CodingKey { case products }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(products: try container.decode([CatalogProduct].self, forKey: .products))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(products, forKey: .products)
    }

    /// A fault of a catalogue, with its remedy. A server refuses to start on any of them.
    public struct Finding: Hashable, Sendable {
        public enum Code: String, Sendable {
            case noProducts = "no_products"
            case malformedID = "malformed_product_id"
            case duplicateID = "duplicate_product_id"
            case missingName = "missing_name"
            case badPrice = "bad_price"
            case badPoints = "bad_points"
            case givesNothing = "gives_nothing"
            case badPlan = "bad_plan"
            case planDiffers = "plan_differs"
            case planCurrencies = "plan_currencies"
            case badOffers = "bad_offers"
        }
        public let code: Code
        public let product: ProductID?
        public let sentence: LocalizedText
    }

    public var findings: [Finding] {
        guard !products.isEmpty else {
            return [
                Finding(
                    code: .noProducts, product: nil,
                    sentence: LocalizedText(
                        en: "The catalogue has no products. Add at least one under \"products\".",
                        zh: "商品目录为空。请在 \"products\" 下至少添加一件商品。"))
            ]
        }
        var seen: Set<ProductID> = []
        return products.flatMap { product in
            findings(of: product) + offerFindings(of: product)
                + (seen.insert(product.id).inserted ? [] : [duplicate(product.id)])
        } + planFindings
    }

    private func duplicate(_ id: ProductID) -> Finding {
        Finding(
            code: .duplicateID, product: id,
            sentence: LocalizedText(
                en: "Product \(id) is listed twice. Remove one of the two entries.", zh: "商品 \(id) 出现了两次。请删去其中一条。"))
    }

    private func findings(of product: CatalogProduct) -> [Finding] {
        var found: [Finding] = []
        func report(_ code: Finding.Code, en: String, zh: String) {
            found.append(Finding(code: code, product: product.id, sentence: LocalizedText(en: en, zh: zh)))
        }
        let id = product.id
        if !id.isWellFormed {
            report(
                .malformedID,
                en: "\"\(id)\" can't be a product id: use 1 to 100 letters, digits, hyphens, periods and underscores.",
                zh: "“\(id)”不能作为商品 ID：请使用 1 到 100 个字母、数字、连字符、句点或下划线。")
        }
        let names = product.names
        if names.all.isEmpty || names.all.values.contains("") || !names.malformedTags.isEmpty {
            report(
                .missingName,
                en: "Product \(id) lacks a name. Give \"names\" at least one, by language: {\"en\": \"60 points\"}.",
                zh: "商品 \(id) 缺少名称。请在 \"names\" 中按语言至少填写一个：{\"zh\": \"60 学点\"}。")
        }
        if product.price.amount < 0 || !product.price.currency.isWellFormed {
            report(
                .badPrice,
                en: "The price of \(id) is not usable: minor units (¥6 is 600) and three capital letters of currency.",
                zh: "商品 \(id) 的价格不可用：金额以最小货币单位填写（6 元写作 600），货币为三个大写字母。")
        }
        if product.prices.contains(where: {
            !Currency($0.key).isWellFormed || $0.value <= 0 || Currency($0.key) == product.price.currency
        }) {
            report(
                .badPrice,
                en: "The other prices of \(id) are not usable: minor units above zero, by three capital letters of "
                    + "another currency than that of \"price\".",
                zh: "商品 \(id) 的其他币种价格不可用：以三个大写字母的货币为键，金额以最小货币单位填写且大于零，"
                    + "货币不能与 \"price\" 的相同。")
        }
        if product.points.contains(where: { $0.key.isEmpty || $0.value <= 0 || $0.value > 1_000_000_000_000 }) {
            report(
                .badPoints, en: "The points of \(id) must be named and between 1 and 1,000,000,000,000.",
                zh: "商品 \(id) 的点数必须有名称，且在 1 到 1,000,000,000,000 之间。")
        }
        if let name = product.points.keys.sorted().first(where: { $0.firstForbiddenScalar != nil || !isOneName($0) }) {
            report(
                .badPoints,
                en: "The points of \(id) have a name that can't be used: \"\(printable(name))\". Leave out control "
                    + "characters, and write one kind of points with the same bytes everywhere (Unicode NFC).",
                zh: "商品 \(id) 的点数名称“\(printable(name))”不可用：请去掉控制字符，同一种点数在各处须用相同的字节（Unicode NFC）。")
        }
        if product.points.isEmpty && product.entitlement == nil && product.plan == nil {
            report(
                .givesNothing,
                en: "Product \(id) gives its buyer nothing. Add \"points\", \"entitlement\" or \"plan\".",
                zh: "商品 \(id) 没有给买家任何东西。请填写 \"points\"、\"entitlement\" 或 \"plan\"。")
        }
        return found
    }

    /// The most promotional offers that one product can open to users; App Store Connect allows fewer.
    private static let offerLimit = 100

    private func offerFindings(of product: CatalogProduct) -> [Finding] {
        let (id, offers) = (product.id, product.promotionalOffers)
        guard !offers.isEmpty else { return [] }
        func finding(en: String, zh: String) -> Finding {
            Finding(code: .badOffers, product: id, sentence: LocalizedText(en: en, zh: zh))
        }
        guard product.type == .autoRenewable else {
            return [
                finding(
                    en: "Product \(id) opens promotional offers, and only auto-renewable subscriptions have them. "
                        + "Remove \"promotionalOffers\".",
                    zh: "商品 \(id) 开放了促销优惠，但只有自动续期订阅才有促销优惠。请删去 \"promotionalOffers\"。")
            ]
        }
        let isUsable = offers.allSatisfy { offer in
            (1...100).contains(offer.utf8.count) && offer.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard isUsable, Set(offers).count == offers.count, offers.count <= Self.offerLimit else {
            return [
                finding(
                    en: "The promotional offers of \(id) must be at most \(Self.offerLimit) different ids of App Store "
                        + "Connect, each of 1 to 100 visible ASCII characters.",
                    zh: "商品 \(id) 的 \"promotionalOffers\" 应为 App Store Connect 中的优惠 ID：最多 \(Self.offerLimit) 个，"
                        + "互不相同，每个 1 到 100 个可见 ASCII 字符。")
            ]
        }
        return []
    }

    /// Whether every product spells this name of points with the same bytes.
    private func isOneName(_ name: String) -> Bool {
        products.allSatisfy { product in
            product.points.keys.allSatisfy { $0 != name || $0.hasSameBytes(as: name) }
        }
    }
}

/// All catalogues that a shop has had, to look up the price of a product on a day. A price that a customer was shown
/// does not outlive the catalogue; the catalogue in force decides.
public struct CatalogVersions: Sendable {
    /// One catalogue and the start of its validity, which lasts until the next one.
    public struct Version: Sendable {
        public let number: Int64
        public let since: Instant
        public let catalog: Catalog

        public init(number: Int64, since: Instant, catalog: Catalog) {
            self.number = number
            self.since = since
            self.catalog = catalog
        }
    }

    /// Oldest first.
    public let all: [Version]

    public init(_ versions: [Version]) { all = versions.sorted { $0.number < $1.number } }

    /// A product in the catalogue of that moment. The first catalogue also counts for all time before it. If the
    /// catalogue lacks the product, the newest earlier one that has it counts, or else the first later one.
    public func product(_ id: ProductID, at moment: Instant) -> CatalogProduct? {
        product(id, near: all.lastIndex { $0.since <= moment } ?? 0)
    }

    /// A product in the catalogue with this number; nil if there is none.
    public func product(_ id: ProductID, inVersion number: Int64) -> CatalogProduct? {
        all.lastIndex { $0.number == number }.flatMap { product(id, near: $0) }
    }

    /// The price of one of today's products in the catalogue of that moment.
    public func listPrice(of product: CatalogProduct, at moment: Instant) -> ListPrice {
        ListPrice(of: self.product(product.id, at: moment) ?? product, orElse: product.price)
    }

    /// The list price for a paid purchase. If it was paid in a currency other than the base currency and the catalogue
    /// of that moment lists the product as free, the newest earlier price counts, or else the first later one: an
    /// amount in another currency has no value without a list price.
    public func listPrice(of product: CatalogProduct, at moment: Instant, paid: Money?) -> ListPrice {
        let price = listPrice(of: product, at: moment)
        guard let paid, paid.amount > 0, paid.currency != price.base.currency, price.base.amount == 0 else {
            return price
        }
        let index = all.lastIndex { $0.since <= moment } ?? 0
        let near = all.prefix(index).reversed() + all.dropFirst(index)
        return near.lazy.compactMap { $0.catalog[product.id] }.map { ListPrice(of: $0, orElse: product.price) }
            .first { $0.base.amount > 0 } ?? price
    }

    /// The list price in the catalogue with this number; nil if there is none.
    public func listPrice(of product: CatalogProduct, inVersion number: Int64) -> ListPrice? {
        self.product(product.id, inVersion: number).map { ListPrice(of: $0, orElse: product.price) }
    }

    private func product(_ id: ProductID, near index: Int) -> CatalogProduct? {
        guard all.indices.contains(index) else { return nil }
        return all[...index].reversed().lazy.compactMap { $0.catalog[id] }.first
            ?? all[(index + 1)...].lazy.compactMap { $0.catalog[id] }.first
    }
}
