/// What Apple owes the developer for each fiscal period (SCENARIOS C3): computed from what customers paid, by the
/// rates and taxes of the day of each sale.
public struct SettlementReport: Hashable, Sendable {
    /// Those in which something was sold or refunded, oldest first.
    public let periods: [Period]
    /// Entries that no report can hold: a negative price, or numbers so large that sums don't fit.
    public let unusable: [FinanceEntry]

    public struct Period: Hashable, Sendable {
        public let fiscal: FiscalPeriod
        /// By product, storefront and currency, in that order.
        public let rows: [Row]
        /// By product, storefront and the price of a unit, sales and refunds apart: as Apple's own report has it.
        public let lines: [Line]

        /// All rows of a currency added up, currencies in alphabetical order.
        public var totals: [Total] { [] }
        /// Whether the tax of a storefront is not known, and was taken for nothing.
        public var isTaxUnknown: Bool { rows.contains { $0.isTaxUnknown } }
    }

    public struct Row: Hashable, Sendable {
        public let productID: ProductID
        /// ISO 3166-1 alpha-3; nil where nobody said.
        public let storefront: String?
        public let currency: Currency
        public let figures: Figures
        public let isTaxUnknown: Bool
    }

    public struct Total: Hashable, Sendable {
        public let currency: Currency
        public let figures: Figures
        public let isTaxUnknown: Bool
    }

    /// Units and money of sales and of refunds; all of them from zero up.
    public struct Figures: Hashable, Sendable {
        public var unitsSold: Int64 = 0
        public var unitsRefunded: Int64 = 0
        public var sales = Split.zero
        public var refunds = Split.zero

        /// What is left of the proceeds after refunds; negative if more was refunded than sold.
        public var netProceeds: Int64 { sales.proceeds - refunds.proceeds }
    }

    /// Where the customers' money went, in minor units: gross = tax + commission + proceeds.
    public struct Split: Hashable, Sendable {
        public var gross: Int64
        public var tax: Int64
        public var commission: Int64
        public var proceeds: Int64

        public static let zero = Split(gross: 0, tax: 0, commission: 0, proceeds: 0)
    }

    public struct Line: Hashable, Sendable {
        public let productID: ProductID
        public let storefront: String?
        /// What the customer paid for one unit.
        public let unitPrice: Money
        public let kind: FinanceEntry.Kind
        public let units: Int64
        /// Of all the units together, from zero up also for refunds, in the currency of the price.
        public let proceeds: Int64
    }

    public init(_ entries: some Sequence<FinanceEntry>, terms: DeveloperTerms = DeveloperTerms()) {
        periods = []
        unusable = []
    }
}
