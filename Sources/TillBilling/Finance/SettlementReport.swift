/// What Apple owes the developer for each fiscal period (SCENARIOS C3): computed from what customers paid, by the
/// rates and taxes of the day of each sale.
///
/// Apple pays by the unit: proceeds are rounded for one unit (the price of the transaction by its quantity) and
/// multiplied. Where a price can't be divided by the quantity without a rest, they are rounded for the transaction. A
/// refund takes back what the sale had brought, in the period in which it happens; of a part of the price each sum is
/// rounded half up.
public struct SettlementReport: Hashable, Sendable {
    /// Those in which something was sold or refunded, oldest first.
    public let periods: [Period]
    /// Entries that no report can hold: a price below zero, no units, a refund of more than everything, or numbers so
    /// large that sums don't fit.
    public let unusable: [FinanceEntry]

    public struct Period: Hashable, Sendable {
        public let fiscal: FiscalPeriod
        /// By product, storefront and currency, in that order.
        public let rows: [Row]
        /// By product, storefront and the price of a unit, sales and refunds apart: as Apple's own report has it.
        public let lines: [Line]

        public init(fiscal: FiscalPeriod, rows: [Row], lines: [Line]) {
            self.fiscal = fiscal
            self.rows = rows
            self.lines = lines
        }

        /// All rows of a currency added up, currencies in alphabetical order. A sum that does not fit leaves out what
        /// came too much; `unusable` has whatever is that large already.
        public var totals: [Total] {
            var totals: [Currency: Total] = [:]
            for row in rows {
                let so = totals[row.currency]?.figures ?? Figures()
                totals[row.currency] = Total(
                    currency: row.currency, figures: so.adding(row.figures) ?? so,
                    isTaxUnknown: row.isTaxUnknown || totals[row.currency]?.isTaxUnknown == true)
            }
            return totals.values.sorted { $0.currency < $1.currency }
        }

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

        public init(
            productID: ProductID, storefront: String?, currency: Currency, figures: Figures, isTaxUnknown: Bool
        ) {
            self.productID = productID
            self.storefront = storefront
            self.currency = currency
            self.figures = figures
            self.isTaxUnknown = isTaxUnknown
        }
    }

    public struct Total: Hashable, Sendable {
        public let currency: Currency
        public let figures: Figures
        public let isTaxUnknown: Bool
    }

    /// Units and money of sales and of refunds; all of them from zero up.
    public struct Figures: Hashable, Sendable {
        public var unitsSold: Int64 = 0
        /// All units of a refunded transaction, also if only a part of its price was given back.
        public var unitsRefunded: Int64 = 0
        public var sales = Split.zero
        public var refunds = Split.zero

        public init() {}

        /// What is left of the proceeds after refunds; negative if more was refunded than sold.
        public var netProceeds: Int64 { sales.proceeds - refunds.proceeds }

        /// Nil if a sum does not fit.
        public func adding(_ other: Figures) -> Figures? {
            var sum = self
            guard let sold = unitsSold.adding(other.unitsSold),
                let refunded = unitsRefunded.adding(other.unitsRefunded),
                let sales = sales.adding(other.sales), let refunds = refunds.adding(other.refunds)
            else { return nil }
            (sum.unitsSold, sum.unitsRefunded, sum.sales, sum.refunds) = (sold, refunded, sales, refunds)
            return sum
        }
    }

    /// Where the customers' money went, in minor units: gross = tax + commission + proceeds.
    public struct Split: Hashable, Sendable {
        public var gross: Int64
        public var tax: Int64
        public var commission: Int64
        public var proceeds: Int64

        public static let zero = Split(gross: 0, tax: 0, commission: 0, proceeds: 0)

        public init(gross: Int64, tax: Int64, commission: Int64, proceeds: Int64) {
            self.gross = gross
            self.tax = tax
            self.commission = commission
            self.proceeds = proceeds
        }

        init(_ proceeds: Proceeds) {
            self.init(
                gross: proceeds.gross.amount, tax: proceeds.tax.amount, commission: proceeds.commission.amount,
                proceeds: proceeds.proceeds.amount)
        }

        /// Nil if a sum does not fit; the gross is the largest of the four.
        public func adding(_ other: Split) -> Split? {
            guard let gross = gross.adding(other.gross) else { return nil }
            return Split(
                gross: gross, tax: tax + other.tax, commission: commission + other.commission,
                proceeds: proceeds + other.proceeds)
        }

        func times(_ count: Int64) -> Split? {
            let (gross, overflow) = gross.multipliedReportingOverflow(by: count)
            guard !overflow else { return nil }
            return Split(gross: gross, tax: tax * count, commission: commission * count, proceeds: proceeds * count)
        }

        /// A part of it, in thousandths of a percent.
        func part(_ percentage: Int) -> Split {
            guard percentage < 100_000 else { return self }
            let part = Fraction(UInt64(max(0, percentage)), over: 100_000)
            let (gross, proceeds) = (Proceeds.share(of: gross, part), Proceeds.share(of: proceeds, part))
            let net = Proceeds.share(of: self.gross - tax, part)
            return Split(gross: gross, tax: gross - net, commission: net - proceeds, proceeds: proceeds)
        }
    }

    public struct Line: Hashable, Sendable {
        public let productID: ProductID
        public let storefront: String?
        /// What the customer paid for one unit; of a price that can't be divided, rounded down.
        public let unitPrice: Money
        public let kind: FinanceEntry.Kind
        public let units: Int64
        /// Of all the units together, from zero up also for refunds, in the currency of the price.
        public let proceeds: Int64

        public init(
            productID: ProductID, storefront: String?, unitPrice: Money, kind: FinanceEntry.Kind, units: Int64,
            proceeds: Int64
        ) {
            self.productID = productID
            self.storefront = storefront
            self.unitPrice = unitPrice
            self.kind = kind
            self.units = units
            self.proceeds = proceeds
        }
    }

    /// One pass over the entries, in any order; what is alike is computed once.
    public init(_ entries: some Sequence<FinanceEntry>, terms: DeveloperTerms = DeveloperTerms()) {
        var books = SettlementSum(terms: terms)
        var unusable: [FinanceEntry] = []
        for entry in entries where !books.add(entry) { unusable.append(entry) }
        periods = books.periods
        self.unusable = unusable
    }
}

extension Int64 {
    /// Nil if the sum does not fit.
    fileprivate func adding(_ other: Int64) -> Int64? {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? nil : sum
    }
}
