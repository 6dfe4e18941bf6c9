/// Compares Apple's financial report with the ledger line by line. A line is a product at a price in a country, with
/// sales and returns apart; equal lines of Apple's are added up. Apple's report is authoritative for money; differences
/// need a person's attention.
public struct ReportComparison: Hashable, Sendable {
    public enum Verdict: String, Hashable, Sendable, Codable, CaseIterable {
        case equal, onlyAtApple, onlyInLedger, unitsDiffer, proceedsDiffer
    }

    public struct Line: Hashable, Sendable {
        public let productID: ProductID
        /// ISO 3166-1 alpha-2; the ledger's value if it is not one of Apple's territories; nil if unknown.
        public let country: String?
        /// For one unit.
        public let customerPrice: Money
        public let kind: FinanceEntry.Kind
        /// Nil if Apple's report has no such line.
        public let apple: Side?
        /// Nil if the ledger has no such line.
        public let ledger: Side?

        public var verdict: Verdict {
            guard let apple else { return .onlyInLedger }
            guard let ledger else { return .onlyAtApple }
            if apple.units != ledger.units { return .unitsDiffer }
            return apple.proceeds == ledger.proceeds ? .equal : .proceedsDiffer
        }

        /// Apple's units minus the ledger's.
        public var unitsDifference: Int64 { (apple?.units ?? 0) &- (ledger?.units ?? 0) }

        /// Apple's proceeds minus the ledger's; nil if they are in different currencies.
        public var proceedsDifference: Money? {
            guard let currency = (apple ?? ledger)?.proceeds.currency,
                ledger?.proceeds.currency ?? currency == currency
            else { return nil }
            return Money(
                amount: (apple?.proceeds.amount ?? 0) &- (ledger?.proceeds.amount ?? 0), currency: currency)
        }
    }

    /// Never negative, not even for returns.
    public struct Side: Hashable, Sendable {
        public var units: Int64
        public var proceeds: Money
    }

    /// The sum of all lines in a currency, with returns subtracted, so it may be negative.
    public struct Total: Hashable, Sendable {
        public let currency: Currency
        public let apple: Side
        public let ledger: Side

        public var difference: Money {
            Money(amount: apple.proceeds.amount &- ledger.proceeds.amount, currency: currency)
        }
    }

    /// Grouped by product, country, price and kind.
    public let lines: [Line]
    /// The currencies of the proceeds, in alphabetical order.
    public let totals: [Total]

    /// Whether every line is equal.
    public var isEqual: Bool { lines.allSatisfy { $0.verdict == .equal } }
    public func count(of verdict: Verdict) -> Int { lines.count { $0.verdict == verdict } }

    /// - Parameters:
    ///   - apple: the lines of one fiscal period, from all of its files.
    ///   - ledger: the same period; nil if it has no sales.
    public init(apple: [FinancialReportFile.Line], ledger: SettlementReport.Period?) {
        var sides: [Key: (apple: Side?, ledger: Side?)] = [:]
        for line in apple {
            let key = Key(
                productID: line.productID, country: line.country, price: line.customerPrice,
                kind: line.isReturn ? .refund : .sale, currency: line.proceeds.currency)
            // Apple writes returns with a minus; a return without one is still a return.
            let so = sides[key]?.apple
            let units = line.isReturn ? line.units.fromZeroUp : line.units
            let proceeds = line.isReturn ? line.proceeds.amount.fromZeroUp : line.proceeds.amount
            sides[key, default: (nil, nil)].apple = Side(
                units: (so?.units ?? 0) &+ units,
                proceeds: Money(
                    amount: (so?.proceeds.amount ?? 0) &+ proceeds, currency: line.proceeds.currency))
        }
        for line in ledger?.lines ?? [] {
            let country = line.storefront.map { Territory(code: $0)?.alpha2 ?? $0 }
            let key = Key(
                productID: line.productID, country: country, price: line.unitPrice, kind: line.kind,
                currency: line.unitPrice.currency)
            let so = sides[key]?.ledger
            sides[key, default: (nil, nil)].ledger = Side(
                units: (so?.units ?? 0) &+ line.units,
                proceeds: Money(
                    amount: (so?.proceeds.amount ?? 0) &+ line.proceeds, currency: line.unitPrice.currency))
        }
        lines = sides.sorted { $0.key < $1.key }.map { key, sides in
            Line(
                productID: key.productID, country: key.country, customerPrice: key.price, kind: key.kind,
                apple: sides.apple, ledger: sides.ledger)
        }
        totals = Self.totals(of: lines)
    }

