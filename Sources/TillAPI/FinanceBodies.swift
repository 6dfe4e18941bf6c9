import TillBilling

/// `GET /v1/finance/report`: Apple's expected payout for each fiscal period, computed from the ledger.
public struct FinanceReportReply: Codable, Sendable, Hashable {
    /// `production` or `sandbox`.
    public let environment: String
    /// The first and the last day, `2026-03-15`, in Apple's reporting days.
    public let from: String
    public let to: String
    /// The periods with sales or refunds, oldest first.
    public let periods: [FinancePeriodReply]
    /// Transactions outside all periods, because Apple signed no price.
    public let unpriced: [UnpricedReply]
    /// The number of sales and refunds that cannot be added up; normally 0.
    public let unusable: Int

    public init(_ report: FinanceReport) {
        environment = report.environment.rawValue.lowercased()
        from = report.span.start.description
        to = report.span.end.description
        periods = report.settlement.periods.map { FinancePeriodReply($0, in: report.span) }
        unpriced = report.unpriced.sorted { $0.key < $1.key }.map {
            UnpricedReply(productId: $0.key.text, transactions: $0.value)
        }
        unusable = report.settlement.unusable.reduce(0) { $0 + $1.count }
    }
}

/// One month of Apple's fiscal calendar, with its amounts.
public struct FinancePeriodReply: Codable, Sendable, Hashable {
    public let fiscalYear: Int
    /// 1 to 12; 1 is October.
    public let period: Int
    /// `Oct` to `Sep`.
    public let label: String
    /// The first day, and the last.
    public let start: String
    public let end: String
    /// The expected day of Apple's payout.
    public let paymentDate: String
    /// Whether the request covers the whole period.
    public let isWhole: Bool
    /// Ordered by product, storefront and currency.
    public let rows: [FinanceRowReply]
    /// The sums of the rows, by currency.
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

/// The division of customers' payments: gross = tax + commission + proceeds.
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

/// One product in one storefront.
public struct FinanceRowReply: Codable, Sendable, Hashable {
    public let productId: String
    /// ISO 3166-1 alpha-3; absent if Apple did not sign it.
    public let storefront: String?
    public let currency: String
    public let unitsSold: Int64
    public let unitsRefunded: Int64
    public let sales: FinanceSplitReply
    /// The refunds of the period, regardless of the date of sale; never negative.
    public let refunds: FinanceSplitReply
    /// The proceeds of sales minus those of refunds.
    public let netProceeds: Money
    /// Whether the storefront's tax is unknown and counted as zero.
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

/// The sums of a period in one currency.
public struct FinanceTotalReply: Codable, Sendable, Hashable {
    public let currency: String
    public let unitsSold: Int64
    public let unitsRefunded: Int64
    public let sales: FinanceSplitReply
    public let refunds: FinanceSplitReply
    /// Apple's expected payout, before currency conversion.
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
