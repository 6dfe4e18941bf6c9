import TillAppStore
import TillBilling

/// Xcode's StoreKit configuration file (`.storekit`). Apple documents no format: this reads the files of Xcode 12 to 26
/// (versions 1 to 5). Members that are new or have no meaning here are ignored and listed; wrong ones are refused by
/// path.
struct StoreKitFile {
    private let root: FileMember
    private let storefront: String
    private let currency: Currency
    private var ignored: Set<String> = []

    /// The most ignored members that are listed.
    private static let ignoredLimit = 200
    /// Xcode writes at least one of these members; Till's own form has none of them.
    static func isRecognised(by members: Set<String>) -> Bool {
        !members.isDisjoint(with: [
            "identifier", "subscriptionGroups", "nonRenewingSubscriptions", "settings", "version",
        ])
    }

    init(_ root: FileMember) throws(ControlError) {
        self.root = root
        let named = try root.member("settings")?.member("_storefront")
        let code = try named?.text(upTo: 20) ?? Self.storefrontOfOlderFiles
        guard let currency = Storefront.currency(of: code) else {
            throw .noStorefront(code, member: "settings._storefront")
        }
        storefront = code
        self.currency = currency
    }

    /// Xcode's default storefront (SKTestSession.h, `storefront`), for files without one.
    private static let storefrontOfOlderFiles = "USA"

    func content() throws(ControlError) -> ProductFile {
        var reader = self
        return try reader.read()
    }

    private mutating func read() throws(ControlError) -> ProductFile {
        try checkVersion()
        note(
            root,
            except: [
                "identifier", "version", "products", "nonRenewingSubscriptions", "subscriptionGroups", "settings",
            ])
        var products: [StoreProduct] = []
        for name in ["products", "nonRenewingSubscriptions"] {
            for item in try root.list(name, upTo: ProductText.limit) {
                products.append(try oneTimeProduct(item, isNonRenewing: name == "nonRenewingSubscriptions"))
            }
        }
        for group in try root.list("subscriptionGroups", upTo: ProductText.limit) {
            note(group, except: ["id", "name", "subscriptions"])
            let id = try group.required("id").text(upTo: 64)
            let name = try group.member("name").flatMap { $0.value == "" ? nil : $0 }?.text(upTo: ProductText.copyLimit)
            for item in try group.list("subscriptions", upTo: ProductText.limit) {
                var product = try subscription(item, group: id)
                product.subscription?.groupName = name
                products.append(product)
            }
        }
        guard products.count <= ProductText.limit else {
            throw RequestBody.wrong(
                "products", "a list of at most \(ProductText.limit)", "不超过 \(ProductText.limit) 项的列表")
        }
        let pace = try settings()
        let isNamed = try root.member("settings")?.member("_storefront") != nil
        return ProductFile(
            products: products, storefront: isNamed ? storefront : nil, pace: pace,
            ignored: Array(ignored.sorted().prefix(Self.ignoredLimit)))
    }

    /// A newer major version is read too, and its new members are listed as ignored.
    private mutating func checkVersion() throws(ControlError) {
        guard let version = try root.member("version") else { return }
        let major = try version.integer("major", in: 0...1_000) ?? 1
        if major > 5 { ignored.insert("version.major") }
    }

    // MARK: Settings

    private mutating func settings() throws(ControlError) -> RenewalPace? {
        guard let settings = try root.member("settings") else { return nil }
        note(settings, except: ["_storefront", "_timeRate"])
        guard let rate = try settings.integer("_timeRate", in: 0...1_000_000) else { return nil }
        if let pace = Self.paces[rate] { return pace }
        ignored.insert("settings._timeRate")
        return nil
    }

    /// The numbers of `SKTestSession.TimeRate` (SKTestSession.h). Of the old rates per day, only those with a successor
    /// per month.
    private static let paces: [Int64: RenewalPace] = [
        0: .real, 4: .monthInThirtyMinutes, 5: .monthInFifteenMinutes, 6: .monthInThirtySeconds, 10: .monthInOneHour,
        11: .monthInThirtyMinutes, 12: .monthInFifteenMinutes, 13: .monthInFiveMinutes, 15: .monthInThirtySeconds,
        1_000: .everyFifteenMinutes, 1_001: .everyFiveMinutes, 1_002: .everyMinute, 1_003: .everyThirtySeconds,
        1_004: .everyTenSeconds, 1_005: .everyTwoSeconds,
    ]

    // MARK: Products

    private static let commonMembers = [
        "displayPrice", "familyShareable", "localizations", "productID", "referenceName", "type", "codeOffers",
    ]

