import TillBilling

/// A fault of a catalogue that App Review or customers will meet, with its cure.
struct ProductFinding: Sendable, Hashable {
    enum Code: String, Sendable, CaseIterable {
        case noAppVersion = "first_product_without_app_version"
        case notReturned = "not_returned_by_the_store"
        case unknownID = "unknown_id"
        case priceOffTable = "price_off_the_table"
        case foreignCurrency = "foreign_currency"
        case duplicateID = "duplicate_id"
        case wrongType = "wrong_type"
        case missingScreenshot = "missing_screenshot"
        case missingLocalization = "missing_localization"
        case longText = "text_may_be_too_long"
        case oddLevels = "odd_levels"
        case oddOfferPeriod = "odd_offer_period"
    }

    let code: Code
    /// Nil for a finding about a whole group.
    let product: String?
    /// What is wrong.
    let sentence: Text
    /// What to do about it.
    let cure: Text

    /// A product as the app expects it.
    struct Expectation: Sendable {
        var id: String
        var kind: ProductType?
    }
}

/// Checks a catalogue.
struct ProductLint {
    let products: [StoreProduct]
    let environment: Environment

    /// - Parameter expected: the app's own list; nil if the caller gave none.
    func findings(comparing expected: [ProductFinding.Expectation]? = nil) -> [ProductFinding] {
        let hasApproved = products.contains { ProductReview.hasBeenApproved($0.state) }
        var findings = products.flatMap { product in
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
                sentence: Text(
                    en: "\(id) would be the app's first product, and no app version is submitted with it.",
                    zh: "\(id) 是此 App 的首个商品，却没有随 App 版本一起提交。"),
                cure: Text(
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
                    sentence: Text(en: "\(id) has no screenshot for App Review.", zh: "\(id) 没有审核截图。"),
                    cure: Text(
                        en: "Upload one: \"reviewScreenshot\": true.", zh: "请上传截图：\"reviewScreenshot\": true。")))
        }
        // A product on sale had a localization when it was approved; only products before review need the finding.
        if product.localizations.isEmpty, product.state != .approved {
            findings.append(
                ProductFinding(
                    code: .missingLocalization, product: id,
                    sentence: Text(
                        en: "\(id) has no name and description for customers.", zh: "\(id) 没有给顾客看的名称和描述。"),
                    cure: Text(en: "Add one item at least to \"localizations\".", zh: "请在 \"localizations\" 中至少添加一项。")))
        }
        if !product.isSold(in: environment) {
            findings.append(
                ProductFinding(
                    code: .notReturned, product: id,
                    sentence: Text(
                        en: "The store does not return \(id): it is \(product.state.rawValue).",
                        zh: "商店不返回 \(id)：状态为 \(product.state.rawValue)。"),
                    cure: Text(
                        en: environment == .sandbox
                            ? "Complete its metadata; from READY_TO_SUBMIT on testers get it."
                            : "Bring it through review; in production customers get it once it is APPROVED.",
                        zh: environment == .sandbox
                            ? "请补全元数据；到 READY_TO_SUBMIT 后测试者即可获取。" : "请通过审核；生产环境中 APPROVED 后顾客才能获取。")))
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
                        sentence: Text(
                            en: "\(id) costs \(price) in \(shown): \(off.en)",
                            zh: "\(id) 在 \(shown) 的价格为 \(price)：\(off.zh)"),
                        cure: Text(
                            en: "Choose the price of a tier (\"tier\": 1), or one that App Store Connect offers there.",
                            zh: "请选用某一价格档（\"tier\": 1），或 App Store Connect 在该地区提供的价格。")))
            }
            if let code = storefronts.sorted().first(where: { Storefront.currency(of: $0) != price.currency }) {
                let currency = Storefront.currency(of: code)?.text ?? "?"
                findings.append(
                    ProductFinding(
                        code: .foreignCurrency, product: id,
                        sentence: Text(
                            en: "\(id) is priced in \(price.currency) in \(code), where customers pay in \(currency).",
                            zh: "\(id) 在 \(code) 以 \(price.currency) 标价，而当地顾客以 \(currency) 付款。"),
                        cure: Text(en: "Give the price in \(currency).", zh: "请改用 \(currency) 标价。")))
            }
        }
        return findings
    }

    private func offTable(_ price: Money) -> Text? {
        switch PriceStanding(of: price) {
        case .onTiers, .pricePoint, .unknownCurrency: nil
        case .notOffered:
            Text(en: "that is no price point of Apple's.", zh: "Apple 没有这个价格点。")
        case .onNoTier:
            Text(
                en: "that is on no classic tier; whether it is one of today's price points is not known here.",
                zh: "不在任何经典价格档上；是否为现行价格点，此处无从得知。")
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
                sentence: Text(
                    en: "The \(long.locale) name or description of \(id) is longer than 35 or 55 characters.",
                    zh: "\(id) 的 \(long.locale) 名称或描述超过 35 或 55 个字符。"),
                cure: Text(en: "Shorten it: 30 and 45 are safe.", zh: "请缩短：30 和 45 以内最为稳妥。"))
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
                sentence: Text(
                    en: "The offer \(name) of \(product.id) lasts \(period), which App Store Connect does not have.",
                    zh: "\(product.id) 的优惠 \(name) 时长为 \(period)，App Store Connect 没有这一选项。"),
                cure: Text(
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
                sentence: Text(
                    en: "The levels of group \(group) are \(shown): they count from 1 without a gap.",
                    zh: "订阅组 \(group) 的等级为 \(shown)：应从 1 起连续。"),
                cure: Text(en: "Number them from 1, the highest service.", zh: "请从 1（最高服务）起编号。"))
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
            sentence: Text(en: "The app lists \(id) twice.", zh: "App 的列表中 \(id) 出现了两次。"),
            cure: Text(en: "Remove one of the two.", zh: "请删去其中一个。"))
    }

    private func unknown(_ id: String, nearest: String?) -> ProductFinding {
        ProductFinding(
            code: .unknownID, product: id,
            sentence: Text(en: "The store has no product \(id).", zh: "商店没有商品 \(id)。"),
            cure: Text(
                en: nearest.map { "Did you mean \($0)?" } ?? "Create it, or correct the id in the app.",
                zh: nearest.map { "是否想写 \($0)？" } ?? "请新建该商品，或更正 App 中的 id。"))
    }

    private func wrongType(_ product: StoreProduct, _ kind: ProductType) -> ProductFinding {
        ProductFinding(
            code: .wrongType, product: product.id.text,
            sentence: Text(
                en: "The app takes \(product.id) for \(kind.rawValue), the store sells it as \(product.kind.rawValue).",
                zh: "App 将 \(product.id) 当作 \(kind.rawValue)，商店却以 \(product.kind.rawValue) 出售。"),
            cure: Text(
                en: "Correct the app; a type never changes, so another one needs a new id.",
                zh: "请更正 App；类型不可更改，换类型需要新的 id。"))
    }
}
