/// A settlement report while its entries come in.
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

    /// Of one transaction of the entry.
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

    /// All that the worth of a transaction depends on.
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

        /// False if a sum does not fit; then nothing was added. A line holds no more than its row.
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
