import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    /// Calls to a server without Apple's reports.
    static let financeCalls: [(HTTPMethod, String, String, JSONValue?, Int)] = [
        (.get, Paths.financeReport, Paths.financeReport, nil, 200),
        (.get, Paths.fiscalCalendar, Paths.fiscalCalendar, nil, 200),
        (.get, Paths.priceTiers, Paths.priceTiers, nil, 200), (.get, Paths.proceeds, Paths.proceeds, nil, 400),
        (.post, Paths.appleReports, Paths.appleReports, [:], 422),
        (.get, Paths.appleReports, Paths.appleReports, nil, 200),
        (.get, Paths.reportComparison, Paths.reportComparison, nil, 400),
    ]

    /// Reply bodies about money, each once with every member and once with the required members only.
    static var financeSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            guard let report = FinanceSample.report(storefront: "CHN"), let bare = FinanceSample.report(storefront: nil)
            else { throw CancellationError() }
            let (full, least) = (FinanceReportReply(report), FinanceReportReply(bare))
            let apple = AppleReportReply(
                sha256: "00", name: "a.txt", importedAt: Instant(seconds: 1), importedBy: "key:a",
                days: (FinanceSample.day, FinanceSample.day), lines: 1)
            let found = FinancialReportFile("").findings + FinancialReportFile(FinanceSample.oddFile).findings
            guard let ofLine = found.first(where: { $0.line != nil }),
                let ofFile = found.first(where: { $0.line == nil })
            else { throw CancellationError() }
            let comparison = ComparisonReply(
                environment: .production, period: FinanceSample.period, reports: [apple],
                ReportComparison(apple: [FinanceSample.line], ledger: report.settlement.periods.first))
            let onlyLedger = ComparisonReply(
                environment: .production, period: FinanceSample.period, reports: [],
                ReportComparison(apple: [], ledger: bare.settlement.periods.first))
            return try rules.merging([
                "FinanceReport": try same(full), "FinancePeriod": try same(full.periods[0]),
                "FinanceSplit": try same(full.periods[0].rows[0].sales),
                "FinanceRow": try both(full.periods[0].rows[0], least.periods[0].rows[0]),
                "FinanceTotal": try same(full.periods[0].totals[0]), "Unpriced": try same(full.unpriced[0]),
                "AppleReport": try same(apple),
                "AppleReportPage": try same(Page(data: [apple], hasMore: true, nextCursor: "1")),
                "ImportReply": try same(ImportReply(report: apple, remarks: [ReportFindingReply(ofLine)])),
                "ReportFinding": try both(ReportFindingReply(ofLine), ReportFindingReply(ofFile)),
                "Comparison": try same(comparison), "ComparisonTotal": try same(comparison.totals[0]),
                "ComparisonLine": (
                    try both(comparison.lines[0], comparison.lines[0]).full,
                    try stripped(comparison.lines[0], of: ["country", "apple", "ledger"], onlyLedger)
                ),
                "ComparisonSide": try same(comparison.totals[0].apple),
            ]) { first, _ in first }
        }
    }

    /// Every line has at least one side, so the optional members are removed by hand; a line of the ledger alone has no
    /// country and no side of Apple's.
    private static func stripped(
        _ line: ComparisonLineReply, of names: Set<String>, _ lone: ComparisonReply
    ) throws -> JSONValue {
        let (whole, alone) = (try same(line).full.object ?? [:], try same(lone.lines[0]).full.object ?? [:])
        guard alone["country"] == nil, alone["apple"] == nil, alone["ledger"] != nil else { throw CancellationError() }
        return .object(whole.filter { !names.contains($0.key) })
    }

    private static var rules: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let price = Money(amount: 990, currency: Currency("CNY"))
            guard let table = PriceTierTable.latest, let tier = table["1"],
                let rounded = Proceeds(
                    price: Money(amount: 99, currency: Currency("USD")), storefront: "USA", at: FinanceSample.day,
                    type: nil),
                let plain = Proceeds(price: price, storefront: "CHN", at: FinanceSample.day, type: nil)
            else { throw CancellationError() }
            let known = TiersReply(of: Money(amount: 600, currency: Currency("CNY")), in: table, .english)
            return [
                "FiscalCalendar": try same(FiscalCalendarReply(year: 2_026)),
                "FiscalPeriod": try same(FiscalPeriodReply(FinanceSample.period)),
                "Tiers": try both(known, TiersReply(validFrom: table.validFrom, tiers: [tier], .english)),
                "NearestTiers": try both(
                    known.nearest,
                    TiersReply(of: Money(amount: 1, currency: Currency("XXX")), in: table, .english).nearest),
                "Tier": try same(known.tiers[0]),
                "Proceeds": try both(
                    ProceedsReply(rounded, storefront: "USA", at: FinanceSample.day, type: .consumable),
                    ProceedsReply(plain, storefront: "CHN", at: FinanceSample.day, type: .consumable)),
            ]
        }
    }
}

/// One sale of CNY 6 in a month of fiscal year 2026.
enum FinanceSample {
    static let period = FiscalCalendar.periods(ofYear: 2_026)[11]
    static let day = period.start

    static func report(storefront: String?) -> FinanceReport? {
        var entry = FinanceEntry(
            kind: .sale, day: day, productID: ProductID("p"), paid: Money(amount: 600, currency: Currency("CNY")))
        entry.storefront = storefront
        return FinanceSpan(fiscalYear: 2_026).map {
            FinanceReport(
                span: $0, environment: .production, settlement: SettlementReport([entry]),
                unpriced: [ProductID("q"): 1])
        }
    }

    static let line = FinancialReportFile.Line(
        number: 2, period: (period.start, period.end), productID: ProductID("p"), country: "CN", isReturn: false,
        units: 1, customerPrice: Money(amount: 600, currency: Currency("CNY")),
        proceeds: (Money(amount: 441, currency: Currency("CNY")), Money(amount: 441, currency: Currency("CNY"))))

    /// A line with an unknown country.
    static let oddFile = """
        Start Date\tEnd Date\tVendor Identifier\tQuantity\tPartner Share\tExtended Partner Share\t\
        Partner Share Currency\tSales or Return\tCountry Of Sale\tCustomer Price\tCustomer Currency
        08/30/2026\t09/26/2026\tp\t1\t4.41\t4.41\tCNY\tS\tQQ\t6.00\tCNY

        """
}
