import TillBilling

/// A fault of a catalogue that App Review or customers will meet, with its cure.
public struct ProductFinding: Sendable, Hashable {
    public enum Code: String, Sendable, CaseIterable {
        case noAppVersion = "first_product_without_app_version"
        case notReturned = "not_returned_by_the_store"
        case unknownID = "unknown_id"
        case missingFromCatalog = "missing_from_the_catalogue"
        case priceOffTable = "price_off_the_table"
        case priceNotChecked = "price_not_checked"
        case foreignCurrency = "foreign_currency"
        case duplicateID = "duplicate_id"
        case wrongType = "wrong_type"
        case missingScreenshot = "missing_screenshot"
        case missingLocalization = "missing_localization"
        case longText = "text_may_be_too_long"
        case oddLevels = "odd_levels"
        case oddOfferPeriod = "odd_offer_period"
    }

    public let code: Code
    /// Nil for a finding about a whole group.
    public let product: String?
    /// What is wrong.
    public let sentence: LocalizedText
    /// What to do about it.
    public let cure: LocalizedText

    /// Whether it may be no fault at all: Till lacks the facts to tell.
    public var isWarning: Bool { code == .priceNotChecked }

    /// A product as the app, or the server's catalogue, expects it.
    public struct Expectation: Sendable {
        public var id: String
        public var kind: ProductType?

        public init(id: String, kind: ProductType? = nil) {
            self.id = id
            self.kind = kind
        }
    }
}

extension ProductFile {
    /// The prices in currencies without known price points.
    public var uncheckedPrices: UncheckedPrices? {
        UncheckedPrices(products.lazy.flatMap { product in product.prices.values.map { (product.id, $0) } })
    }

    /// The faults of these products, and of a server's catalogue beside them: products that one side lacks, has twice,
    /// or has with another type, and prices on no tier.
    ///
    /// - Parameter environment: where customers buy: in production only approved products are returned.
    public func findings(comparing catalog: Catalog, in environment: StoreEnvironment) -> [ProductFinding] {
        let validator = ProductValidator(products: products, environment: environment, side: .catalog)
        let expected = catalog.products.map { ProductFinding.Expectation(id: $0.id.text, kind: $0.type) }
        return validator.findings(comparing: expected) + validator.prices(of: catalog)
            + validator.missing(from: catalog)
    }
}

/// Checks a catalogue.
struct ProductValidator {
    let products: [StoreProduct]
    let environment: StoreEnvironment
    /// Whose list the products are compared with.
    var side = Side.app

    enum Side: Sendable {
        case app
        /// A server's catalogue.
        case catalog

        /// With its article.
        var name: LocalizedText {
            switch self {
            case .app: LocalizedText(en: "the app", zh: "App")
            case .catalog: LocalizedText(en: "the catalogue", zh: "商品目录")
            }
        }

        /// At the beginning of a sentence.
        var subject: String { self == .app ? "The app" : "The catalogue" }
    }

    /// - Parameter expected: the other side's own list; nil if the caller gave none.
    func findings(comparing expected: [ProductFinding.Expectation]? = nil) -> [ProductFinding] {
        let hasApproved = products.contains { ProductReview.hasBeenApproved($0.state) }
        // A free subscription is history: it is neither reviewed nor priced nor bought.
        var findings = products.filter { $0.kind != .freeSubscription }.flatMap { product in
            (hasApproved ? [] : appVersion(product)) + review(product) + prices(product) + texts(product)
                + offers(product)
        }
        findings += levels()
        if let expected { findings += compare(expected) }
        return findings
    }

    // MARK: One product

    private func appVersion(_ product: StoreProduct) -> [ProductFinding] {
        guard !product.isWithAppVersion, !product.state.isIncomplete else { return [] }
        let id = product.id.text
        return [
            ProductFinding(
                code: .noAppVersion, product: id,
                sentence: LocalizedText(
                    en: "\(id) is the app's first product and is not submitted together with an app version.",
                    zh: "\(id) 是此 App 的首个商品，但没有随 App 版本一起提交。"),
                cure: LocalizedText(
                    en: "Submit it together with an app version: POST /emulator/products/\(id)/submit with "
                        + "{\"withAppVersion\": true}.",
                    zh: "请与 App 版本一起提交：POST /emulator/products/\(id)/submit，内容 {\"withAppVersion\": true}。"))
        ]
    }

