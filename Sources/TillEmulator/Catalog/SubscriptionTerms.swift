import TillBilling

/// What makes a product an auto-renewable subscription.
public struct SubscriptionTerms: Sendable, Hashable, Codable {
    /// A customer has one subscription in a group at a time (facts/business-rules §8.1).
    public var groupID: String
    /// What customers see the group called; nil: its id.
    public var groupName: String?
    /// Rank in the group: 1 is the highest service; several products may share a level.
    public var level: Int64
    public var period: SubscriptionPeriod
    /// Whether a year may be paid by the month, with a commitment of twelve (API 1.21, `billingPlanType`).
    public var allowsMonthlyBilling: Bool
    /// What a month of such a year costs, by storefront; where nothing is said, the twelfth part of the year's price.
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

    /// Whether a customer chooses between the year at once and the months.
    var hasBothPlans: Bool { allowsMonthlyBilling && period == .year }

    /// What one charge costs. A twelfth is rounded up to the minor unit, so that twelve are never less than the year.
    func price(ofYear price: Money, storefront: String, byTheMonth: Bool) -> Money {
        guard byTheMonth else { return price }
        if let named = monthlyPrices?[storefront], named.currency == price.currency { return named }
        return Money(amount: (price.amount + 11) / 12, currency: price.currency)
    }
}
