import Testing
import TillBilling

@Suite("Apple's report is compared with the ledger (C3)") struct ReportComparisonTests {
    private func apple(_ rows: [String]) -> [FinancialReportFile.Line] {
        FinancialReportFile(ReportSample.text(rows.map { ReportSample.cells($0) })).lines
    }

    /// The ledger's sales and refunds: `product count price currency storefront [R]`.
    private func ledger(_ rows: [String]) throws -> SettlementReport.Period? {
        let entries = try rows.map { row in
            let cells = row.split(separator: " ").map(String.init)
            var entry = FinanceEntry(
                kind: cells.count > 5 ? .refund : .sale, day: civilDay("2026-02-10"), productID: ProductID(cells[0]),
                paid: tag("\(cells[2]) \(cells[3])"), count: try #require(Int(cells[1])))
            entry.storefront = cells[4] == "-" ? nil : cells[4]
            return entry
        }
        return SettlementReport(entries).periods.first
    }

    private func reported(_ comparison: ReportComparison) -> [String] {
        comparison.lines.map { line in
            let difference = line.proceedsDifference.map { "\($0.amount)" } ?? "?"
            return "\(line.productID) \(line.country ?? "-") \(line.customerPrice) \(line.kind): "
                + "\(line.verdict.rawValue) \(line.unitsDifference) \(difference)"
        }
    }

    @Test("Each line is equal, on one side only, or differs in units or proceeds, with the difference")
    func verdicts() throws {
        let comparison = ReportComparison(
            apple: apple([
                "a 2 4.12 8.24 CNY S CN 6.00 CNY", "a 1 4.12 4.12 CNY S CN 6.00 CNY",
                "a -1 4.12 -4.12 CNY R CN 6.00 CNY",
                "b 5 0.70 3.50 USD S US 0.99 USD", "c 1 0.69 0.69 USD S US 0.99 USD", "d 1 0.70 0.70 EUR S FR 0.99 USD",
                "e 1 1.00 1.00 EUR S DE 1.49 EUR",
            ]),
            ledger: try ledger([
                "a 3 6 CNY CHN", "a 1 6 CNY CHN R", "b 4 0.99 USD USA", "c 1 0.99 USD USA", "d 1 0.99 USD FRA",
                "f 1 1 EUR -",
            ]))
        #expect(
            reported(comparison) == [
                "a CN 6.00 CNY sale: equal 0 0", "a CN 6.00 CNY refund: equal 0 0",
                "b US 0.99 USD sale: unitsDiffer 1 70", "c US 0.99 USD sale: proceedsDiffer 0 -1",
                "d FR 0.99 USD sale: onlyAtApple 1 70", "d FR 0.99 USD sale: onlyInLedger -1 -70",
                "e DE 1.49 EUR sale: onlyAtApple 1 100", "f - 1.00 EUR sale: onlyInLedger -1 -70",
            ])
        #expect(!comparison.isEqual && comparison.count(of: .onlyAtApple) == 2)
        #expect(
            comparison.totals.map { "\($0.currency) \($0.apple.units) \($0.ledger.units) \($0.difference.amount)" } == [
                "CNY 2 2 0", "EUR 2 1 100", "USD 6 6 -1",
            ])
    }

    @Test("A ledger that Apple agrees with is equal in every line, and two empty sides are equal")
    func equal() throws {
        let same = ReportComparison(
            apple: apple([ReportSample.sale]), ledger: try ledger(["a 3 6 CNY CHN"]))
        #expect(same.isEqual && same.lines.count == 1 && same.totals.map(\.difference.amount) == [0])
        let none = ReportComparison(apple: [], ledger: nil)
        #expect(none.isEqual && none.lines.isEmpty && none.totals.isEmpty)
        #expect(ReportComparison(apple: apple([ReportSample.sale]), ledger: nil).count(of: .onlyAtApple) == 1)
    }

    @Test("It is rendered in both languages, differences only, and as CSV with every line")
    func text() throws {
        let comparison = ReportComparison(
            apple: apple([ReportSample.sale, "b 1 0.70 0.70 USD S US 0.99 USD"]),
            ledger: try ledger(["a 3 6 CNY CHN", "b 2 0.99 USD USA"]))
        let english = comparison.lines(.english)
        #expect(english[0] == "equal 1, only at Apple 0, only in the ledger 0, units differ 1, proceeds differ 0")
        #expect(
            english.contains { $0.hasPrefix("b ") && $0.hasSuffix("units differ") }
                && !english.contains { $0.hasPrefix("a ") })
        #expect(english.last == "USD: Apple 1 units, 0.70; ledger 2 units, 1.40; difference -0.70")
        let chinese = comparison.lines(.chinese)
        #expect(chinese[0].hasPrefix("一致 1，") && chinese.last?.contains("相差 -0.70") == true)
        #expect(comparison.csv.split(separator: "\r\n").count == 3)
        #expect(comparison.csv.contains("b,US,sale,0.99,USD,unitsDiffer,1,2,0.70,1.40,USD,-0.70"))
        let many = ReportComparison(
            apple: apple((1...5).map { "p\($0) 1 0.70 0.70 USD S US 0.99 USD" }), ledger: nil)
        #expect(many.lines(.english, limit: 2).contains("… and 3 more"))
    }
}
