import TillBilling

/// The steps of a product from the developer to the customers (facts/business-rules §3).
enum ProductReview {
    /// A step taken by the developer or by App Review.
    enum Step: String, CaseIterable {
        case submit
        case startReview
        case approve
        case reject
        case requestChanges
        case removeFromSale
        case returnToSale
    }

    /// The state after a step; nil if the state does not allow the step.
    ///
    /// - Parameter byApple: Apple removes the product from sale, and the developer can't bring it back.
    static func state(
        after step: Step, of state: ProductState, withAppVersion: Bool, byApple: Bool = false
    ) -> ProductState? {
        switch (step, state) {
        case (.submit, .readyToSubmit), (.submit, .rejected), (.submit, .developerActionNeeded): .waitingForReview
        case (.startReview, .waitingForReview): .inReview
        case (.approve, .inReview): withAppVersion ? .pendingBinaryApproval : .approved
        case (.approve, .pendingBinaryApproval): .approved
        case (.reject, .inReview): .rejected
        case (.requestChanges, .inReview): .developerActionNeeded
        case (.removeFromSale, .approved): byApple ? .removedFromSale : .developerRemovedFromSale
        case (.returnToSale, .developerRemovedFromSale): .approved
        default: nil
        }
    }

    /// The steps that a state allows.
    static func steps(from state: ProductState) -> [Step] {
        Step.allCases.filter { self.state(after: $0, of: state, withAppVersion: false) != nil }
    }

    /// The metadata that App Review requires before it starts (facts/business-rules §2).
    static func missing(_ product: StoreProduct) -> [String] {
        (product.hasReviewScreenshot ? [] : ["reviewScreenshot"])
            + (product.localizations.isEmpty ? ["localizations"] : []) + (product.prices.isEmpty ? ["prices"] : [])
    }

    /// The state of a saved product: its metadata decides between Missing Metadata and Ready to Submit.
    static func reviewed(_ product: StoreProduct) -> ProductState {
        switch product.state {
        case .missingMetadata, .readyToSubmit: missing(product).isEmpty ? .readyToSubmit : .missingMetadata
        default: product.state
        }
    }

    /// Whether App Review has approved a product of the app. Its further products then need no app version.
    static func hasBeenApproved(_ state: ProductState) -> Bool {
        state == .approved || state == .developerRemovedFromSale || state == .removedFromSale
    }

    /// What a developer may still edit (facts/business-rules §3).
    enum Editable: Sendable {
        case everything
        /// Reference name, price, availability.
        case nameAndPrices
    }

    static func editable(in state: ProductState) -> Editable {
        state == .inReview || state == .pendingBinaryApproval ? .nameAndPrices : .everything
    }

    /// Whether two products differ in more than the reference name and the prices.
    static func differInMore(_ one: StoreProduct, _ other: StoreProduct) -> Bool {
        var one = one
        one.name = other.name
        one.prices = other.prices
        one.state = other.state
        one.isWithAppVersion = other.isWithAppVersion
        one.appleID = other.appleID
        return one != other
    }
}

// MARK: Store operations

extension ProductReview {
    static func take(
        _ step: Step, _ id: String, withAppVersion: Bool, byApple: Bool, _ change: StoreChange
    ) throws -> Result<StoreProduct, StoreRefusal> {
        guard var product = try ProductTable.find(ProductID(id), change.connection) else {
            return .failure(try ProductTable.unknown(id, change.connection))
        }
        guard product.kind != .freeSubscription else { return .failure(.discontinued(id)) }
        if step == .submit {
            product.state = reviewed(product)
            let missing = missing(product)
            guard missing.isEmpty else { return .failure(.missingMetadata(id, missing)) }
            let isFirst = try !ProductTable.states(change.connection).contains(where: hasBeenApproved)
            guard withAppVersion || !isFirst else { return .failure(.needsAppVersion(id)) }
            product.isWithAppVersion = withAppVersion
        }
        let next = state(
            after: step, of: product.state, withAppVersion: product.isWithAppVersion, byApple: byApple)
        guard let next else { return .failure(.illegalStep(id, step, product.state)) }
        product.state = next
        // The app version is released, and later submissions need none.
        if next == .approved { product.isWithAppVersion = false }
        try ProductTable.update(product, change.connection)
        return .success(product)
    }

