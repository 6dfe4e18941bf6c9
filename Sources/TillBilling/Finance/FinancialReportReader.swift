/// Reads a financial report line by line. The file is untrusted input: an unreadable line becomes a finding and is left
/// out, and reading continues.
struct FinancialReportReader {
    private(set) var lines: [FinancialReportFile.Line] = []
    private(set) var findings: [FinancialReportFile.Finding] = []
    private var withheld = 0

    private let text: String
    private var header: FinancialReportHeader?
    /// From the head of the file.
    private var start: CivilDate?
    private var end: CivilDate?
    private var totals = FinancialReportTotals()
    /// Lines that look like data, including unreadable ones.
    private var rows = 0
    private var remarked: Set<String> = []

    init(_ text: String) { self.text = text }

    mutating func read() {
        var units = Array(text.utf8)[...]
        if units.starts(with: [0xEF, 0xBB, 0xBF]) { units = units.dropFirst(3) }
        guard units.count <= FinancialReportFile.maximumLength else {
            return note(.tooLong, nil, "\(FinancialReportFile.maximumLength >> 20) MiB")
        }
        // Only the first byte of the gzip header is checked: the second is not valid UTF-8 and may have been replaced.
        if units.first == 0x1F { return note(.packed, nil) }
        var number = 0
        while !units.isEmpty {
            let line = units.prefix { $0 != UInt8(ascii: "\n") }
            units = units[line.endIndex...].dropFirst()
            number += 1
            if !take(cells(of: line), number) { return }
        }
        finish()
    }

    private func cells(of line: ArraySlice<UInt8>) -> [String] {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        return line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { cell in
            let front = cell.drop { $0 == UInt8(ascii: " ") }
            let length = (front.lastIndex { $0 != UInt8(ascii: " ") } ?? front.startIndex - 1) - front.startIndex + 1
            return String(decoding: front.prefix(length), as: UTF8.self)
        }
    }

    /// False if the rest of the file cannot be read.
    private mutating func take(_ cells: [String], _ number: Int) -> Bool {
        guard cells.contains(where: { !$0.isEmpty }) else { return true }
        guard header != nil else { return takeHead(cells, number) }
        if totals.take(cells) { return true }
        rows += 1
        takeRow(cells, number)
        return true
    }

    private mutating func takeHead(_ cells: [String], _ number: Int) -> Bool {
        if let found = FinancialReportHeader(cells) {
            for column in found.repeated { note(.repeatedColumn, number, column.names[0]) }
            for column in found.missing { note(.missingColumn, number, column.names[0]) }
            header = found
            return found.missing.isEmpty && found.repeated.isEmpty
        }
        guard cells.count >= 2 else { return true }
        switch FinancialReportColumn.byName[cells[0].lowercased()] {
        case .start: start = date(cells[1], number)
        case .end: end = date(cells[1], number)
        default: break
        }
        return true
    }

    private mutating func takeRow(_ cells: [String], _ number: Int) {
        guard let header else { return }
        for column in FinancialReportColumn.allCases where column.isRequired {
            // Spreadsheets remove empty cells at the end; a missing cell in between shifts all cells after it.
            guard let cell = header.cell(column, of: cells), !cell.isEmpty else {
                return note(column == .product ? .missingProduct : .missingCell, number, column.names[0])
            }
        }
        func cell(_ column: FinancialReportColumn) -> String { header.cell(column, of: cells) ?? "" }
        guard let period = period(cell(.start), cell(.end), number), let units = quantity(cell(.units), number),
            let shareCurrency = currency(cell(.shareCurrency), number),
            let priceCurrency = currency(cell(.priceCurrency), number),
            let share = amount(cell(.share), shareCurrency, number),
            let extended = amount(cell(.extendedShare), shareCurrency, number),
            let price = amount(cell(.price), priceCurrency, number), let country = country(cell(.country), number)
        else { return }
        let mark = cell(.saleOrReturn).uppercased()
        guard mark == "S" || mark == "R" else { return note(.badSaleOrReturn, number, mark) }
        let line = FinancialReportFile.Line(
            number: number, period: period, productID: ProductID(cell(.product)), country: country,
            isReturn: mark == "R", units: units,
            customerPrice: Money(amount: price.fromZeroUp, currency: priceCurrency),
            proceeds: (
                Money(amount: share.fromZeroUp, currency: shareCurrency),
                Money(amount: extended, currency: shareCurrency)
            ), labels: (cell(.title), cell(.appleIdentifier), cell(.productType)))
        check(line)
        totals.count(line)
        lines.append(line)
    }

