/// Transactions that are alike in everything a settlement asks, and how many of them there are.
public struct FinanceEntry: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, Codable { case sale, refund }

    public var kind: Kind
    /// Of the sale, or of the refund: it decides the fiscal period. See `ReportingDay`.
    public var day: CivilDate
    public var productID: ProductID
    public var productType: ProductType?
    /// ISO 3166-1 alpha-3; nil where nobody said.
    public var storefront: String?
    /// What the customer paid for one transaction, for its whole quantity.
    public var paid: Money
    /// Units in one transaction.
    public var quantity = 1
    /// How many such transactions.
    public var count: Int
    /// The subscriber had had a year of paid service when this began (`PaidService`).
    public var isAfterOneYear = false
    /// Rates and taxes are those of the sale, also for its refund. For a sale the same as `day`.
    public var soldOn: CivilDate
    /// How much of the price Apple gave back, in thousandths of a percent; 100000 is all. Of refunds only.
    public var refundedPercentage = 100_000

    /// One unit, not a subscriber of a year; a refund gives all back and was sold on its own day, unless set.
    public init(kind: Kind, day: CivilDate, productID: ProductID, paid: Money, count: Int = 1) {
        self.kind = kind
        self.day = day
        self.productID = productID
        self.paid = paid
        self.count = count
        soldOn = day
    }
}

/// What Apple agreed on with the developer, as far as proceeds ask (facts/business-rules §5).
public struct DeveloperTerms: Hashable, Sendable {
    /// In the Small Business Program, on the days from `since` to `until`.
    public var isSmallBusiness: Bool
    /// First day in the program; nil if it always was.
    public var since: CivilDate?
    /// Last day in the program; nil if it still is.
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
