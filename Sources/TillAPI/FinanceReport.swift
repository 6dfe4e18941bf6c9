import TillBilling

/// The days a report is about.
public struct FinanceSpan: Sendable, Hashable {
    public let start: CivilDate
    /// The last day.
    public let end: CivilDate

    /// Fiscal years that are known: the App Store opened in 2008.
    public static let years = 2008...2100
    /// Two such spans would be more than a report has room for.
    public static let longestDays = 3_720

    /// Nil for an end before the start, and for more than ten years.
    public init?(from start: CivilDate, through end: CivilDate) {
        guard start <= end, end.daysSinceEpoch - start.daysSinceEpoch < Self.longestDays else { return nil }
        self.start = start
        self.end = end
    }

    public init(_ period: FiscalPeriod) {
        start = period.start
        end = period.end
    }

    /// Nil for a year that is not known.
    public init?(fiscalYear: Int) {
        guard Self.years.contains(fiscalYear) else { return nil }
        start = FiscalCalendar.start(ofYear: fiscalYear)
        end = FiscalCalendar.start(ofYear: fiscalYear + 1).adding(days: -1)
    }
}

/// A settlement report, and what it is of.
public struct FinanceReport: Sendable, Hashable {
    public let span: FinanceSpan
    public let environment: Environment
    public let settlement: SettlementReport
    /// Sales and refunds whose price Apple did not sign, by product: in no period.
    public let unpriced: [ProductID: Int]

    public init(
        span: FinanceSpan, environment: Environment, settlement: SettlementReport, unpriced: [ProductID: Int] = [:]
    ) {
        self.span = span
        self.environment = environment
        self.settlement = settlement
        self.unpriced = unpriced
    }
}

extension FinanceReport {
    /// Comma-separated, a line for each row, in UTF-8 with line feeds (RFC 4180 but for those). Amounts are decimals of
    /// the row's currency; nothing in it can be taken for a formula.
    public var csv: String {
        var text = Self.csvColumns.joined(separator: ",") + "\n"
        for period in settlement.periods {
            let fiscal = period.fiscal
            let beginning = [
                String(fiscal.fiscalYear), String(fiscal.number), fiscal.label, fiscal.start.description,
                fiscal.end.description, fiscal.paymentDate.description,
            ]
            for row in period.rows {
                let figures = row.figures
                let amounts = [
                    figures.sales.gross, figures.sales.tax, figures.sales.commission, figures.sales.proceeds,
                    figures.refunds.gross, figures.refunds.tax, figures.refunds.commission, figures.refunds.proceeds,
                    figures.netProceeds,
                ].map { Money(amount: $0, currency: row.currency).decimal }
                let cells =
                    beginning + [Self.cell(row.productID.text), Self.cell(row.storefront ?? "")]
                    + [Self.cell(row.currency.text), String(figures.unitsSold), String(figures.unitsRefunded)] + amounts
                    + [row.isTaxUnknown ? "yes" : "no"]
                text += cells.joined(separator: ",") + "\n"
            }
        }
        return text
    }

    public static let csvColumns = [
        "fiscal_year", "period", "label", "start", "end", "payment_date", "product", "storefront", "currency",
        "units_sold", "units_refunded", "gross", "tax", "commission", "proceeds", "refunded_gross", "refunded_tax",
        "refunded_commission", "refunded_proceeds", "net_proceeds", "tax_unknown",
    ]

    /// Spreadsheets run what begins like a formula, and product ids come from outside.
    private static func cell(_ text: String) -> String {
        let isFormula = text.utf8.first.map { Array("=+-@\t\r".utf8).contains($0) } ?? false
        let safe = isFormula ? "'" + text : text
        let isPlain = safe.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
        if isPlain { return safe }
        return "\"" + safe.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

extension Money {
    /// `6.00`, `120`, without the currency.
    public var decimal: String { String(description.prefix { $0 != " " }) }
}
