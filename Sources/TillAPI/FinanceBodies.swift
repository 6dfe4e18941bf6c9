import TillBilling

/// `GET /v1/finance/report`: what Apple owes for each fiscal period, computed from the ledger (C3).
public struct FinanceReportReply: Codable, Sendable, Hashable {
    /// `production` or `sandbox`.
    public let environment: String
    /// The first and the last day, `2026-03-15`, as Apple counts days.
    public let from: String
    public let to: String
    /// Those in which something was sold or refunded, oldest first.
    public let periods: [FinancePeriodReply]
    /// What is in none of them, because Apple signed no price.
    public let unpriced: [UnpricedReply]
    /// Sales and refunds that no sum can hold; there should be none.
    public let unusable: Int

    public init(_ books: FinanceReport) {
        environment = books.environment.rawValue.lowercased()
        from = books.span.start.description
        to = books.span.end.description
        periods = books.settlement.periods.map { FinancePeriodReply($0, in: books.span) }
        unpriced = books.unpriced.sorted { $0.key < $1.key }.map {
            UnpricedReply(productId: $0.key.text, transactions: $0.value)
        }
        unusable = books.settlement.unusable.reduce(0) { $0 + $1.count }
    }
}

/// One month of Apple's fiscal calendar, and what it comes to.
public struct FinancePeriodReply: Codable, Sendable, Hashable {
    public let fiscalYear: Int
    /// 1 to 12; 1 is October.
    public let period: Int
    /// `Oct` to `Sep`.
    public let label: String
    /// The first day, and the last.
    public let start: String
    public let end: String
    /// When Apple is expected to pay.
    public let paymentDate: String
    /// Whether all of the period was asked for.
    public let isWhole: Bool
    /// By product, storefront and currency.
    public let rows: [FinanceRowReply]
    /// The rows of each currency added up.
    public let totals: [FinanceTotalReply]

    public init(_ period: SettlementReport.Period, in span: FinanceSpan) {
        let fiscal = period.fiscal
        fiscalYear = fiscal.fiscalYear
        self.period = fiscal.number
        label = fiscal.label
        start = fiscal.start.description
        end = fiscal.end.description
        paymentDate = fiscal.paymentDate.description
        isWhole = span.start <= fiscal.start && fiscal.end <= span.end
        rows = period.rows.map(FinanceRowReply.init)
        totals = period.totals.map(FinanceTotalReply.init)
    }
}

/// Where customers' money went: gross = tax + commission + proceeds.
public struct FinanceSplitReply: Codable, Sendable, Hashable {
    public let gross: Money
    public let tax: Money
    public let commission: Money
    public let proceeds: Money

    public init(_ split: SettlementReport.Split, _ currency: Currency) {
        gross = Money(amount: split.gross, currency: currency)
        tax = Money(amount: split.tax, currency: currency)
        commission = Money(amount: split.commission, currency: currency)
        proceeds = Money(amount: split.proceeds, currency: currency)
    }
}

/// A product in a storefront.
public struct FinanceRowReply: Codable, Sendable, Hashable {
    public let productId: String
    /// ISO 3166-1 alpha-3; absent where Apple did not say.
    public let storefront: String?
    public let currency: String
    public let unitsSold: Int64
    public let unitsRefunded: Int64
    public let sales: FinanceSplitReply
    /// Of the refunds of the period, whenever it was sold; from zero up.
    public let refunds: FinanceSplitReply
    /// Proceeds of sales less those of refunds.
    public let netProceeds: Money
    /// The storefront's tax is not known and was taken for nothing.
    public let isTaxUnknown: Bool

    public init(_ row: SettlementReport.Row) {
        productId = row.productID.text
        storefront = row.storefront
        currency = row.currency.text
        unitsSold = row.figures.unitsSold
        unitsRefunded = row.figures.unitsRefunded
        sales = FinanceSplitReply(row.figures.sales, row.currency)
        refunds = FinanceSplitReply(row.figures.refunds, row.currency)
        netProceeds = Money(amount: row.figures.netProceeds, currency: row.currency)
        isTaxUnknown = row.isTaxUnknown
    }
}

/// All that a period comes to in one currency.
public struct FinanceTotalReply: Codable, Sendable, Hashable {
    public let currency: String
    public let unitsSold: Int64
    public let unitsRefunded: Int64
    public let sales: FinanceSplitReply
    public let refunds: FinanceSplitReply
    /// What Apple is expected to pay, before it changes the currency.
    public let expectedPayment: Money
    public let isTaxUnknown: Bool

    public init(_ total: SettlementReport.Total) {
        currency = total.currency.text
        unitsSold = total.figures.unitsSold
        unitsRefunded = total.figures.unitsRefunded
        sales = FinanceSplitReply(total.figures.sales, total.currency)
        refunds = FinanceSplitReply(total.figures.refunds, total.currency)
        expectedPayment = Money(amount: total.figures.netProceeds, currency: total.currency)
        isTaxUnknown = total.isTaxUnknown
    }
}

public struct UnpricedReply: Codable, Sendable, Hashable {
    public let productId: String
    public let transactions: Int

    public init(productId: String, transactions: Int) {
        self.productId = productId
        self.transactions = transactions
    }
}