    private mutating func oneTimeProduct(_ item: FileMember, isNonRenewing: Bool) throws(ControlError) -> StoreProduct {
        note(item, except: Self.commonMembers)
        let kinds: [(text: String, value: ProductType)] =
            isNonRenewing
            ? [("NonRenewingSubscription", .nonRenewing)]
            : [("Consumable", .consumable), ("NonConsumable", .nonConsumable)]
        guard let kind = try item.choice("type", of: kinds) ?? (isNonRenewing ? .nonRenewing : nil) else {
            _ = try item.required("type")
            throw item.wrong("a product of a type", "有类型的商品")
        }
        var product = try product(item, kind, nil)
        for offer in try item.list("codeOffers", upTo: 100) {
            product.offers.append(try oneTimeOffer(offer))
        }
        try ProductRules.check(product, at: item)
        return product
    }

    private mutating func subscription(_ item: FileMember, group: String) throws(ControlError) -> StoreProduct {
        note(
            item,
            except: Self.commonMembers + [
                "groupNumber", "subscriptionGroupID", "recurringSubscriptionPeriod", "introductoryOffer",
                "introductoryOffers", "adHocOffers", "winbackOffers", "billingPlans",
            ])
        _ = try item.choice("type", of: [("RecurringSubscription", ProductType.autoRenewable)])
        let named = try item.text("subscriptionGroupID", upTo: 64)
        guard named == nil || named == group else {
            throw FileMember(.null, path: item.place("subscriptionGroupID")).wrong(
                "the id of the group it stands in, \(FileMember.legible(group))",
                "所在组的 id：\(FileMember.legible(group))")
        }
        guard let period = try item.choice("recurringSubscriptionPeriod", of: SubscriptionPeriod.self) else {
            throw .badRequest(
                "missing_member", "\"\(item.place("recurringSubscriptionPeriod"))\" is missing.",
                "缺少成员 “\(item.place("recurringSubscriptionPeriod"))”。")
        }
        var terms = SubscriptionTerms(
            groupID: group, level: try item.integer("groupNumber", in: 1...1_000) ?? 1, period: period,
            allowsMonthlyBilling: false)
        if period == .year, let plan = try monthlyPlan(item) {
            terms.allowsMonthlyBilling = true
            terms.monthlyPrices = try plan.member("displayPrice").map { _ throws(ControlError) in
                [storefront: try price(plan)]
            }
        }
        var product = try product(item, .autoRenewable, terms)
        product.offers = try offers(item, period)
        try ProductRules.check(product, at: item)
        return product
    }

    private mutating func product(
        _ item: FileMember, _ kind: ProductType, _ terms: SubscriptionTerms?
    ) throws(ControlError) -> StoreProduct {
        let id = try item.required("productID").text(upTo: 100)
        let name = try item.member("referenceName").flatMap { $0.value == "" ? nil : $0 }
        var product = StoreProduct(
            id: ProductID(id), kind: kind, name: try name?.text(upTo: 64) ?? String(id.prefix(64)),
            prices: [storefront: try price(item)], subscription: terms)
        let isShareable = try item.bool("familyShareable") ?? false
        product.isFamilyShareable = isShareable && (kind == .nonConsumable || kind == .autoRenewable)
        if isShareable, !product.isFamilyShareable { ignored.insert(Self.shape(item.place("familyShareable"))) }
        for text in try item.list("localizations", upTo: 100) {
            note(text, except: ["locale", "displayName", "description"])
            product.localizations.append(
                StoreProduct.Localization(
                    // Xcode writes en_US where App Store Connect writes en-US.
                    locale: String(try text.required("locale").text(upTo: 20).map { $0 == "_" ? "-" : $0 }),
                    displayName: try text.member("displayName") == nil
                        ? "" : text.copy("displayName", upTo: ProductText.copyLimit),
                    description: try text.member("description") == nil
                        ? "" : text.copy("description", upTo: ProductText.copyLimit)))
        }
        return product
    }

    private func price(_ item: FileMember) throws(ControlError) -> Money {
        let member = try item.required("displayPrice")
        if case .string(let text) = member.value, let price = Money(decimal: text, currency: currency) { return price }
        throw member.wrong(
            "a decimal text in \(currency.text) such as \"\(currency.minorDigits == 0 ? "120" : "0.99")\"",
            "以 \(currency.text) 计的十进制文本，例如 “\(currency.minorDigits == 0 ? "120" : "0.99")”")
    }

    /// Version 5: the monthly billing plan, a commitment of twelve months; nil if there is none.
    private mutating func monthlyPlan(_ item: FileMember) throws(ControlError) -> FileMember? {
        var monthly: FileMember?
        for plan in try item.list("billingPlans", upTo: 10) {
            let isMonthly = try plan.required("billingPlanType").text(upTo: 40) == "MONTHLY"
            // Only the monthly price is read here; the product has the price of a year paid at once.
            note(plan, except: ["billingPlanType", "isEnabled"] + (isMonthly ? ["displayPrice"] : []))
            if isMonthly, try plan.bool("isEnabled") ?? true { monthly = plan }
        }
        return monthly
    }
}

// MARK: Offers