    private func review(_ product: StoreProduct) -> [ProductFinding] {
        let id = product.id.text
        var findings: [ProductFinding] = []
        if !product.hasReviewScreenshot {
            findings.append(
                ProductFinding(
                    code: .missingScreenshot, product: id,
                    sentence: LocalizedText(en: "\(id) has no screenshot for App Review.", zh: "\(id) 没有审核截图。"),
                    cure: LocalizedText(
                        en: "Upload a screenshot: \"reviewScreenshot\": true.", zh: "请上传截图：\"reviewScreenshot\": true。")
                ))
        }
        // A product on sale had a localization when it was approved; only products before review need the finding.
        if product.localizations.isEmpty, product.state != .approved {
            findings.append(
                ProductFinding(
                    code: .missingLocalization, product: id,
                    sentence: LocalizedText(
                        en: "\(id) has no name and description for customers.", zh: "\(id) 没有面向客户的名称和描述。"),
                    cure: LocalizedText(
                        en: "Add at least one item to \"localizations\".", zh: "请在 \"localizations\" 中至少添加一项。")))
        }
        if !product.isSold(in: environment) {
            findings.append(
                ProductFinding(
                    code: .notReturned, product: id,
                    sentence: LocalizedText(
                        en: "The store does not return \(id): it is \(product.state.rawValue).",
                        zh: "商店不返回 \(id)：状态为 \(product.state.rawValue)。"),
                    cure: LocalizedText(
                        en: environment == .sandbox
                            ? "Complete its metadata. Testers see the product once it is READY_TO_SUBMIT."
                            : "Submit it for review. In production, customers see the product once it is APPROVED.",
                        zh: environment == .sandbox
                            ? "请补全元数据；状态到 READY_TO_SUBMIT 后，测试者即可看到该商品。" : "请提交审核；在生产环境中，状态为 APPROVED 后客户才能看到该商品。")))
        }
        return findings
    }

