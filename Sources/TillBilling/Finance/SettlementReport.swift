/// Apple's expected payout to the developer for each fiscal period: computed from the prices that customers paid, by
/// the rates and taxes of the day of each sale.
///
/// Apple pays by the unit: the proceeds of one unit (the price of the transaction divided by its quantity) are rounded
/// and multiplied. If the quantity does not divide the price, the proceeds of the transaction are rounded. A refund
/// subtracts what the sale added, in the period of the refund; for a partial refund, each amount is rounded half up.
public struct SettlementReport: Hashable, Sendable {
    /// The periods with a sale or a refund, oldest first.
    public let periods: [Period]
    /// Entries that a report cannot include: a negative price, no units, a refund above 100 %, or numbers so large that
    /// sums overflow.
    public let unusable: [FinanceEntry]

    public struct Period: Hashable, Sendable {
        public let fiscal: FiscalPeriod
        /// Ordered by product, storefront and currency.
        public let rows: [Row]
        /// Grouped by product, storefront and price of one unit, with sales and refunds apart, as in Apple's report.
        public let lines: [Line]

        public init(fiscal: FiscalPeriod, rows: [Row], lines: [Line]) {
            self.fiscal = fiscal
            self.rows = rows
            self.lines = lines
        }

        /// The sum of all rows in a currency, with currencies in alphabetical order. A row that would overflow a sum is
        /// left out; numbers of that size are already in `unusable`.
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

        /// Whether the tax of a storefront is unknown and counted as zero.
        public var isTaxUnknown: Bool { rows.contains { $0.isTaxUnknown } }
    }

    public struct Row: Hashable, Sendable {
        public let productID: ProductID
        /// ISO 3166-1 alpha-3; nil if unknown.
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

    /// Units and money of sales and of refunds; never negative.
    public struct Figures: Hashable, Sendable {
        public var unitsSold: Int64 = 0
        /// All units of a refunded transaction, even for a partial refund.
        public var unitsRefunded: Int64 = 0
        public var sales = Split.zero
        public var refunds = Split.zero

        public init() {}

        /// The proceeds of sales minus those of refunds; negative if refunds exceed sales.
        public var netProceeds: Int64 { sales.proceeds - refunds.proceeds }

        /// Nil if a sum overflows.
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

    /// The division of the customers' payments, in minor units: gross = tax + commission + proceeds.
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

        /// Nil if a sum overflows; the gross is the largest of the four.
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

        /// A part of the split, in thousandths of a percent.
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
        /// The price of one unit; rounded down if the price is not divisible.
        public let unitPrice: Money
        public let kind: FinanceEntry.Kind
        public let units: Int64
        /// The proceeds of all units, never negative, in the currency of the price.
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

    /// One pass over the entries, in any order. Equal sales are computed once.
    public init(_ entries: some Sequence<FinanceEntry>, terms: DeveloperTerms = DeveloperTerms()) {
        var sum = SettlementSum(terms: terms)
        var unusable: [FinanceEntry] = []
        for entry in entries where !sum.add(entry) { unusable.append(entry) }
        periods = sum.periods
        self.unusable = unusable
    }
}

extension Int64 {
    /// Nil if the sum overflows.
    fileprivate func adding(_ other: Int64) -> Int64? {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? nil : sum
    }
}

/// Accumulates the entries of a settlement report.
struct SettlementSum {
    private let developer: DeveloperTerms
    private var months: [FiscalPeriod: Month] = [:]
    private var fiscalPeriods: [CivilDate: FiscalPeriod] = [:]
    private var sales: [Sale: Worth] = [:]

    init(terms: DeveloperTerms) { developer = terms }

    /// Whether the entry could be counted.
    mutating func add(_ entry: FinanceEntry) -> Bool {
        guard let units = units(of: entry), let worth = worth(of: entry),
            let split = worth.split.times(Int64(entry.count))
        else { return false }
        let fiscal = fiscalPeriod(of: entry.day)
        let currency = entry.paid.currency
        return months[fiscal, default: Month()].add(
            units: units, split: split, kind: entry.kind, isTaxUnknown: worth.isTaxUnknown,
            row: RowKey(productID: entry.productID, storefront: entry.storefront, currency: currency),
            line: LineKey(
                productID: entry.productID, storefront: entry.storefront,
                unitPrice: Money(amount: entry.paid.amount / Int64(entry.quantity), currency: currency),
                kind: entry.kind))
    }

    var periods: [SettlementReport.Period] {
        months.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { $0.value.period($0.key) }
    }

    private func units(of entry: FinanceEntry) -> Int64? {
        guard entry.quantity > 0, entry.count > 0, entry.paid.amount >= 0,
            (0...100_000).contains(entry.refundedPercentage)
        else { return nil }
        let (units, overflow) = Int64(entry.quantity).multipliedReportingOverflow(by: Int64(entry.count))
        return overflow ? nil : units
    }