    /// The developer creates a product. Its metadata decides between Missing Metadata and Ready to Submit; its id can
    /// neither be changed nor used again.
    static func create(_ product: StoreProduct, _ change: StoreChange) throws -> Result<StoreProduct, StoreRefusal> {
        guard product.kind != .freeSubscription else { return .failure(.discontinued(product.id.text)) }
        var product = product
        product.state = .missingMetadata
        product.isWithAppVersion = false
        product.appleID = 0
        product.state = reviewed(product)
        return try ProductTable.add(product, change.connection)
    }

    /// The developer changes a part of one product's metadata.
    static func amend(
        _ id: String, with metadata: ProductMetadata, _ change: StoreChange
    ) throws -> Result<StoreProduct, StoreRefusal> {
        guard let saved = try ProductTable.find(ProductID(id), change.connection) else {
            return .failure(try ProductTable.unknown(id, change.connection))
        }
        return try edit(metadata.applied(to: saved), change)
    }

    /// The developer saves one product again. Its id and kind stay, and the store determines its state.
    static func edit(_ product: StoreProduct, _ change: StoreChange) throws -> Result<StoreProduct, StoreRefusal> {
        guard let saved = try ProductTable.find(product.id, change.connection) else {
            return .failure(try ProductTable.unknown(product.id.text, change.connection))
        }
        guard saved.kind == product.kind else { return .failure(.kindIsFixed(product.id.text, saved.kind)) }
        guard saved.kind != .freeSubscription else { return .failure(.discontinued(product.id.text)) }
        if editable(in: saved.state) == .nameAndPrices, differInMore(saved, product) {
            return .failure(.notEditable(product.id.text, saved.state))
        }
        var product = product
        product.state = saved.state
        product.isWithAppVersion = saved.isWithAppVersion
        product.appleID = saved.appleID
        product.state = reviewed(product)
        try ProductTable.update(product, change.connection)
        return .success(product)
    }
}

/// A part of a product's metadata, as the developer's form sends it. What is nil stays.
struct ProductMetadata: Sendable, Hashable {
    var name: String?
    var prices: [String: Money]?
    var hasReviewScreenshot: Bool?
    /// Replaces the text in the same locale.
    var localization: StoreProduct.Localization?

    func applied(to product: StoreProduct) -> StoreProduct {
        var product = product
        if let name { product.name = name }
        if let prices { product.prices = prices }
        if let hasReviewScreenshot { product.hasReviewScreenshot = hasReviewScreenshot }
        if let localization {
            product.localizations.removeAll { $0.locale == localization.locale }
            product.localizations.append(localization)
        }
        return product
    }
}

/// What App Store Connect refuses to save (facts/business-rules §2, §8.1, §9; facts/limits §1, §2). What it saves and
/// App Review rejects is a `ProductFinding`.
enum ProductRules {
    /// The most active promotional offers, and the most active code offers, in one subscription.
    static let offerLimit = 10
    /// The most prices of all products together: our own bound, 1,100 products in every storefront.
    static let priceLimit = 200_000

