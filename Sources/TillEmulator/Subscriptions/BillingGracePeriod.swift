/// Service goes on for a while after a renewal could not be charged: what a developer opts in to for an app
/// (facts/business-rules §8.3). What a subscriber gets is fixed at the moment of the billing error.
public struct BillingGracePeriod: Sendable, Hashable {
    /// Days; weekly subscriptions have less.
    public enum Length: Int64, Sendable, Hashable, CaseIterable {
        case three = 3
        case sixteen = 16
        case twentyEight = 28
    }

    public enum Scope: String, Sendable, Hashable, CaseIterable {
        case allRenewals = "ALL_RENEWALS"
        /// Not from a free trial into the first paid period.
        case paidToPaidOnly = "PAID_TO_PAID_ONLY"
    }

    public var length: Length
    public var scope: Scope

    public init(_ length: Length, scope: Scope = .allRenewals) {
        self.length = length
        self.scope = scope
    }

    /// 3, 16 or 28; of weekly subscriptions 3 or 6.
    func days(weekly: Bool) -> Int64 { weekly ? min(6, length.rawValue) : length.rawValue }

    func covers(renewalAfterPaying price: Int64) -> Bool { scope == .allRenewals || price > 0 }
}
