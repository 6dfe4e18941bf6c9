import TillBilling
import TillPages

/// The fiscal periods of a year in one currency.
struct PeriodTable {
    let localize: Localizer
    let currency: Currency
    let choice: FinanceChoice
    let periods: [SettlementReport.Period]

    var html: HTML {
        HTML.table(
            "figures", label: localize("Fiscal periods, in \(currency)", "财务月，以 \(currency) 计"),
            columns: [localize("Period", "财务月"), localize("Payment", "付款日")] + FigureCells.columns(localize)
        ) {
            for period in periods {
                HTML.row {
                    element("td", .class("name"), Attribute("role", "cell")) {
                        element("a", .href(.finance(choice, period.fiscal, currency))) { period.fiscal.name(localize) }
                        element("div", .class("hint")) { "\(period.fiscal.start) – \(period.fiscal.end)" }
                    }
                    FigureCells.cell("time", localize("Payment", "付款日")) { "\(period.fiscal.paymentDate)" }
                    FigureCells(localize: localize, currency: currency, figures: period.figures(in: currency)).html
                }
            }
        }
            + FigureCells.note(periods.flatMap(\.rows).filter { $0.currency == currency }, localize)
    }
}

/// Products and storefronts of one currency, added up over periods.
struct ProductTable {
    let localize: Localizer
    let currency: Currency
    let catalog: Catalog
    let periods: [SettlementReport.Period]

    /// Rows on the page, to keep it readable; the CSV has all rows.
    private static let rowLimit = 200

    private struct Place: Hashable {
        let product: ProductID
        let storefront: String?
    }

    var html: HTML {
        let rows = periods.flatMap(\.rows).filter { $0.currency == currency }
        var sums: [Place: SettlementReport.Figures] = [:]
        for row in rows {
            let place = Place(product: row.productID, storefront: row.storefront)
            let so = sums[place] ?? SettlementReport.Figures()
            sums[place] = so.adding(row.figures) ?? so
        }
        let unknown = Set(rows.filter(\.isTaxUnknown).map(\.storefront))
        let sorted = sums.sorted { left, right in
            (left.key.product, left.key.storefront ?? "") < (right.key.product, right.key.storefront ?? "")
        }
        return HTML.table(
            "figures", label: localize("Products, in \(currency)", "商品，以 \(currency) 计"),
            columns: [localize("Product", "商品"), localize("Storefront", "店面")] + FigureCells.columns(localize)
        ) {
            for (place, figures) in sorted.prefix(Self.rowLimit) {
                HTML.row {
                    HTML.cell("name") { HTML.untrusted(catalog.name(of: place.product, localize), limit: 100) }
                    FigureCells.cell("storefront", localize("Storefront", "店面")) {
                        HTML.untrusted(place.storefront ?? "–", limit: 10)
                        if unknown.contains(place.storefront) { " *" }
                    }
                    FigureCells(localize: localize, currency: currency, figures: figures).html
                }
            }
        }
            + FigureCells.note(rows, localize)
            + (sorted.count > Self.rowLimit
                ? element("p", .class("hint")) {
                    localize(
                        "The first \(Self.rowLimit) of \(sorted.count) rows; `till report --csv` lists all.",
                        "仅列出 \(sorted.count) 行中的前 \(Self.rowLimit) 行；全部内容见 till report --csv。")
                } : .empty)
    }
}

/// The cells that every row of figures has. On a narrow screen each cell shows its own title.
struct FigureCells {
    let localize: Localizer
    let currency: Currency
    let figures: SettlementReport.Figures

    static func columns(_ localize: Localizer) -> [String] {
        [
            localize("Units", "数量"), localize("Gross", "总额"), localize("Tax", "税"), localize("Commission", "佣金"),
            localize("Proceeds", "收入"), localize("Refunds", "退款"), localize("Expected", "预计回款"),
        ]
    }

    @HTMLBuilder var html: HTML {
        let titles = Self.columns(localize)
        Self.cell("amount", titles[0]) {
            Grouped.text(figures.unitsSold)
            if figures.unitsRefunded > 0 { " − \(Grouped.text(figures.unitsRefunded))" }
        }
        for (title, amount) in zip(titles.dropFirst(), amounts) {
            Self.cell("amount", title) { Grouped.text(amount, currency) }
        }
    }

    private var amounts: [Int64] {
        [
            figures.sales.gross, figures.sales.tax, figures.sales.commission, figures.sales.proceeds,
            -figures.refunds.proceeds, figures.netProceeds,
        ]
    }

    static func cell(_ name: StaticString, _ title: String, @HTMLBuilder _ content: () -> HTML) -> HTML {
        element("td", .class(name), Attribute("role", "cell"), .data("data-title", title), content: content)
    }

    @HTMLBuilder static func note(_ rows: [SettlementReport.Row], _ localize: Localizer) -> HTML {
        if rows.contains(where: \.isTaxUnknown) {
            element("p", .class("hint")) {
                localize(
                    "* The storefront's tax is unknown and counted as zero, so Apple's payment will be lower.",
                    "* 该店面的税率未知，按零税率计算，因此 Apple 实际支付的金额会更低。")
            }
        }
    }
}