    private static func totals(of lines: [Line]) -> [Total] {
        func sum(_ lines: [Line], _ side: KeyPath<Line, Side?>, _ currency: Currency) -> Side {
            var total = Side(units: 0, proceeds: Money(amount: 0, currency: currency))
            for line in lines {
                guard let part = line[keyPath: side] else { continue }
                let sign: Int64 = line.kind == .refund ? -1 : 1
                total.units = total.units &+ part.units &* sign
                total.proceeds = Money(
                    amount: total.proceeds.amount &+ part.proceeds.amount &* sign, currency: currency)
            }
            return total
        }
        let byCurrency = Dictionary(grouping: lines) { ($0.apple ?? $0.ledger)?.proceeds.currency ?? Currency("") }
        return byCurrency.sorted { $0.key < $1.key }.map { currency, lines in
            Total(
                currency: currency, apple: sum(lines, \.apple, currency), ledger: sum(lines, \.ledger, currency))
        }
    }

    private struct Key: Hashable, Comparable {
        let productID: ProductID
        let country: String?
        let price: Money
        let kind: FinanceEntry.Kind
        /// The currency of the proceeds.
        let currency: Currency

        static func < (left: Key, right: Key) -> Bool { left.order < right.order }

        private var order: (ProductID, String, Currency, Int64, String) {
            (productID, country ?? "", price.currency, price.amount, (kind == .sale ? "0" : "1") + currency.text)
        }
    }
}

extension Int64 {
    /// The magnitude, limited to the largest Int64.
    var fromZeroUp: Int64 { self == .min ? .max : abs(self) }
}

extension ReportComparison.Verdict {
    public var name: LocalizedText {
        switch self {
        case .equal: LocalizedText(en: "equal", zh: "一致")
        case .onlyAtApple: LocalizedText(en: "only at Apple", zh: "只在 Apple 报告中")
        case .onlyInLedger: LocalizedText(en: "only in the ledger", zh: "只在账本中")
        case .unitsDiffer: LocalizedText(en: "units differ", zh: "数量不同")
        case .proceedsDiffer: LocalizedText(en: "proceeds differ", zh: "收入不同")
        }
    }
}

extension FinanceEntry.Kind {
    public var name: LocalizedText {
        switch self {
        case .sale: LocalizedText(en: "sale", zh: "销售")
        case .refund: LocalizedText(en: "refund", zh: "退款")
        }
    }
}

extension ReportComparison {
    /// The number of lines for each verdict, the differing lines, and the sums.
    ///
    /// - Parameter limit: the maximum of lines shown; further ones are counted.
    public func lines(_ language: Language, limit: Int = 200) -> [String] {
        let counts = Verdict.allCases.map { "\($0.name[language]) \(count(of: $0))" }
        let different = lines.filter { $0.verdict != .equal }
        var result = [counts.joined(separator: LocalizedText(en: ", ", zh: "，")[language])]
        if !different.isEmpty {
            var table = TextTable(Self.heads.map { $0[language] }, numbers: [2, 4, 5, 6, 7, 8])
            for line in different.prefix(limit) { table.add(Self.cells(line, language)) }
            result += table.lines
        }
        if different.count > limit {
            let more = different.count - limit
            result.append(LocalizedText(en: "… and \(more) more", zh: "……另有 \(more) 行")[language])
        }
        for total in totals {
            let (apple, ledger) = (total.apple, total.ledger)
            result.append(
                LocalizedText(
                    en: "\(total.currency): Apple \(apple.units) units, \(apple.proceeds.decimal); ledger "
                        + "\(ledger.units) units, \(ledger.proceeds.decimal); difference \(total.difference.decimal)",
                    zh: "\(total.currency)：Apple \(apple.units) 件，\(apple.proceeds.decimal)；账本 "
                        + "\(ledger.units) 件，\(ledger.proceeds.decimal)；相差 \(total.difference.decimal)")[language])
        }
        return result
    }

    /// Every line, including equal ones; amounts as decimals.
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
        LocalizedText(en: "product", zh: "商品"), LocalizedText(en: "country", zh: "国家或地区"),
        LocalizedText(en: "price", zh: "单价"),
        LocalizedText(en: "kind", zh: "类型"), LocalizedText(en: "Apple units", zh: "Apple 数量"),
        LocalizedText(en: "ledger units", zh: "账本数量"),
        LocalizedText(en: "Apple proceeds", zh: "Apple 收入"), LocalizedText(en: "ledger proceeds", zh: "账本收入"),
        LocalizedText(en: "difference", zh: "相差"), LocalizedText(en: "verdict", zh: "结论"),
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
