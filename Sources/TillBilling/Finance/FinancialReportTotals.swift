/// A number in the format of Apple's reports: `3,801.00`, `-0.70`, `4458.1`.
struct ReportAmount {
    /// In units of the last of `digits` decimals; further decimals are rounded half up (away from zero).
    let value: Int64
    let isExact: Bool

    /// Nil for any other text, and for more than fifteen digits before the point.
    init?(_ text: String, digits: Int) {
        var rest = Array(text.utf8)[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        let parts = rest.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first.flatMap(Self.withoutCommas), (1...15).contains(whole.count) else { return nil }
        let fraction = parts.count == 2 ? Array(parts[1]) : []
        guard parts.count == 1 || (1...15).contains(fraction.count) else { return nil }
        let kept = fraction.prefix(digits) + Array(repeating: UInt8(ascii: "0"), count: max(0, digits - fraction.count))
        var value: Int64 = 0
        for unit in whole + kept + fraction.dropFirst(digits) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(unit) else { return nil }
        }
        for unit in whole + kept { value = value * 10 + Int64(unit - UInt8(ascii: "0")) }
        let dropped = fraction.dropFirst(digits)
        if let first = dropped.first, first >= UInt8(ascii: "5") { value += 1 }
        self.value = isNegative ? -value : value
        isExact = dropped.allSatisfy { $0 == UInt8(ascii: "0") }
    }

    /// Nil if the commas do not separate thousands.
    private static func withoutCommas(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        let groups = digits.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard groups.count > 1 else { return Array(digits) }
        guard let first = groups.first, (1...3).contains(first.count), groups.dropFirst().allSatisfy({ $0.count == 3 })
        else { return nil }
        return groups.flatMap { $0 }
    }
}

/// The totals at the end of a financial report, and the sums of its lines.
struct FinancialReportTotals {
    private var stated: [Total: String] = [:]
    private var countries: [CountryTotal] = []
    private var isInCountries = false
    private var units: Int64 = 0
    private var amounts: [Currency: Int64] = [:]
    private var unitsByCountry: [Country: Int64] = [:]
    private var amountsByCountry: [Country: Int64] = [:]

    private enum Total: String, CaseIterable {
        case rows = "total_rows"
        case amount = "total_amount"
        case units = "total_units"
    }

    private struct Country: Hashable {
        let code: String
        let currency: Currency
    }

    private struct CountryTotal {
        let country: Country
        let units: String
        let amount: String
    }

    mutating func count(_ line: FinancialReportFile.Line) {
        let country = Country(code: line.country, currency: line.proceeds.currency)
        units = units &+ line.units
        amounts[line.proceeds.currency] = (amounts[line.proceeds.currency] ?? 0) &+ line.proceeds.amount
        unitsByCountry[country] = (unitsByCountry[country] ?? 0) &+ line.units
        amountsByCountry[country] = (amountsByCountry[country] ?? 0) &+ line.proceeds.amount
    }

    /// Whether the line contains totals.
    mutating func take(_ cells: [String]) -> Bool {
        if cells.count >= 2, let total = Total(rawValue: cells[0].lowercased()) {
            stated[total] = cells[1]
            return true
        }
        let names = cells.prefix(4).map { FinancialReportColumn.byName[$0.lowercased()] }
        if names == [.country, .shareCurrency, .units, .extendedShare] {
            isInCountries = true
            return true
        }
        guard isInCountries else { return false }
        if cells.count >= 4, countries.count < 10_000 {
            let country = Country(code: cells[0].uppercased(), currency: Currency(cells[1].uppercased()))
            countries.append(CountryTotal(country: country, units: cells[2], amount: cells[3]))
        }
        return true
    }

    /// The totals that differ from the sums; an unreadable total counts as different.
    func differences(rows: Int) -> [(defect: FinancialReportDefect, about: String)] {
        if stated.isEmpty && countries.isEmpty { return [(.noTotals, "")] }
        var differences: [(FinancialReportDefect, String)] = []
        if let stated = stated[.rows], ReportAmount(stated, digits: 0)?.value != Int64(rows) {
            differences.append((.rowTotal, "\(stated) ≠ \(rows)"))
        }
        if let stated = stated[.units], ReportAmount(stated, digits: 0)?.value != units {
            differences.append((.unitTotal, "\(stated) ≠ \(units)"))
        }
        // A total over several currencies has no meaning and is not compared.
        if let stated = stated[.amount], amounts.count == 1, let (currency, sum) = amounts.first,
            ReportAmount(stated, digits: currency.minorDigits)?.value != sum
        {
            differences.append((.amountTotal, "\(stated) ≠ \(Money(amount: sum, currency: currency))"))
        }
        for total in countries {
            let (code, currency) = (total.country.code, total.country.currency)
            let (units, amount) = (unitsByCountry[total.country] ?? 0, amountsByCountry[total.country] ?? 0)
            if ReportAmount(total.units, digits: 0)?.value != units
                || ReportAmount(total.amount, digits: currency.minorDigits)?.value != amount
            {
                let sum = Money(amount: amount, currency: currency)
                differences.append((.countryTotal, "\(code): \(total.units), \(total.amount) ≠ \(units), \(sum)"))
            }
        }
        return differences
    }
}
