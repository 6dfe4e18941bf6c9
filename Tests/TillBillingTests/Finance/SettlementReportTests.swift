import Testing
import TillBilling

@Suite("The settlement report (C3)") struct SettlementReportTests {
    private func entry(
        _ kind: FinanceEntry.Kind = .sale, _ product: String = "a", _ paid: String = "6 CNY", on: String = "2026-02-10",
        _ storefront: String? = "CHN", count: Int = 1
    ) -> FinanceEntry {
        var entry = FinanceEntry(
            kind: kind, day: civilDay(on), productID: ProductID(product), paid: tag(paid), count: count)
        entry.storefront = storefront
        entry.productType = .consumable
        return entry
    }

    /// `product storefront currency: sold/refunded gross tax commission proceeds | refunded gross, proceeds | net`
    private func rows(_ period: SettlementReport.Period?) -> [String] {
        (period?.rows ?? []).map { row in
            let (sales, refunds) = (row.figures.sales, row.figures.refunds)
            return "\(row.productID) \(row.storefront ?? "-") \(row.currency): "
                + "\(row.figures.unitsSold)/\(row.figures.unitsRefunded) "
                + "\(sales.gross) \(sales.tax) \(sales.commission) \(sales.proceeds) | "
                + "\(refunds.gross) \(refunds.proceeds) | \(row.figures.netProceeds)\(row.isTaxUnknown ? " *" : "")"
        }
    }

    @Test("The report has units, gross, tax, commission, proceeds and refunds by product, storefront and fiscal period")
    func report() throws {
        let report = SettlementReport([
            entry(count: 3), entry(.sale, "a", "12 CNY"), entry(.sale, "b", "0.99 USD", "USA"),
            entry(.sale, "b", "1.09 EUR", "FRA"), entry(.sale, "b", "1.09 EUR", "FRA", count: 0),
            entry(.sale, "c", "1 EUR", nil), entry(on: "2026-03-14"), entry(on: "2026-03-15"),
        ])
        #expect(report.periods.map(\.fiscal.label) == ["Feb", "Mar"] && report.unusable.count == 1)
        let february = try #require(report.periods.first)
        #expect(february.fiscal.paymentDate == civilDay("2026-04-02"))
        #expect(
            rows(february) == [
                "a CHN CNY: 4/0 3000 60 881 2059 | 0 0 | 2059", "b FRA EUR: 1/0 109 0 33 76 | 0 0 | 76 *",
                "b USA USD: 1/0 99 0 29 70 | 0 0 | 70", "c - EUR: 1/0 100 0 30 70 | 0 0 | 70 *",
            ])
        #expect(
            february.totals.map { "\($0.currency) \($0.figures.netProceeds) \($0.isTaxUnknown)" } == [
                "CNY 2059 false", "EUR 146 true", "USD 70 false",
            ])
        #expect(february.isTaxUnknown && report.periods.last?.isTaxUnknown == false)
        // China's new rate begins in the middle of a month.
        #expect(rows(report.periods.last) == ["a CHN CNY: 2/0 1200 24 323 853 | 0 0 | 853"])
    }

    @Test("A refund subtracts what its sale had added, in the period of the refund")
    func refunds() throws {
        var refund = entry(.refund, on: "2026-04-01")
        refund.soldOn = civilDay("2026-02-10")
        let report = SettlementReport([entry(), refund])
        #expect(report.periods.map { $0.totals.map(\.figures.netProceeds) } == [[412], [-412]])
        #expect(rows(report.periods.last) == ["a CHN CNY: 0/1 0 0 0 0 | 600 412 | -412"])
        // A partial refund, in thousandths of a percent.
        for (percentage, gross, proceeds) in [(50_000, 300, 206), (33_333, 200, 137), (1, 0, 0), (0, 0, 0)]
            as [(Int, Int64, Int64)]
        {
            refund.refundedPercentage = percentage
            let part = try #require(SettlementReport([refund]).periods.first?.rows.first?.figures.refunds)
            #expect(part.gross == gross && part.proceeds == proceeds, "\(percentage)")
            #expect(part.gross == part.tax + part.commission + part.proceeds && part.commission >= 0 && part.tax >= 0)
        }
    }

    @Test("Proceeds are rounded per unit if the price divides evenly, and per transaction otherwise")
    func quantities() {
        func proceeds(_ paid: String, _ quantity: Int, _ count: Int = 1) -> Int64? {
            var sale = entry(.sale, "a", paid, count: count)
            sale.quantity = quantity
            return SettlementReport([sale]).periods.first?.totals.first?.figures.sales.proceeds
        }
        #expect(proceeds("6 CNY", 1) == 412 && proceeds("18 CNY", 3) == 1_236 && proceeds("18 CNY", 1) == 1_235)
        #expect(proceeds("18 CNY", 3, 10) == 12_360 && proceeds("10 CNY", 3) == 686)
    }

    @Test("The rate depends on the day of sale, the subscriber's year and the program")
    func rates() {
        func proceeds(_ change: (inout FinanceEntry) -> Void, _ terms: DeveloperTerms = DeveloperTerms()) -> Int64? {
            var sale = entry()
            change(&sale)
            return SettlementReport([sale], terms: terms).periods.first?.rows.first?.figures.sales.proceeds
        }
        #expect(proceeds { $0.isAfterOneYear = true } == 412)
        #expect(proceeds { ($0.isAfterOneYear, $0.productType) = (true, .autoRenewable) } == 500)
        let small = DeveloperTerms(isSmallBusiness: true, since: civilDay("2026-02-10"), until: civilDay("2026-02-10"))
        #expect(proceeds({ _ in }, small) == 500)
        #expect(proceeds({ $0.soldOn = civilDay("2026-02-11") }, small) == 412)
        #expect(proceeds({ $0.soldOn = civilDay("2026-02-09") }, small) == 412)
    }

    @Test("Entries that no report can hold are set aside, and the others are reported")
    func unusable() {
        var entries = [entry(), entry(.sale, "a", "-6 CNY"), entry(count: 0), entry(count: -1), entry(count: .max)]
        for change in [
            { $0.quantity = 0 }, { $0.quantity = .max }, { $0.refundedPercentage = 100_001 },
            { $0.paid = Money(amount: .max, currency: Currency("CNY")) },
            { $0.day = CivilDate(daysSinceEpoch: -9_000_000) },
        ] as [(inout FinanceEntry) -> Void] {
            var odd = entry()
            change(&odd)
            entries.append(odd)
        }
        let report = SettlementReport(entries)
        #expect(report.unusable.count == 8)
        #expect(report.periods.last?.rows.map(\.figures.unitsSold) == [1])
        #expect(SettlementReport([]).periods.isEmpty)
    }

    @Test("The order of the entries does not matter, nor whether equal ones are listed singly")
    func order() {
        var entries: [FinanceEntry] = []
        for number in 0..<200 {
            var one = entry(
                number % 7 == 0 ? .refund : .sale, "p\(number % 5)", number % 2 == 0 ? "6 CNY" : "0.99 USD",
                on: "2026-0\(1 + number % 9)-11", number % 2 == 0 ? "CHN" : "USA")
            one.quantity = 1 + number % 3
            entries.append(one)
        }
        let one = SettlementReport(entries)
        #expect(one == SettlementReport(entries.reversed()) && one.periods.count == 9)
        let doubled = SettlementReport(entries + entries)
        let grouped = SettlementReport(
            entries.map { entry in
                var entry = entry
                entry.count = 2
                return entry
            })
        #expect(doubled == grouped && doubled != one)
    }

    @Test("The table is written in both languages, and no cell of the CSV can be a formula")
    func text() {
        let report = SettlementReport([entry(count: 2), entry(.refund), entry(.sale, "=1+1,\"x\"", "1 EUR", "FRA")])
        let english = report.lines(.english)
        #expect(english[0] == "FY2026 period 5 (Feb): 2026-02-01 to 2026-02-28, payment expected 2026-04-02")
        #expect(
            english.contains {
                $0.contains("CHN") && $0.hasSuffix("12.00  0.24        3.52      8.24    -4.12          4.12")
            })
        #expect(english.last?.hasPrefix("* The storefront's tax is not known") == true)
        let chinese = report.lines(.chinese)
        #expect(chinese[0].hasPrefix("2026 财年第 5 期") && chinese[1].contains("净收入"))
        let csv = report.csv.split(separator: "\r\n")
        #expect(csv.count == 3 && csv.allSatisfy { $0.hasPrefix("fiscal_year") || $0.hasPrefix("2026,5,Feb,") })
        #expect(csv[1].contains("\"'=1+1,\"\"x\"\"\",FRA,EUR,1,0,1.00,0.00,0.30,0.70,0.00,0.00,0.70,true"))
        #expect(SettlementReport([]).lines(.english) == ["Nothing was sold or refunded."])
    }
}