extension StoreKitFile {
    private static let modes: [(text: String, value: ProductOffer.Discount)] = [
        ("free", .freeTrial), ("payAsYouGo", .payAsYouGo), ("payUpFront", .payUpFront),
    ]
    private static let offerMembers = [
        "displayPrice", "numberOfPeriods", "offerID", "paymentMode", "referenceName", "subscriptionPeriod",
    ]

    private mutating func offers(_ item: FileMember, _ period: SubscriptionPeriod) throws(ControlError)
        -> [ProductOffer]
    {
        var offers: [ProductOffer] = []
        let introductory =
            try [item.member("introductoryOffer")].compactMap { $0 } + item.list("introductoryOffers", upTo: 100)
        for (index, offer) in introductory.enumerated() {
            // App Store Connect allows one for each territory; the file has a single storefront.
            guard index == 0 else {
                ignored.insert(Self.shape(offer.path))
                continue
            }
            offers.append(try self.offer(offer, .introductory, period))
        }
        for (name, kind) in [
            ("adHocOffers", ProductOffer.Kind.promotional), ("codeOffers", .code), ("winbackOffers", .winBack),
        ] {
            for offer in try item.list(name, upTo: 100) { offers.append(try self.offer(offer, kind, period)) }
        }
        return offers
    }

    private mutating func offer(
        _ item: FileMember, _ kind: ProductOffer.Kind, _ period: SubscriptionPeriod
    ) throws(ControlError) -> ProductOffer {
        note(item, except: Self.offerMembers + (kind == .code ? ["eligibility"] : []))
        guard let discount = try item.choice("paymentMode", of: Self.modes) else {
            throw .badRequest(
                "missing_member", "\"\(item.place("paymentMode"))\" is missing.", "缺少成员 “\(item.place("paymentMode"))”。"
            )
        }
        var length = OfferPeriod(period)
        if let member = try item.member("subscriptionPeriod") {
            guard let named = OfferPeriod(try member.text(upTo: 6)) else {
                throw member.wrong("a period such as P3D, P1W, P1M or P1Y", "周期，例如 P3D、P1W、P1M、P1Y")
            }
            length = named
        }
        var periods = try item.integer("numberOfPeriods", in: 1...100) ?? 1
        if discount != .payAsYouGo, periods > 1 {
            // Two free periods of a week become one free offer of two weeks.
            (length, periods) = (OfferPeriod(length.count * periods, length.unit), 1)
        }
        return ProductOffer(
            kind: kind, identifier: try identifier(item, kind), discount: discount, period: length, periods: periods,
            prices: discount == .freeTrial ? [:] : [storefront: try price(item)],
            customers: kind == .code ? try customers(item) : nil)
    }

    private static let customers: [String: ProductOffer.Customer] = [
        "new": .new, "existing": .existing, "expired": .expired,
    ]

    /// Xcode lists all three kinds by default; an offer for all customers is stored as nil.
    private mutating func customers(_ item: FileMember) throws(ControlError) -> [ProductOffer.Customer]? {
        guard let list = try item.member("eligibility") else { return nil }
        var named: Set<ProductOffer.Customer> = []
        for member in try list.items(upTo: 10) {
            guard let customer = Self.customers[try member.text(upTo: 20)] else {
                throw member.wrong("new, existing or expired", "new、existing 或 expired")
            }
            named.insert(customer)
        }
        guard !named.isEmpty else { throw list.wrong("a list of at least one", "至少一项的列表") }
        let all = ProductOffer.Customer.allCases
        return named.count == all.count ? nil : all.filter(named.contains)
    }

    /// An offer code of a one-time purchase (API 1.18).
    private mutating func oneTimeOffer(_ item: FileMember) throws(ControlError) -> ProductOffer {
        note(item, except: Self.offerMembers)
        return ProductOffer(
            kind: .code, identifier: try identifier(item, .code), discount: .oneTime,
            prices: [storefront: try price(item)])
    }

    /// Code offers have a reference name, and an id in later versions only.
    private func identifier(_ item: FileMember, _ kind: ProductOffer.Kind) throws(ControlError) -> String? {
        if kind == .introductory { return nil }
        if let id = try item.text("offerID", upTo: 64) { return id }
        if let name = try item.text("referenceName", upTo: 64) { return name }
        return try item.required("offerID").text(upTo: 64)
    }

    // MARK: Ignored members

    /// Records the members that are not read. Values of false, null or empty ask for nothing and are skipped.
    private mutating func note(_ item: FileMember, except known: [String]) {
        guard case .object(let members) = item.value, ignored.count < Self.ignoredLimit else { return }
        for (name, value) in members where !known.contains(name) {
            switch value {
            case .null, .bool(false), .string(""), .array([]), .object([:]): continue
            default: ignored.insert(Self.shape(item.place(name)))
            }
        }
    }

    /// A path without list indices: `products[].internalID`.
    private static func shape(_ path: String) -> String {
        var shape = ""
        var isInside = false
        for character in path {
            if character == "]" { isInside = false }
            if !isInside { shape.append(character) }
            if character == "[" { isInside = true }
        }
        return shape
    }
}
