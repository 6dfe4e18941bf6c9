extension ReportComparison.Verdict {
    public var name: Text {
        switch self {
        case .equal: Text(en: "equal", zh: "一致")
        case .onlyAtApple: Text(en: "only at Apple", zh: "只在苹果报告中")
        case .onlyInLedger: Text(en: "only in the ledger", zh: "只在账本中")
        case .unitsDiffer: Text(en: "units differ", zh: "数量不同")
        case .proceedsDiffer: Text(en: "proceeds differ", zh: "收入不同")
        }
    }
}

extension FinanceEntry.Kind {
    public var name: Text {
        switch self {
        case .sale: Text(en: "sale", zh: "销售")
        case .refund: Text(en: "refund", zh: "退款")
        }
    }
}

extension ReportComparison {
    /// How many lines came to which verdict, what differs line by line, and the sums.
    ///
    /// - Parameter limit: of lines shown; the rest is counted.
    public func lines(_ language: Language, limit: Int = 200) -> [String] {
        let counts = Verdict.allCases.map { "\($0.name[language]) \(count(of: $0))" }
        let different = lines.filter { $0.verdict != .equal }
        var result = [counts.joined(separator: Text(en: ", ", zh: "，")[language])]
        if !different.isEmpty {
            var table = TextTable(Self.heads.map { $0[language] }, numbers: [2, 4, 5, 6, 7, 8])
            for line in different.prefix(limit) { table.add(Self.cells(line, language)) }
            result += table.lines
        }
        if different.count > limit {
            let more = different.count - limit
            result.append(Text(en: "… and \(more) more", zh: "……另有 \(more) 行")[language])
        }
        for total in totals {
            let (apple, ledger) = (total.apple, total.ledger)
            result.append(
                Text(
                    en: "\(total.currency): Apple \(apple.units) units, \(apple.proceeds.decimal); ledger "
                        + "\(ledger.units) units, \(ledger.proceeds.decimal); difference \(total.difference.decimal)",
                    zh: "\(total.currency)：苹果 \(apple.units) 件，\(apple.proceeds.decimal)；账本 "
                        + "\(ledger.units) 件，\(ledger.proceeds.decimal)；相差 \(total.difference.decimal)")[language])
        }
        return result
    }

    /// Every line, equal ones too; amounts in decimals.
    public var csv: String {
        var csv = CSVText([
            "product", "country", "kind", "customer_price", "customer_currency", "verdict", "apple_units",
            "ledger_units", "apple_proceeds", "ledger_proceeds", "proceeds_currency", "difference",
        ])
        for line in lines {
            csv.add([
                CSVText.name(line.productID.text), CSVText.name(line.country ?? ""), line.kind.rawValue,
                line.customerPrice.decimal, CSVText.name(line.customerPrice.currency.text), line.verdict.rawValue,
                line.apple.map { "\($0.units)" } ?? "", line.ledger.map { "\($0.units)" } ?? "",
                line.apple?.proceeds.decimal ?? "", line.ledger?.proceeds.decimal ?? "",
                CSVText.name((line.apple ?? line.ledger)?.proceeds.currency.text ?? ""),
                line.proceedsDifference?.decimal ?? "",
            ])
        }
        return csv.text
    }

    private static let heads = [
        Text(en: "product", zh: "商品"), Text(en: "country", zh: "国家或地区"), Text(en: "price", zh: "单价"),
        Text(en: "kind", zh: "类型"), Text(en: "Apple units", zh: "苹果数量"), Text(en: "ledger units", zh: "账本数量"),
        Text(en: "Apple proceeds", zh: "苹果收入"), Text(en: "ledger proceeds", zh: "账本收入"),
        Text(en: "difference", zh: "相差"), Text(en: "verdict", zh: "结论"),
    ]

    private static func cells(_ line: Line, _ language: Language) -> [String] {
        [
            line.productID.text, line.country ?? "-", line.customerPrice.description, line.kind.name[language],
            line.apple.map { "\($0.units)" } ?? "-", line.ledger.map { "\($0.units)" } ?? "-",
            line.apple?.proceeds.decimal ?? "-", line.ledger?.proceeds.decimal ?? "-",
            line.proceedsDifference?.decimal ?? "-", line.verdict.name[language],
        ]
    }
}
