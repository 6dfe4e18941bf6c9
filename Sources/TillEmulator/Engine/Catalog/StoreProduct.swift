import TillBilling

extension ProductType {
    /// The types that the emulated store sells: all except the one that Apple discontinued, which may stand in an old
    /// catalogue.
    static let sold = allCases.filter { $0 != .freeSubscription }
}

/// One product on sale in the emulated store.
public struct StoreProduct: Sendable, Hashable {
    public var id: ProductID
    public var kind: ProductType
    /// The reference name of App Store Connect.
    public var name: String
    /// The price of one unit, by storefront (ISO 3166-1 alpha-3). Without a price the product is not for sale there.
    public var prices: [String: Money]
    /// Set for auto-renewables only.
    public var subscription: SubscriptionTerms?
    public var offers: [ProductOffer] = []
    /// Whether Family Sharing applies: non-consumables and auto-renewables only.
    public var isFamilyShareable = false
    public var state = ProductState.approved
    /// Whether it was submitted together with an app version; it then waits for that version's approval.
    public var isWithAppVersion = false
    /// The texts that customers see, by locale: `en-US`, `zh-Hans`.
    public var localizations: [Localization] = []
    /// App Review requires a screenshot before it starts (facts/business-rules §2).
    public var hasReviewScreenshot = true
    /// The product's own number in the store; 0 until the store assigns it.
    public var appleID: Int64 = 0

    public struct Localization: Sendable, Hashable, Codable {
        public var locale: String
        public var displayName: String
        public var description: String

        public init(locale: String, displayName: String, description: String) {
            self.locale = locale
            self.displayName = displayName
            self.description = description
        }
    }

    public init(
        id: ProductID, kind: ProductType, name: String, prices: [String: Money], subscription: SubscriptionTerms? = nil
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.prices = prices
        self.subscription = subscription
    }

    /// Whether customers can buy it: in production once it is approved and has a price, in sandbox from Ready to Submit
    /// on (facts/business-rules §3).
    public func isSold(in environment: StoreEnvironment) -> Bool {
        guard kind != .freeSubscription else { return false }
        return switch environment {
        case .production: state == .approved && !prices.isEmpty
        case .sandbox, .xcode: !state.isIncomplete && !prices.isEmpty
        }
    }

    func offers(_ kind: ProductOffer.Kind) -> [ProductOffer] { offers.filter { $0.kind == kind } }
}

/// A product's state in App Store Connect and App Review (facts/business-rules §3, `InAppPurchaseState`).
public enum ProductState: String, Sendable, Hashable, Codable, CaseIterable {
    case missingMetadata = "MISSING_METADATA"
    case waitingForUpload = "WAITING_FOR_UPLOAD"
    case processingContent = "PROCESSING_CONTENT"
    case readyToSubmit = "READY_TO_SUBMIT"
    case waitingForReview = "WAITING_FOR_REVIEW"
    case inReview = "IN_REVIEW"
    case developerActionNeeded = "DEVELOPER_ACTION_NEEDED"
    case pendingBinaryApproval = "PENDING_BINARY_APPROVAL"
    case approved = "APPROVED"
    case developerRemovedFromSale = "DEVELOPER_REMOVED_FROM_SALE"
    case removedFromSale = "REMOVED_FROM_SALE"
    case rejected = "REJECTED"

    /// A state before Ready to Submit: the product is visible to no customer and no tester.
    var isIncomplete: Bool { self == .missingMetadata || self == .waitingForUpload || self == .processingContent }
}

/// The terms of an auto-renewable subscription.
public struct SubscriptionTerms: Sendable, Hashable, Codable {
    /// A customer has one subscription per group at a time (facts/business-rules §8.1).
    public var groupID: String
    /// The group's name for customers; nil: its id.
    public var groupName: String?
    /// The rank in the group: 1 is the highest service level; several products may share a level.
    public var level: Int64
    public var period: SubscriptionPeriod
    /// Whether a year may be paid monthly, with a commitment of twelve months (API 1.21, `billingPlanType`).
    public var allowsMonthlyBilling: Bool
    /// The monthly price of such a year, by storefront; by default a twelfth of the yearly price.
    public var monthlyPrices: [String: Money]?

    public init(
        groupID: String, groupName: String? = nil, level: Int64 = 1, period: SubscriptionPeriod,
        allowsMonthlyBilling: Bool = false,
        monthlyPrices: [String: Money]? = nil
    ) {
        self.groupID = groupID
        self.groupName = groupName
        self.level = level
        self.period = period
        self.allowsMonthlyBilling = allowsMonthlyBilling
        self.monthlyPrices = monthlyPrices
    }

    /// Whether a customer chooses between one payment for the year and monthly payments.
    var hasBothPlans: Bool { allowsMonthlyBilling && period == .year }

    /// The price of one charge. A twelfth is rounded up to the minor unit, so that twelve payments are never less than
    /// the yearly price.
    func price(ofYear price: Money, storefront: String, byTheMonth: Bool) -> Money {
        guard byTheMonth else { return price }
        if let named = monthlyPrices?[storefront], named.currency == price.currency { return named }
        return Money(amount: (price.amount + 11) / 12, currency: price.currency)
    }
}

/// The length of one subscription period (facts/business-rules §8.1), in ISO 8601.
public enum SubscriptionPeriod: String, Sendable, Hashable, Codable, CaseIterable {
    case week = "P1W"
    case month = "P1M"
    case twoMonths = "P2M"
    case threeMonths = "P3M"
    case sixMonths = "P6M"
    case year = "P1Y"

