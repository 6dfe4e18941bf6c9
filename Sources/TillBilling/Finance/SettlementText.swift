extension SettlementReport {
    /// The complete report for a terminal.
    public func lines(_ language: Language) -> [String] {
        if periods.isEmpty {
            return [LocalizedText(en: "Nothing was sold or refunded.", zh: "没有销售，也没有退款。")[language]]
        }
        var lines: [String] = []
        for period in periods {
            if !lines.isEmpty { lines.append("") }
            lines += period.lines(language)
        }
        if !unusable.isEmpty {
            lines += [
                "",
                LocalizedText(
                    en: "Left out, because no report can hold them: \(unusable.count) entries",
                    zh: "无法计入报告的条目：\(unusable.count) 条")[language],
            ]
        }
        return lines
    }

    /// One line for each row of each period; amounts as decimals, dates as 2026-03-15.
    public var csv: String {
        var csv = CSVText([
            "fiscal_year", "period", "label", "start", "end", "payment_date", "product", "storefront", "currency",
            "units_sold", "units_refunded", "gross", "tax", "commission", "proceeds", "refunded_gross",
            "refunded_proceeds", "net_proceeds", "tax_unknown",
        ])
        for period in periods {
            let fiscal = period.fiscal
            for row in period.rows {
                let figures = row.figures
                func decimal(_ amount: Int64) -> String { Money(amount: amount, currency: row.currency).decimal }
                csv.add(
                    [
                        "\(fiscal.fiscalYear)", "\(fiscal.number)", fiscal.label, "\(fiscal.start)", "\(fiscal.end)",
                        "\(fiscal.paymentDate)", CSVText.name(row.productID.text), CSVText.name(row.storefront ?? ""),
                        CSVText.name(row.currency.text), "\(figures.unitsSold)", "\(figures.unitsRefunded)",
                    ]
                        + [
                            figures.sales.gross, figures.sales.tax, figures.sales.commission, figures.sales.proceeds,
                            figures.refunds.gross, figures.refunds.proceeds, figures.netProceeds,
                        ].map(decimal) + [row.isTaxUnknown ? "true" : "false"])
            }
        }
        return csv.text
    }
}

extension SettlementReport.Period {
    /// A heading, a table, and the sums.
    public func lines(_ language: Language) -> [String] {
        let heading = LocalizedText(
            en: "FY\(fiscal.fiscalYear) period \(fiscal.number) (\(fiscal.label)): \(fiscal.start) to \(fiscal.end), "
                + "payment expected \(fiscal.paymentDate)",
            zh: "\(fiscal.fiscalYear) 财年第 \(fiscal.number) 期（\(fiscal.label)）：\(fiscal.start) 至 \(fiscal.end)，"
                + "预计 \(fiscal.paymentDate) 回款")
        var table = TextTable(Self.heads.map { $0[language] }, numbers: 3...10)
        for row in rows {
            table.add(
                [row.productID.text, row.storefront ?? "-", row.currency.text + (row.isTaxUnknown ? " *" : "")]
                    + Self.cells(row.figures, row.currency))
        }
        for total in totals {
            table.add(
                [
                    LocalizedText(en: "total", zh: "合计")[language], "",
                    total.currency.text + (total.isTaxUnknown ? " *" : ""),
                ] + Self.cells(total.figures, total.currency))
        }
        let remark = LocalizedText(
            en: "* The storefront's tax is not known and was counted as zero: Apple's report will say less.",
            zh: "* 该店面的税率未知，按无税计算：Apple 报告的金额会更少。")
        return [heading[language]] + table.lines + (isTaxUnknown ? [remark[language]] : [])
    }

    private static let heads = [
        LocalizedText(en: "product", zh: "商品"), LocalizedText(en: "storefront", zh: "店面"),
        LocalizedText(en: "currency", zh: "货币"),
        LocalizedText(en: "sold", zh: "售出"), LocalizedText(en: "refunded", zh: "退款"),
        LocalizedText(en: "gross", zh: "总额"),
        LocalizedText(en: "tax", zh: "税"), LocalizedText(en: "commission", zh: "佣金"),
        LocalizedText(en: "proceeds", zh: "收入"),
        LocalizedText(en: "refunds", zh: "退款扣回"), LocalizedText(en: "net proceeds", zh: "净收入"),
    ]

    private static func cells(_ figures: SettlementReport.Figures, _ currency: Currency) -> [String] {
        ["\(figures.unitsSold)", "\(figures.unitsRefunded)"]
            + [
                figures.sales.gross, figures.sales.tax, figures.sales.commission, figures.sales.proceeds,
                -figures.refunds.proceeds, figures.netProceeds,
            ].map { Money(amount: $0, currency: currency).decimal }
    }
}
