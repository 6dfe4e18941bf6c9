/// What makes a product an auto-renewable subscription.
public struct SubscriptionTerms: Sendable, Hashable, Codable {
    /// A customer has one subscription in a group at a time (facts/business-rules §8.1).
    public var groupID: String
    /// Rank in the group: 1 is the highest service; several products may share a level.
    public var level: Int64
    public var period: SubscriptionPeriod
    /// Whether a year may be paid by the month, with a commitment of twelve (API 1.21, `billingPlanType`).
    public var allowsMonthlyBilling: Bool

    public init(groupID: String, level: Int64 = 1, period: SubscriptionPeriod, allowsMonthlyBilling: Bool = false) {
        self.groupID = groupID
        self.level = level
        self.period = period
        self.allowsMonthlyBilling = allowsMonthlyBilling
    }
}
