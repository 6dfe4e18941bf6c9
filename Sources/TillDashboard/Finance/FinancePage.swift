import TillBilling
import TillHTTP
import TillLedger
import TillPages

extension Dashboard {
    /// `GET /dashboard/finance?fiscalYear=&period=&currency=&environment=`: the proceeds that Apple owes, and Apple's
    /// reports.
    func showFinance(_ visit: DashboardVisit) async throws -> HTTPResponse {
        let choice = try FinanceChoice(visit, ledger.settings)
        guard let span = FinanceSpan(fiscalYear: choice.fiscalYear) else {
            throw RefusalError(.invalidField, verbatim: "fiscalYear")
        }
        let (report, imported) = try await reportLimiter.withLimit {
            let report = try await finance.report(span, in: choice.environment)
            guard let period = choice.period else { return (report, FinanceReports.Imported?.none) }
            return (report, try await finance.imported(period))
        }
        let page = FinancePage(
            visit: visit, catalog: ledger.settings.catalog, choice: choice,
            environments: ledger.settings.apple.environments, report: report, imported: imported)
        return .page(200, page.html, in: visit.localize.language)
    }
}

/// The operator's choice of period, currency and environment.
struct FinanceChoice {
    let fiscalYear: Int
    let period: FiscalPeriod?
    /// Nil: the currency with the most sold units.
    let currency: Currency?
    let environment: StoreEnvironment

    init(_ visit: DashboardVisit, _ settings: LedgerSettings) throws {
        // The forms send every field, including empty ones.
        func asked(_ name: String) -> String? {
            visit.request.query.first { $0.name == name && !$0.value.isEmpty }?.value
        }
        fiscalYear =
            try asked("fiscalYear").map(InputLimits.fiscalYear)
            ?? FiscalCalendar.period(containing: CivilDate(visit.now)).fiscalYear
        period = try asked("period").map { [fiscalYear] in try InputLimits.fiscalPeriod($0, of: fiscalYear) }
        currency = asked("currency").map { Currency($0) }.flatMap { $0.isWellFormed ? $0 : nil }
        environment =
            try asked("environment").map { try InputLimits.environment($0, on: settings) } ?? settings.usualEnvironment
    }
}

struct FinancePage {
    let visit: DashboardVisit
    let catalog: Catalog
    let choice: FinanceChoice
    let environments: Set<StoreEnvironment>
    let report: FinanceReport
    /// Apple's reports of the chosen period; nil for a whole year.
    let imported: FinanceReports.Imported?

    var localize: Localizer { visit.localize }

    var html: HTML {
        PageFrame.page(title: PageFrame.Section.finance.title(localize), visit, in: .finance) {
            element("h1") { PageFrame.Section.finance.title(localize) }
            element("p", .class("hint")) {
                localize(
                    "Computed from the ledger by Apple's fiscal calendar. Apple pays according to its own report.",
                    "根据账本并按 Apple 财务日历计算；实际付款以 Apple 的财务报告为准。")
            }
            form
            if let currency {
                money(currency)
            } else {
                HTML.emptyState(localize("Nothing was sold or refunded.", "没有销售，也没有退款。"))
            }
            unpriced
            AppleReportSection(page: self).html
        }
    }

    // MARK: Contents

    private var periods: [SettlementReport.Period] { report.settlement.periods }

    /// The periods whose figures the page shows.
    var chosen: [SettlementReport.Period] {
        choice.period.map { period in periods.filter { $0.fiscal == period } } ?? periods
    }

    private var totals: [Currency: SettlementReport.Figures] {
        var totals: [Currency: SettlementReport.Figures] = [:]
        for total in periods.flatMap(\.totals) {
            let so = totals[total.currency] ?? SettlementReport.Figures()
            totals[total.currency] = so.adding(total.figures) ?? so
        }
        return totals
    }

    private var currencies: [Currency] { totals.keys.sorted() }

    /// Amounts in different currencies can't be compared, so the currency with the most sold units comes first.
    var currency: Currency? {
        if let asked = choice.currency, currencies.contains(asked) { return asked }
        return totals.max { left, right in
            let (a, b) = (left.value.unitsSold, right.value.unitsSold)
            return a == b ? left.key > right.key : a < b
        }?.key
    }