    private func prices(_ product: StoreProduct) -> [ProductFinding] {
        let id = product.id.text
        // One finding for a price, however many storefronts share it.
        var places: [Money: [String]] = [:]
        for (storefront, price) in product.prices { places[price, default: []].append(storefront) }
        var findings: [ProductFinding] = []
        for (price, storefronts) in places.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            let shown = storefronts.sorted().prefix(5).joined(separator: ", ") + (storefronts.count > 5 ? ", …" : "")
            if let off = offTable(price) {
                findings.append(
                    ProductFinding(
                        code: .priceOffTable, product: id,
                        sentence: LocalizedText(
                            en: "\(id) costs \(price) in \(shown): \(off.en)",
                            zh: "\(id) 在 \(shown) 的价格为 \(price)：\(off.zh)"),
                        cure: LocalizedText(
                            en:
                                "Choose a tier (\"tier\": 1), or a price that App Store Connect offers there.",
                            zh: "请选用某一价格档（\"tier\": 1），或 App Store Connect 在该地区提供的价格。")))
            }
            if PriceAvailability(of: price) == .unknownCurrency {
                findings.append(
                    unchecked(
                        price, of: id,
                        LocalizedText(en: "\(id) costs \(price) in \(shown):", zh: "\(id) 在 \(shown) 的价格为 \(price)：")))
            }
            if let code = storefronts.sorted().first(where: { Storefront.currency(of: $0) != price.currency }) {
                let currency = Storefront.currency(of: code)?.text ?? "?"
                findings.append(
                    ProductFinding(
                        code: .foreignCurrency, product: id,
                        sentence: LocalizedText(
                            en: "\(id) is priced in \(price.currency) in \(code), where customers pay in \(currency).",
                            zh: "\(id) 在 \(code) 以 \(price.currency) 标价，而当地客户以 \(currency) 付款。"),
                        cure: LocalizedText(en: "Give the price in \(currency).", zh: "请改用 \(currency) 标价。")))
            }
        }
        return findings
    }

    /// The price of a storefront, or of a list, whose price points are unknown.
    private func unchecked(_ price: Money, of id: String, _ place: LocalizedText) -> ProductFinding {
        ProductFinding(
            code: .priceNotChecked, product: id,
            sentence: LocalizedText(
                en: "\(place.en) no price points are known in \(price.currency), so the price is accepted unchecked.",
                zh: "\(place.zh)没有 \(price.currency) 的价格点资料，未经核对即接受。"),
            cure: LocalizedText(
                en: "Compare it with the price that App Store Connect shows.", zh: "请与 App Store Connect 中显示的价格核对。"))
    }

    private func offTable(_ price: Money) -> LocalizedText? {
        switch PriceAvailability(of: price) {
        case .onTiers, .pricePoint, .unknownCurrency: nil
        case .notOffered:
            LocalizedText(en: "Apple has no such price point.", zh: "Apple 没有这个价格点。")
        case .onNoTier:
            LocalizedText(
                en: "this price is on no classic tier. Till cannot tell whether it is a current price point.",
                zh: "不在任何经典价格档上；Till 无法判断它是否为现行价格点。")
        }
    }

    /// The commonly quoted limits; App Store Connect's own page does not state them (facts/business-rules §2).
    private func texts(_ product: StoreProduct) -> [ProductFinding] {
        let long = product.localizations.first {
            $0.displayName.unicodeScalars.count > 35 || $0.description.unicodeScalars.count > 55
        }
        guard let long else { return [] }
        let id = product.id.text
        return [
            ProductFinding(
                code: .longText, product: id,
                sentence: LocalizedText(
                    en: "The \(long.locale) name or description of \(id) is longer than 35 or 55 characters.",
                    zh: "\(id) 的 \(long.locale) 名称或描述超过 35 或 55 个字符。"),
                cure: LocalizedText(
                    en: "Shorten it: at most 30 characters for the name and 45 for the description.",
                    zh: "请缩短：名称不超过 30 个字符，描述不超过 45 个字符。"))
        ]
    }

    /// App Store Connect's list (`SubscriptionOfferDuration`).
    private static let offerPeriods: Set<String> = ["P3D", "P1W", "P2W", "P1M", "P2M", "P3M", "P6M", "P1Y"]

    private func offers(_ product: StoreProduct) -> [ProductFinding] {
        product.offers.compactMap { offer in
            guard let period = offer.period?.text, !Self.offerPeriods.contains(period) else { return nil }
            let name = offer.identifier ?? offer.kind.rawValue
            return ProductFinding(
                code: .oddOfferPeriod, product: product.id.text,
                sentence: LocalizedText(
                    en: "The offer \(name) of \(product.id) lasts \(period), which App Store Connect does not offer.",
                    zh: "\(product.id) 的优惠 \(name) 时长为 \(period)，App Store Connect 没有这一选项。"),
                cure: LocalizedText(
                    en: "Choose 3 days, 1 or 2 weeks, 1, 2, 3 or 6 months, or a year.",
                    zh: "请选用 3 天、1 或 2 周、1、2、3、6 个月或 1 年。"))
        }
    }

    // MARK: All products

    /// Levels count from 1 without a gap; several products may share one (facts/business-rules §8.1).
    private func levels() -> [ProductFinding] {
        var groups: [String: Set<Int64>] = [:]
        for case let terms? in products.map(\.subscription) { groups[terms.groupID, default: []].insert(terms.level) }
        return groups.sorted { $0.key < $1.key }.compactMap { group, levels in
            guard levels != Set(1...Int64(levels.count)) else { return nil }
            let shown = levels.sorted().map(String.init).joined(separator: ", ")
            return ProductFinding(
                code: .oddLevels, product: nil,
                sentence: LocalizedText(
                    en: "The levels of group \(group) are \(shown). Levels must start at 1 without gaps.",
                    zh: "订阅组 \(group) 的等级为 \(shown)。等级必须从 1 起连续编号。"),
                cure: LocalizedText(
                    en: "Number them from 1, where 1 is the highest level of service.", zh: "请从 1 起编号，1 为最高等级。"))
        }
    }

    private func compare(_ expected: [ProductFinding.Expectation]) -> [ProductFinding] {
        let known = Dictionary(products.map { ($0.id.text, $0) }, uniquingKeysWith: { first, _ in first })
        let ids = Array(known.keys)
        // The search for similar names reads all names, so it runs for the first few products only, in catalogues of
        // limited size.
        var suggestions = ids.count <= 1_000 ? 5 : 0
        var seen: Set<String> = []
        return expected.flatMap { wanted -> [ProductFinding] in
            guard seen.insert(wanted.id).inserted else { return [duplicate(wanted.id)] }
            guard let product = known[wanted.id] else {
                suggestions -= 1
                return [unknown(wanted.id, nearest: suggestions >= 0 ? nearestName(to: wanted.id, among: ids) : nil)]
            }
            guard let kind = wanted.kind, kind != product.kind else { return [] }
            return [wrongType(product, kind)]
        }
    }

    private func duplicate(_ id: String) -> ProductFinding {
        ProductFinding(
            code: .duplicateID, product: id,
            sentence: LocalizedText(
                en: "\(side.subject) lists \(id) twice.", zh: "\(side.name.zh)中 \(id) 出现了两次。"),
            cure: LocalizedText(en: "Remove one of the two.", zh: "请删去其中一个。"))
    }

    private func unknown(_ id: String, nearest: String?) -> ProductFinding {
        ProductFinding(
            code: .unknownID, product: id,
            sentence: LocalizedText(en: "The store has no product \(id).", zh: "商店没有商品 \(id)。"),
            cure: LocalizedText(
                en: nearest.map { "Did you mean \($0)?" } ?? "Create it, or correct the id in \(side.name.en).",
                zh: nearest.map { "是否想写 \($0)？" } ?? "请新建该商品，或更正\(side == .app ? " App " : side.name.zh)中的 id。"))
    }

    private func wrongType(_ product: StoreProduct, _ kind: ProductType) -> ProductFinding {
        ProductFinding(
            code: .wrongType, product: product.id.text,
            sentence: LocalizedText(
                en:
                    "\(side.subject) expects \(product.id) to be \(kind.rawValue), but it is \(product.kind.rawValue).",
                zh: "\(side == .app ? "App " : side.name.zh)认为 \(product.id) 的类型是 \(kind.rawValue)，"
                    + "但商店中的类型是 \(product.kind.rawValue)。"),
            cure: LocalizedText(
                en: "Correct \(side.name.en). A product's type cannot change, so another type needs a new product id.",
                zh: "请更正\(side == .app ? " App" : side.name.zh)；商品类型不可更改，其他类型需要新的商品 ID。"))
    }

    // MARK: The server's catalogue

    /// List prices of the catalogue that Apple does not offer.
    func prices(of catalog: Catalog) -> [ProductFinding] {
        catalog.products.flatMap { product -> [ProductFinding] in
            let others = product.prices.sorted { $0.key < $1.key }
                .map { Money(amount: $0.value, currency: Currency($0.key)) }
            return ([product.price] + others).compactMap { price in
                if PriceAvailability(of: price) == .unknownCurrency {
                    let id = product.id.text
                    return unchecked(
                        price, of: id,
                        LocalizedText(en: "The catalogue lists \(id) at \(price):", zh: "商品目录中 \(id) 的价格为 \(price)："))
                }
                guard let off = offTable(price) else { return nil }
                return ProductFinding(
                    code: .priceOffTable, product: product.id.text,
                    sentence: LocalizedText(
                        en: "The catalogue lists \(product.id) at \(price): \(off.en)",
                        zh: "商品目录中 \(product.id) 的价格为 \(price)：\(off.zh)"),
                    cure: LocalizedText(
                        en: "List the price that App Store Connect shows; `till tiers PRICE CURRENCY` names the "
                            + "nearest tiers.",
                        zh: "请填写 App Store Connect 中的价格；`till tiers PRICE CURRENCY` 会列出相邻的档位。"))
            }
        }
    }

    /// Products that customers can buy and that the catalogue does not know: their payments would wait in quarantine.
    func missing(from catalog: Catalog) -> [ProductFinding] {
        products.filter { $0.isSold(in: environment) && catalog[$0.id] == nil }.map { product in
            ProductFinding(
                code: .missingFromCatalog, product: product.id.text,
                sentence: LocalizedText(
                    en: "The store sells \(product.id), and the catalogue does not list it: a payment for it waits in "
                        + "quarantine.",
                    zh: "商店出售 \(product.id)，而商品目录中没有它：为它付的款会进入待认领。"),
                cure: LocalizedText(
                    en: "Add it to the catalogue with what it gives, or remove it from sale.",
                    zh: "请将它加入商品目录并写明给予的内容，或将其下架。"))
        }
    }
}
