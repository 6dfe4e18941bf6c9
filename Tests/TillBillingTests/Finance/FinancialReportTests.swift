import Foundation
import Testing
import TillBilling

/// Financial reports in Apple's format, written line by line.
enum ReportSample {
    static let heads = [
        "Start Date", "End Date", "UPC", "ISRC/ISBN", "Vendor Identifier", "Quantity", "Partner Share",
        "Extended Partner Share", "Partner Share Currency", "Sales or Return", "Apple Identifier",
        "Artist/Show/Developer/Author", "Title", "Label/Studio/Network/Developer/Publisher", "Grid",
        "Product Type Identifier", "ISAN/Other Identifier", "Country Of Sale", "Pre-order Flag", "Promo Code",
        "Customer Price", "Customer Currency",
    ]

    /// `product units share extended currency S|R country price currency`
    static func cells(_ text: String, start: String = "02/01/2026", end: String = "02/28/2026") -> [String] {
        let parts = text.split(separator: " ").map(String.init)
        return [
            start, end, "", "", parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], "1600000000", "Somebody",
            "Sixty points", "", "", "IA1", "", parts[6], "", "", parts[7], parts[8],
        ]
    }

    static func text(_ rows: [[String]], totals: [String] = [], newline: String = "\n") -> String {
        (([heads] + rows).map { $0.joined(separator: "\t") } + totals).joined(separator: newline) + newline
    }

    static let sale = "a 3 4.12 12.36 CNY S CN 6.00 CNY"
}