    private func money(_ currency: Currency) -> HTML {
        let figures = chosen.flatMap(\.totals).filter { $0.currency == currency }
            .reduce(SettlementReport.Figures()) { $0.adding($1.figures) ?? $0 }
        let title = choice.period.map { $0.name(localize) } ?? localize("The whole year", "全年")
        return element("section", .class("card")) {
            element("h2") { "\(title) · \(currency)" }
            FinanceChart(localize: localize, currency: currency).steps(figures)
        }
            + element("section", .class("card")) {
                element("h2") { localize("By fiscal period", "按财务月") }
                FinanceChart(localize: localize, currency: currency).stacks(
                    periods.map { ($0.fiscal.name(localize), $0.figures(in: currency)) })
                PeriodTable(localize: localize, currency: currency, choice: choice, periods: periods).html
            }
            + element("section", .class("card")) {
                element("h2") { localize("By product", "按商品") + " · \(title)" }
                FinanceChart(localize: localize, currency: currency).stacks(
                    ProductSums(chosen, currency).products.map { (catalog.name(of: $0.id, localize), $0.figures) })
                ProductTable(localize: localize, currency: currency, catalog: catalog, periods: chosen).html
            }
    }

    @HTMLBuilder private var unpriced: HTML {
        if !report.unpriced.isEmpty {
            element("p", .class("hint")) {
                let count = report.unpriced.values.reduce(0, +)
                localize(
                    "\(count) transactions are not included: they were submitted as receipts, which carry no price.",
                    "另有 \(count) 笔交易未计入：它们以收据形式提交，收据中不含价格。")
            }
        }
    }

    // MARK: The form

    private var form: HTML {
        element("form", Attribute("method", "get"), .action(.finance), .class("filters", "finance-choice")) {
            select("fiscalYear", localize("Fiscal year", "财年")) {
                for year in years { HTML.option("\(year)", "\(year)", isChosen: year == choice.fiscalYear) }
            }
            select("period", localize("Period", "财务月")) {
                HTML.option("", localize("All", "全部"), isChosen: choice.period == nil)
                for period in FiscalCalendar.periods(ofYear: choice.fiscalYear) {
                    HTML.option("\(period.number)", period.name(localize), isChosen: period == choice.period)
                }
            }
            select("currency", localize("Currency", "货币")) {
                for one in currencies { HTML.option(one.text, one.text, isChosen: one == currency) }
            }
            if environments.count > 1 {
                select("environment", localize("Environment", "环境")) {
                    for one in [StoreEnvironment.production, .sandbox] {
                        HTML.option(
                            one.rawValue.lowercased(),
                            one == .production ? localize("Production", "生产环境") : localize("Sandbox", "沙盒"),
                            isChosen: one == choice.environment)
                    }
                }
            }
            element("div", .class("buttons")) {
                element("button", Attribute("type", "submit"), .class("primary")) { localize("Show", "查询") }
            }
        }
    }

    private var years: [Int] {
        let present = FiscalCalendar.period(containing: CivilDate(visit.now)).fiscalYear
        let all = Set((present - 9...present) + [choice.fiscalYear]).filter(FinanceSpan.years.contains)
        return all.sorted(by: >)
    }

    private func select(_ name: StaticString, _ title: String, @HTMLBuilder options: () -> HTML) -> HTML {
        element("div") {
            element("label", Attribute("for", name)) { title }
            element("select", Attribute("id", name), Attribute("name", name), content: options)
        }
    }
}

extension FiscalPeriod {
    /// `Oct, period 1`.
    func name(_ localize: Localizer) -> String {
        // The first month of a fiscal year is October.
        let month = (number + 8) % 12 + 1
        return localize("\(label), period \(number)", "第 \(number) 期（\(month) 月）")
    }
}

extension SettlementReport.Period {
    func figures(in currency: Currency) -> SettlementReport.Figures {
        totals.first { $0.currency == currency }?.figures ?? SettlementReport.Figures()
    }
}

/// The sums of one currency, by product.
struct ProductSums {
    /// The product with the largest gross first.
    let products: [(id: ProductID, figures: SettlementReport.Figures)]

    init(_ periods: [SettlementReport.Period], _ currency: Currency) {
        var sums: [ProductID: SettlementReport.Figures] = [:]
        for row in periods.flatMap(\.rows) where row.currency == currency {
            let so = sums[row.productID] ?? SettlementReport.Figures()
            sums[row.productID] = so.adding(row.figures) ?? so
        }
        products = sums.sorted { left, right in
            let (a, b) = (left.value.sales.gross, right.value.sales.gross)
            return a == b ? left.key < right.key : a > b
        }
        .map { ($0.key, $0.value) }
    }
}