    /// Checks a line for consistency.
    private mutating func check(_ line: FinancialReportFile.Line) {
        let (product, overflow) = line.proceedsEach.amount.multipliedReportingOverflow(by: line.units)
        if overflow || product.magnitude != line.proceeds.amount.magnitude {
            let product = Money(amount: product, currency: line.proceeds.currency)
            note(.shareMismatch, line.number, "\(product) ≠ \(line.proceeds)")
        }
        let signs = [line.units.signum(), line.proceeds.amount.signum()]
        if signs.contains(line.isReturn ? 1 : -1) {
            note(.signMismatch, line.number, "\(line.units) / \(line.proceeds)")
        }
    }

    private mutating func finish() {
        guard header != nil else { return note(text.isEmpty ? .empty : .noHeader, nil) }
        for difference in totals.differences(rows: rows) { note(difference.defect, nil, difference.about) }
        let periods = Set(lines.map { [$0.start, $0.end] }).sorted { ($0[0], $0[1]) < ($1[0], $1[1]) }
        if periods.count > 1 { note(.severalPeriods, nil) }
        for period in periods.prefix(10) {
            let fiscal = FiscalCalendar.period(containing: period[0])
            if [fiscal.start, fiscal.end] != period { note(.noFiscalPeriod, nil, "\(period[0])–\(period[1])") }
        }
        if withheld > 0 { append(.moreFindings, nil, "\(withheld)") }
    }

    // MARK: Cells

    private mutating func period(_ from: String, _ to: String, _ number: Int) -> (start: CivilDate, end: CivilDate)? {
        let first = from.isEmpty ? start : date(from, number)
        let last = to.isEmpty ? end : date(to, number)
        if first == nil && from.isEmpty || last == nil && to.isEmpty { note(.noPeriod, number) }
        guard let first, let last else { return nil }
        return (first, last)
    }

    private mutating func date(_ cell: String, _ number: Int) -> CivilDate? {
        let parts = cell.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 3, (1...2).contains(parts[0].utf8.count), (1...2).contains(parts[1].utf8.count),
            parts[2].utf8.count == 4, let month = digits(parts[0]), let day = digits(parts[1]),
            let year = digits(parts[2]), let date = CivilDate(year: year, month: month, day: day)
        {
            return date
        }
        note(.badDate, number, cell)
        return nil
    }

    private func digits(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }

    private mutating func quantity(_ cell: String, _ number: Int) -> Int64? {
        // Files of 2010 group thousands with commas; a fraction of zeros counts as none.
        if let money = ReportAmount(cell, digits: 0), money.isExact { return money.value }
        note(.badQuantity, number, cell)
        return nil
    }

    private mutating func currency(_ cell: String, _ number: Int) -> Currency? {
        let currency = Currency(cell.uppercased())
        if currency.isWellFormed { return currency }
        note(.badCurrency, number, cell)
        return nil
    }

    private mutating func amount(_ cell: String, _ currency: Currency, _ number: Int) -> Int64? {
        guard let amount = ReportAmount(cell, digits: currency.minorDigits) else {
            note(.badAmount, number, cell)
            return nil
        }
        if !amount.isExact { note(.amountRounded, number, "\(cell) \(currency)") }
        return amount.value
    }

    private mutating func country(_ cell: String, _ number: Int) -> String? {
        let code = cell.uppercased()
        guard code.utf8.count == 2, code.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else {
            note(.badCountry, number, cell)
            return nil
        }
        if Territory(code: code) == nil, remarked.insert(code).inserted { note(.unknownCountry, number, code) }
        return code
    }

    // MARK: Findings

    private mutating func note(_ code: FinancialReportDefect, _ line: Int?, _ about: String = "") {
        guard findings.count < FinancialReportFile.maximumFindings else {
            withheld += 1
            return
        }
        append(code, line, about)
    }

    private mutating func append(_ code: FinancialReportDefect, _ line: Int?, _ about: String) {
        let about = printable(about.unicodeScalars.count > 60 ? String(about.unicodeScalars.prefix(60)) + "…" : about)
        findings.append(
            FinancialReportFile.Finding(code: code, line: line, sentence: code.sentence(about), cure: code.cure))
    }
}