@Suite("Apple's financial report is read (C3)") struct FinancialReportTests {
    private func codes(_ file: FinancialReportFile) -> [String] {
        file.findings.map { "\($0.line.map(String.init) ?? "-") \($0.code.rawValue)" }
    }

    @Test("A file of one region: lines, totals, no finding", arguments: ["\n", "\r\n"])
    func region(_ newline: String) throws {
        let rows = [ReportSample.sale, "a -1 4.12 -4.12 CNY R CN 6.00 CNY", "b 1 84 84.00 CNY S CN 120.00 CNY"]
        let text = ReportSample.text(
            rows.map { ReportSample.cells($0) }, totals: ["Total_Rows\t3", "Total_Amount\t92.24", "Total_Units\t3"],
            newline: newline)
        for text in [text, "\u{FEFF}" + text] {
            let file = FinancialReportFile(text)
            #expect(file.findings.isEmpty && file.isUsable, "\(codes(file))")
            #expect(file.lines.map(\.units) == [3, -1, 1] && file.lines.map(\.number) == [2, 3, 4])
            #expect(file.lines.map(\.isReturn) == [false, true, false])
            #expect(file.period?.label == "Feb" && file.period?.fiscalYear == 2026)
            let first = try #require(file.lines.first)
            #expect(first.customerPrice == tag("6 CNY") && first.proceedsEach == tag("4.12 CNY"))
            #expect(first.proceeds == tag("12.36 CNY") && first.country == "CN" && first.title == "Sixty points")
            #expect(first.productTypeIdentifier == "IA1" && first.appleIdentifier == "1600000000")
        }
    }

    @Test("Columns may stand in any order and case; unknown ones are ignored")
    func order() {
        let heads = ReportSample.heads.map { $0 == "Sales or Return" ? "sale or return" : $0 }
        let cells = ReportSample.cells(ReportSample.sale)
        let turned = [Array(heads.reversed()) + ["Brand new"], Array(cells.reversed()) + ["?"]]
        let file = FinancialReportFile(turned.map { $0.joined(separator: "\t") }.joined(separator: "\n"))
        #expect(codes(file) == ["- noTotals"] && file.isUsable)
        #expect(file.lines.first?.proceeds == tag("12.36 CNY"))
    }

    @Test("The single file for all countries has its dates at the top and totals by country at the end")
    func single() {
        let text = """
            Vendor Name\tSomebody
            Start Date\t02/01/2026
            End Date\t02/28/2026
            Transaction Date\tSettlement Date\tApple Identifier\tSKU\tTitle\tDeveloper Name\tProduct Type Identifier\t\
            Country of Sale\tQuantity\tPartner Share\tExtended Partner Share\tPartner Share Currency\tCustomer Price\t\
            Customer Currency\tSale or Return\tPromo Code\tOrder Type\tRegion
            02/03/2026\t02/05/2026\t16\ta\tT\tD\tIA1\tCN\t2\t4.12\t8.24\tCNY\t6.00\tCNY\tS\t\t\tCN
            02/03/2026\t02/05/2026\t16\ta\tT\tD\tIA1\tUS\t1\t0.70\t0.70\tUSD\t0.99\tUSD\tS\t\t\tUS
            Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share
            CN\tCNY\t2\t8.24
            US\tUSD\t1\t0.71
            """
        let file = FinancialReportFile(text)
        #expect(codes(file) == ["- countryTotal"])
        #expect(file.findings.first?.sentence.en.contains("US: 1, 0.71 ≠ 1, 0.70 USD") == true)
        #expect(file.lines.count == 2 && file.period?.label == "Feb")
    }

    @Test(
        "Every defect of a line is a finding that names the line and the remedy, and the line is left out",
        arguments: [
            ("a 3 4.12 12.36 CNY X CN 6.00 CNY", "badSaleOrReturn"),
            ("a 3.5 4.12 12.36 CNY S CN 6.00 CNY", "badQuantity"),
            ("a three 4.12 12.36 CNY S CN 6.00 CNY", "badQuantity"), ("a 3 4,12 12.36 CNY S CN 6.00 CNY", "badAmount"),
            ("a 3 4.12 12.36e1 CNY S CN 6.00 CNY", "badAmount"), ("a 3 4.12 12.36 YUAN S CN 6.00 CNY", "badCurrency"),
            ("a 3 4.12 12.36 CNY S CHN 6.00 CNY", "badCountry"), ("a 3 4.12 12.36 CNY S 中国 6.00 CNY", "badCountry"),
            ("a 3 4.12 12.36 CNY S CN 1234567890123456 CNY", "badAmount"),
        ])
    func defects(_ row: String, _ code: String) {
        let file = FinancialReportFile(
            ReportSample.text(
                [ReportSample.cells(ReportSample.sale), ReportSample.cells(row)], totals: ["Total_Rows\t2"]))
        #expect(codes(file) == ["3 \(code)"] && file.lines.count == 1 && !file.isUsable)
        for finding in file.findings {
            for text in [finding.sentence, finding.cure] { #expect(!text.en.isEmpty && text.en != text.zh) }
        }
    }

    @Test("Dates are MM/DD/YYYY of a fiscal month; missing cells are named")
    func datesAndCells() {
        func findings(_ rows: [[String]]) -> [String] {
            codes(FinancialReportFile(ReportSample.text(rows, totals: ["Total_Rows\t\(rows.count)"])))
        }
        func dated(_ start: String, _ end: String) -> [String] {
            ReportSample.cells(ReportSample.sale, start: start, end: end)
        }
        #expect(findings([dated("2026-02-01", "02/28/2026")]) == ["2 badDate"])
        #expect(findings([dated("02/30/2026", "02/28/2026")]) == ["2 badDate"])
        #expect(findings([dated("13/01/2026", "14/01/2026")]) == ["2 badDate", "2 badDate"])
        #expect(findings([dated("", "02/28/2026")]) == ["2 noPeriod"])
        #expect(findings([dated("2/1/2026", "2/28/2026")]).isEmpty)
        #expect(findings([dated("02/01/2026", "02/27/2026")]) == ["- noFiscalPeriod"])
        #expect(
            findings([dated("02/01/2026", "02/28/2026"), dated("03/01/2026", "03/28/2026")]) == ["- severalPeriods"])
        var cells = ReportSample.cells(ReportSample.sale)
        cells[4] = " "
        #expect(findings([cells]) == ["2 missingProduct"])
        #expect(findings([Array(ReportSample.cells(ReportSample.sale).prefix(21))]) == ["2 missingCell"])
    }

    @Test("An unusual but readable line gets a remark")
    func remarks() throws {
        let rows = [
            "a 3 4.12 12.37 CNY S CN 6.00 CNY", "a 1 4.12 4.12 CNY R CN 6.00 CNY",
            "a 1 763.64 763.64 KRW S KR 1200 KRW",
            "a 1 1 1 USD S ZZ 1 USD", "a 1 1 1 USD S ZZ 1 USD", "a 1 3,801.00 3,801.00 USD S US 5000 USD",
        ]
        let file = FinancialReportFile(
            ReportSample.text(rows.map { ReportSample.cells($0) }, totals: ["Total_Rows\t6", "Total_Units\t8"]))
        #expect(
            codes(file) == [
                "2 shareMismatch", "3 signMismatch", "4 amountRounded", "4 amountRounded", "5 unknownCountry",
            ])
        #expect(file.isUsable && file.lines.count == 6)
        #expect(file.lines[2].proceeds == tag("764 KRW") && file.lines[5].proceeds.amount == 380_100)
    }

    @Test("A file in another format, and a partial file, get a finding that says so")
    func wholeFiles() {
        func check(_ text: String, _ expected: [String]) {
            let found = codes(FinancialReportFile(text))
            #expect(found == expected, "\(text.prefix(40))")
        }
        check("", ["- empty"])
        check("\n\n", ["- noHeader"])
        check("\u{1F}\u{FFFD}\u{8}packed", ["- packed"])
        check("Provider\tProvider Country\tSKU\tUnits\tCustomer Price\n", ["- noHeader"])
        let sale = ReportSample.cells(ReportSample.sale)
        let lacking = ReportSample.text([sale]).replacingOccurrences(of: "Partner Share Currency", with: "PSC")
        check(lacking, ["1 missingColumn"])
        check(ReportSample.text([sale]).replacingOccurrences(of: "\tUPC\t", with: "\tQuantity\t"), ["1 repeatedColumn"])
        check(ReportSample.text([sale]), ["- noTotals"])
        check(
            ReportSample.text([sale], totals: ["Total_Rows\t2", "Total_Amount\tx", "Total_Units\t4"]),
            ["- rowTotal", "- unitTotal", "- amountTotal"])
        let many = FinancialReportFile(
            ReportSample.text(Array(repeating: ReportSample.cells("a b c d CNY S CN 6 CNY"), count: 500)))
        #expect(many.findings.count == 101 && many.findings.last?.sentence.en == "401 more findings are not listed.")
        let hostile = ReportSample.text([ReportSample.cells("a \u{1B}[31m 1 1 CNY S CN 6 CNY")])
        #expect(FinancialReportFile(hostile).findings.first?.sentence.en.contains("\\u{1b}[31m") == true)
    }

    @Test("Every defect has a sentence and a remedy in two languages")
    func words() {
        for defect in FinancialReportDefect.allCases {
            for text in [defect.sentence("X"), defect.cure] {
                #expect(!text.en.isEmpty && !text.zh.isEmpty && text.en != text.zh, "\(defect)")
            }
        }
        #expect(FinancialReportDefect.allCases.count == 27)
        #expect(FinancialReportDefect.allCases.count(where: \.isError) == 20)
    }
}