    /// The end of the period that starts at `start`. Calendar months keep the day of the month; a month without that
    /// day uses its last one.
    public func end(from start: Instant) -> Instant {
        OfferPeriod(self).end(from: start, billingDay: start.dayOfMonth)
    }
}

extension OfferPeriod {
    /// The end of the period that starts at `start`. Months and years end on the billing day, or on the last day of a
    /// month without it: a subscription of 31 January renews on 28 February and again on 31 March (facts/business-rules
    /// §8.1; the return to the 31st is our choice).
    func end(from start: Instant, billingDay: Int64) -> Instant {
        let months: Int64
        switch unit {
        case .day: return start.adding(seconds: count * 86_400)
        case .week: return start.adding(seconds: 7 * count * 86_400)
        case .month: months = count
        case .year: months = 12 * count
        }
        let dayNumber = start.dayNumber
        let date = CivilDate(daysSinceEpoch: dayNumber)
        let monthIndex = date.year * 12 + date.month - 1 + Int(months)
        let year = monthIndex / 12
        let month = monthIndex % 12 + 1
        let day = min(Int(billingDay), CivilDate.length(ofMonth: month, year: year))
        guard let end = CivilDate(year: year, month: month, day: day) else { return start }
        return start.adding(seconds: Int64(end.daysSinceEpoch - dayNumber) * 86_400)
    }

    /// Whether its periods end on a day of the month.
    var isCalendar: Bool { unit == .month || unit == .year }
}

extension Instant {
    /// Days since 1970-01-01, UTC.
    fileprivate var dayNumber: Int {
        let (quotient, remainder) = seconds.quotientAndRemainder(dividingBy: 86_400)
        return Int(remainder < 0 ? quotient - 1 : quotient)
    }

    /// 1 to 31, in UTC.
    var dayOfMonth: Int64 { Int64(CivilDate(daysSinceEpoch: dayNumber).day) }
}

extension StoreRefusal {
    static func missingMetadata(_ id: String, _ missing: [String]) -> StoreRefusal {
        let names = missing.joined(separator: ", ")
        return StoreRefusal(
            "missing_metadata", status: 409, "\(id) can't be submitted yet: \(names) is missing.",
            "\(id) 还不能提交审核：缺少 \(names)。")
    }

    static func needsAppVersion(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "needs_app_version", status: 409,
            "\(id) is the app's first product and must be submitted together with an app version: "
                + "send {\"withAppVersion\": true}.",
            "\(id) 是此 App 的首个商品，须与 App 版本一起提交：请发送 {\"withAppVersion\": true}。")
    }

    static func notOnSale(_ id: String, _ state: ProductState) -> StoreRefusal {
        StoreRefusal(
            "not_on_sale", status: 409,
            "\(id) can't be bought: its state is \(state.rawValue). POST /emulator/products/\(id)/submit and the other "
                + "review steps change the state.",
            "\(id) 当前不能购买：状态为 \(state.rawValue)。可用 POST /emulator/products/\(id)/submit 等审核步骤更改。")
    }

    static func illegalStep(_ id: String, _ step: ProductReview.Step, _ state: ProductState) -> StoreRefusal {
        let steps = ProductReview.steps(from: state).map(\.rawValue).joined(separator: ", ")
        return StoreRefusal(
            "illegal_step", status: 409,
            "\(id) is \(state.rawValue): \(step.rawValue) is not allowed in this state"
                + (steps.isEmpty ? "." : ", but \(steps) is."),
            "\(id) 处于 \(state.rawValue)，不能 \(step.rawValue)" + (steps.isEmpty ? "。" : "，可以：\(steps)。"))
    }

    static func kindIsFixed(_ id: String, _ kind: ProductType) -> StoreRefusal {
        StoreRefusal(
            "kind_is_fixed", status: 409,
            "The type of \(id) cannot change from \(kind.rawValue). A product of another type needs a new id.",
            "\(id) 的类型是 \(kind.rawValue)，不可更改；其他类型的商品需要新的 ID。")
    }

    static func idWasUsed(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "id_was_used", status: 409,
            "\(id) was removed, and App Store Connect ids cannot be reused. Choose another id, or add ?force=true.",
            "\(id) 曾使用过且已删除，App Store Connect 不允许再次使用。请换一个 ID，或加上 ?force=true。")
    }

    static func productExists(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "product_exists", status: 409, "There is a product \(id) already. Choose another id.",
            "已有商品 \(id)，请换一个 ID。")
    }

    /// Newsstand's free subscriptions: Apple sells and creates none any more (facts/business-rules §1).
    static func discontinued(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "discontinued_type", status: 409,
            "\(id) is a free subscription, a type that Apple discontinued: old catalogues keep it unchanged, and it "
                + "can be neither created nor bought. Use an auto-renewable subscription.",
            "\(id) 是免费订阅，Apple 已停用这一类型：旧目录中的保持原样，既不能新建，也不能购买。请改用自动续期订阅。")
    }

    static func tooManyProducts(_ limit: Int) -> StoreRefusal {
        StoreRefusal(
            "too_many_products", status: 409, "The store has \(limit) products, the most that it takes.",
            "商店已有 \(limit) 件商品，不能再添加。")
    }

    static func notEditable(_ id: String, _ state: ProductState) -> StoreRefusal {
        StoreRefusal(
            "not_editable", status: 409,
            "\(id) is \(state.rawValue): only its name and its prices can be edited now.",
            "\(id) 处于 \(state.rawValue)：现在只能修改名称和价格。")
    }
}
