import TillBilling
import TillLedger
import TillPages

/// Apple's reports: the imported ones, their comparison with the ledger, and the form to import another.
struct AppleReportSection {
    let page: FinancePage

    private var localize: Localizer { page.localize }

    var html: HTML {
        element("section", .class("card")) {
            element("h2") { localize("Apple's report", "Apple 的财务报告") }
            if let period = page.choice.period, let imported = page.imported {
                compared(period, imported)
            } else {
                element("p", .class("hint")) {
                    localize(
                        "Choose a period to compare Apple's report with the ledger.", "选择一个财务月，即可将 Apple 的报告与账本逐行核对。")
                }
            }
            form
        }
    }

    @HTMLBuilder private func compared(_ period: FiscalPeriod, _ imported: FinanceReports.Imported) -> HTML {
        if imported.reports.isEmpty {
            HTML.emptyState(localize("No report of this period was imported.", "尚未导入该财务月的报告。"))
        } else {
            element("ul", .class("plain")) {
                for report in imported.reports {
                    element("li") {
                        HTML.code(report.name, limit: 80)
                        localize(" · \(report.lines) lines · ", " · \(report.lines) 行 · ")
                        HTML.time(report.importedAt)
                        " · "
                        HTML.untrusted(report.actor, limit: 48)
                    }
                }
            }
            ComparisonTable(
                localize: localize,
                comparison: ReportComparison(
                    apple: imported.lines,
                    ledger: page.report.settlement.periods.first { $0.fiscal == period })
            ).html
        }
    }

    /// Shown only in a browser session; scripts use the HTTP API.
    @HTMLBuilder private var form: HTML {
        if let token = page.visit.session.formToken {
            element(
                "form", Attribute("method", "post"), .action(.appleReports),
                Attribute("enctype", "multipart/form-data"),
                .class("import")
            ) {
                HTML.hidden("form", token)
                element("div") {
                    element("label", Attribute("for", "report")) {
                        localize(
                            "Financial report from App Store Connect, unpacked (.txt)",
                            "从 App Store Connect 下载并解压的财务报告（.txt）")
                    }
                    emptyElement(
                        "input", Attribute("id", "report"), Attribute("name", "report"), Attribute("type", "file"),
                        Attribute("accept", ".txt,.tsv,text/plain"), .flag("required"))
                }
                element("button", Attribute("type", "submit"), .class("quiet")) { localize("Import", "导入") }
            }
        }
    }
}

/// The lines of Apple's reports and of the ledger, those that differ first.
struct ComparisonTable {
    let localize: Localizer
    let comparison: ReportComparison

    private static let lineLimit = 200

    var html: HTML {
        let different = comparison.lines.filter { $0.verdict != .equal }
        let shown = different.prefix(Self.lineLimit)
        return element("p") {
            element("span", .class("pill", different.isEmpty ? "good" : "bad")) {
                different.isEmpty
                    ? localize("No difference", "完全一致")
                    : localize("\(different.count) differ", "\(different.count) 行不同")
            }
            localize(
                " \(comparison.lines.count - different.count) of \(comparison.lines.count) lines are equal.",
                " \(comparison.lines.count) 行中 \(comparison.lines.count - different.count) 行一致。")
        }
            + totals
            + (shown.isEmpty ? .empty : table(Array(shown)))
            + (different.count > shown.count
                ? element("p", .class("hint")) {
                    localize(
                        "The first \(shown.count) are shown; `till compare` lists all.",
                        "仅列出前 \(shown.count) 行；全部见 till compare。")
                } : .empty)
    }

    private var totals: HTML {
        HTML.table(
            "figures", label: localize("Sums by currency", "按货币合计"),
            columns: [
                localize("Currency", "货币"), localize("Apple", "Apple"), localize("Ledger", "账本"),
                localize("Difference", "相差"),
            ]
        ) {
            for total in comparison.totals {
                HTML.row {
                    HTML.cell("name") { HTML.untrusted(total.currency.text, limit: 10) }
                    FigureCells.cell("amount", "Apple") { money(total.apple.proceeds) }
                    FigureCells.cell("amount", localize("Ledger", "账本")) { money(total.ledger.proceeds) }
                    FigureCells.cell("amount", localize("Difference", "相差")) { money(total.difference) }
                }
            }
        }
    }

    private func table(_ lines: [ReportComparison.Line]) -> HTML {
        let titles = [
            localize("Apple's units", "Apple 数量"), localize("Ledger's units", "账本数量"),
            localize("Apple's proceeds", "Apple 收入"),
            localize("Ledger's proceeds", "账本收入"), localize("Difference", "相差"),
        ]
        return HTML.table(
            "figures", label: localize("Lines that differ", "不同的行"),
            columns: [
                localize("Product", "商品"), localize("Why", "结论"), localize("Country", "国家或地区"), localize("Price", "单价"),
            ] + titles
        ) {
            for line in lines {
                HTML.row {
                    HTML.cell("name") {
                        HTML.code(line.productID.text, limit: 100)
                        " "
                        localize(line.kind.name)
                    }
                    HTML.cell("status") {
                        element("span", .class("pill", line.verdict.styleClass)) { localize(line.verdict.name) }
                    }
                    FigureCells.cell("country", localize("Country", "国家或地区")) {
                        HTML.untrusted(line.country ?? "–", limit: 10)
                    }
                    FigureCells.cell("amount", localize("Price", "单价")) { line.customerPrice.description }
                    FigureCells.cell("amount", titles[0]) { line.apple.map { Grouped.text($0.units) } ?? "–" }
                    FigureCells.cell("amount", titles[1]) { line.ledger.map { Grouped.text($0.units) } ?? "–" }
                    FigureCells.cell("amount", titles[2]) { line.apple.map { money($0.proceeds) } ?? "–" }
                    FigureCells.cell("amount", titles[3]) { line.ledger.map { money($0.proceeds) } ?? "–" }
                    FigureCells.cell("amount", titles[4]) { line.proceedsDifference.map(money) ?? "–" }
                }
            }
        }
    }

    private func money(_ money: Money) -> String { Grouped.text(money.amount, money.currency) }
}

extension ReportComparison.Verdict {
    /// The class that gives its color in the style sheet. The text carries the same meaning.
    var styleClass: StaticString {
        switch self {
        case .equal: "good"
        case .onlyAtApple, .onlyInLedger: "waiting"
        case .unitsDiffer, .proceedsDiffer: "bad"
        }
    }
}