    static func check(_ product: StoreProduct, at place: FileMember) throws(ControlError) {
        guard product.id.isWellFormed else {
            throw place.wrong(
                "a product whose id is 1 to 100 letters, digits, - . _", "商品 id 由 1 到 100 个字母、数字、- . _ 组成的商品")
        }
        guard !product.isFamilyShareable || product.kind == .nonConsumable || product.kind == .autoRenewable else {
            throw place.wrong(
                "without familyShareable: only non-consumables and auto-renewable subscriptions can be shared",
                "不可家人共享的商品：只有非消耗型商品与自动续期订阅可以共享")
        }
        guard product.kind != .freeSubscription || product.prices.values.allSatisfy({ $0.amount == 0 }) else {
            throw place.wrong(
                "free in every storefront: it is a free subscription (\"tier\": 0)",
                "在各地区均免费的免费订阅（\"tier\": 0）")
        }
        if let terms = product.subscription, terms.allowsMonthlyBilling, terms.period != .year {
            throw place.wrong(
                "billed at once: only a year can be paid by the month (App Store Server API 1.21)", "一次付清：只有年度订阅可按月付款")
        }
        if let terms = product.subscription, let prices = terms.monthlyPrices {
            let areOfTheProduct = prices.allSatisfy { product.prices[$0.key]?.currency == $0.value.currency }
            guard terms.hasBothPlans, !prices.isEmpty, areOfTheProduct else {
                throw place.wrong(
                    "priced by the month (monthlyPrices) only with monthlyBilling, where the year has a price, "
                        + "in its currency",
                    "只有可按月付款且该地区有年价时才有 monthlyPrices，货币须相同")
            }
        }
        guard Set(product.localizations.map(\.locale)).count == product.localizations.count else {
            throw place.wrong("localized once for each locale", "每种语言只有一份本地化文字的商品")
        }
        for kind in ProductOffer.Kind.allCases {
            let limit = kind == .introductory ? 1 : offerLimit
            guard product.offers(kind).count <= limit else {
                throw place.wrong(
                    "a product with at most \(limit) \(kind.rawValue) offers", "最多有 \(limit) 项 \(kind.rawValue) 优惠的商品")
            }
        }
        let identifiers = product.offers.compactMap(\.identifier)
        guard Set(identifiers).count == identifiers.count else {
            throw place.wrong("a product that names no offer twice", "优惠标识不重复的商品")
        }
        for (index, offer) in product.offers.enumerated() {
            try check(offer, of: product, at: FileMember(.null, path: place.place("offers") + "[\(index)]"))
        }
    }

    private static func check(
        _ offer: ProductOffer, of product: StoreProduct, at place: FileMember
    ) throws(ControlError) {
        guard product.kind != .freeSubscription else {
            throw place.wrong("absent: a free subscription has no offers", "省略：免费订阅没有优惠")
        }
        let isForSubscription = product.kind == .autoRenewable
        guard isForSubscription || offer.kind == .code else {
            throw place.wrong("an offer code: other offers are for auto-renewable subscriptions", "优惠代码：其他优惠只属于自动续期订阅")
        }
        guard (offer.discount == .oneTime) != isForSubscription else {
            throw place.wrong(
                "ONE_TIME for one-time purchases, and for subscriptions anything else",
                "一次性购买用 ONE_TIME，订阅用其他付款方式")
        }
        guard (offer.identifier == nil) == (offer.kind == .introductory) else {
            throw place.wrong(
                "named by an identifier, unless it is introductory", "带 identifier 的优惠（推介促销没有 identifier）")
        }
        guard isForSubscription == (offer.period != nil) else {
            throw place.wrong(
                "given a period if it belongs to a subscription, and none otherwise", "订阅优惠要有周期，一次性购买没有")
        }
        guard (1...999).contains(offer.period?.count ?? 1) else {
            throw place.wrong("of at most 999 days, weeks, months or years", "不超过 999 天、周、月或年的优惠")
        }
        if let customers = offer.customers {
            guard isForSubscription, offer.kind == .code, !customers.isEmpty, Set(customers).count == customers.count
            else {
                throw place.wrong(
                    "for some customers, each named once, only by code and for a subscription",
                    "只有订阅的优惠代码可限定 customers，且不重复、不为空")
            }
        }
        guard offer.periods == 1 || offer.discount == .payAsYouGo else {
            throw place.wrong("limited to one period, unless it is pay as you go", "只有随用随付可有多个周期")
        }
        if offer.discount == .payAsYouGo, let terms = product.subscription, offer.period != OfferPeriod(terms.period) {
            throw place.wrong(
                "paid at the subscription's own period, \(terms.period.rawValue)",
                "按订阅本身的周期 \(terms.period.rawValue) 付款")
        }
        guard offer.discount == .freeTrial || !offer.prices.isEmpty else {
            throw place.wrong("priced, unless it is a free trial", "有价格的优惠（免费试用除外）")
        }
    }

    /// The rules for a list of products as a whole.
    static func check(_ products: [StoreProduct]) throws(ControlError) {
        var seen: Set<String> = []
        for product in products where !seen.insert(product.id.text).inserted {
            throw .badRequest("duplicate_product", "\(product.id) is listed twice.", "商品 \(product.id) 重复。")
        }
        guard products.reduce(0, { $0 + $1.prices.count }) <= priceLimit else {
            throw RequestBody.wrong(
                "products", "a list with at most \(priceLimit) prices in all", "总共不超过 \(priceLimit) 个价格的列表")
        }
    }
}
