/// A group of transactions that a settlement treats alike, with their number.
public struct FinanceEntry: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, Codable { case sale, refund }

    public var kind: Kind
    /// The day of the sale or of the refund, which determines the fiscal period. See `ReportingDay`.
    public var day: CivilDate
    public var productID: ProductID
    public var productType: ProductType?
    /// ISO 3166-1 alpha-3; nil if unknown.
    public var storefront: String?
    /// The price paid for one transaction, for its whole quantity.
    public var paid: Money
    /// Units in one transaction.
    public var quantity = 1
    /// The number of transactions.
    public var count: Int
    /// Whether the subscriber had completed a year of paid service before this transaction (`PaidService`).
    public var isAfterOneYear = false
    /// The day of the sale, whose rates and taxes also apply to its refund. For a sale, the same as `day`.
    public var soldOn: CivilDate
    /// The refunded part of the price, in thousandths of a percent; 100000 is all of it. Refunds only.
    public var refundedPercentage = 100_000

    /// The defaults are one unit, a subscriber of less than a year, a full refund, and a sale on `day`.
    public init(kind: Kind, day: CivilDate, productID: ProductID, paid: Money, count: Int = 1) {
        self.kind = kind
        self.day = day
        self.productID = productID
        self.paid = paid
        self.count = count
        soldOn = day
    }
}

/// The part of the developer's agreement with Apple that proceeds depend on (facts/business-rules §5).
public struct DeveloperTerms: Hashable, Sendable {
    /// Whether the developer is in the Small Business Program, from `since` to `until`.
    public var isSmallBusiness: Bool
    /// First day in the program; nil if there is no start.
    public var since: CivilDate?
    /// Last day in the program; nil if it continues.
    public var until: CivilDate?

    public init(isSmallBusiness: Bool = false, since: CivilDate? = nil, until: CivilDate? = nil) {
        self.isSmallBusiness = isSmallBusiness
        self.since = since
        self.until = until
    }

    public func isSmallBusiness(on day: CivilDate) -> Bool {
        guard isSmallBusiness else { return false }
        if let since, day < since { return false }
        if let until, until < day { return false }
        return true
    }
}