    private mutating func fiscalPeriod(of day: CivilDate) -> FiscalPeriod {
        if let known = fiscalPeriods[day] { return known }
        let fiscal = FiscalCalendar.period(containing: day)
        fiscalPeriods[day] = fiscal
        return fiscal
    }

    /// The worth of one transaction of the entry.
    private mutating func worth(of entry: FinanceEntry) -> Worth? {
        let sale = Sale(
            paid: entry.paid, quantity: entry.quantity, storefront: entry.storefront, soldOn: entry.soldOn,
            isAfterOneYear: entry.isAfterOneYear && entry.productType == .autoRenewable,
            refunded: entry.kind == .refund ? entry.refundedPercentage : 100_000)
        if let known = sales[sale] { return known }
        guard let worth = compute(sale) else { return nil }
        sales[sale] = worth
        return worth
    }

    private func compute(_ sale: Sale) -> Worth? {
        let best = Proceeds.best(
            isAfterOneYear: sale.isAfterOneYear, isSmallBusiness: developer.isSmallBusiness(on: sale.soldOn))
        let terms = StorefrontTerms(storefront: sale.storefront, on: sale.soldOn, best: best)
        let quantity = Int64(sale.quantity)
        let isByUnit = sale.paid.amount % quantity == 0
        let price = isByUnit ? Money(amount: sale.paid.amount / quantity, currency: sale.paid.currency) : sale.paid
        guard let proceeds = Proceeds(price: price, terms: terms),
            let split = SettlementReport.Split(proceeds).times(isByUnit ? quantity : 1)
        else { return nil }
        return Worth(split: split.part(sale.refunded), isTaxUnknown: terms.isTaxUnknown)
    }

    /// All values that the worth of a transaction depends on.
    private struct Sale: Hashable {
        let paid: Money
        let quantity: Int
        let storefront: String?
        let soldOn: CivilDate
        let isAfterOneYear: Bool
        let refunded: Int
    }

    private struct Worth {
        let split: SettlementReport.Split
        let isTaxUnknown: Bool
    }

    private struct RowKey: Hashable {
        let productID: ProductID
        let storefront: String?
        let currency: Currency
    }

    private struct LineKey: Hashable {
        let productID: ProductID
        let storefront: String?
        let unitPrice: Money
        let kind: FinanceEntry.Kind
    }

    private struct Month {
        private var rows: [RowKey: (figures: SettlementReport.Figures, isTaxUnknown: Bool)] = [:]
        private var lines: [LineKey: (units: Int64, proceeds: Int64)] = [:]

        var isEmpty: Bool { rows.isEmpty }

        /// False if a sum overflows; then no entry is added. A line never exceeds its row.
        mutating func add(
            units: Int64, split: SettlementReport.Split, kind: FinanceEntry.Kind, isTaxUnknown: Bool, row: RowKey,
            line: LineKey
        ) -> Bool {
            var more = SettlementReport.Figures()
            switch kind {
            case .sale: (more.unitsSold, more.sales) = (units, split)
            case .refund: (more.unitsRefunded, more.refunds) = (units, split)
            }
            let before = rows[row]
            guard let sum = (before?.figures ?? SettlementReport.Figures()).adding(more) else { return false }
            rows[row] = (sum, isTaxUnknown || before?.isTaxUnknown == true)
            let so = lines[line] ?? (0, 0)
            lines[line] = (so.units + units, so.proceeds + split.proceeds)
            return true
        }

        func period(_ fiscal: FiscalPeriod) -> SettlementReport.Period {
            SettlementReport.Period(
                fiscal: fiscal,
                rows: rows.sorted { Self.order($0.key) < Self.order($1.key) }.map { key, sum in
                    SettlementReport.Row(
                        productID: key.productID, storefront: key.storefront, currency: key.currency,
                        figures: sum.figures, isTaxUnknown: sum.isTaxUnknown)
                },
                lines: lines.sorted { Self.order($0.key) < Self.order($1.key) }.map { key, sum in
                    SettlementReport.Line(
                        productID: key.productID, storefront: key.storefront, unitPrice: key.unitPrice,
                        kind: key.kind, units: sum.units, proceeds: sum.proceeds)
                })
        }

        private static func order(_ key: RowKey) -> (ProductID, String, Currency) {
            (key.productID, key.storefront ?? "", key.currency)
        }

        private static func order(_ key: LineKey) -> (ProductID, String, Currency, Int64, String) {
            (
                key.productID, key.storefront ?? "", key.unitPrice.currency, key.unitPrice.amount,
                key.kind == .sale ? "" : key.kind.rawValue
            )
        }
    }
}
