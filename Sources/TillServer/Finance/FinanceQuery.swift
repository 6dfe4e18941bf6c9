import TillAPI
import TillBilling
import TillHTTP
import TillLedger

extension Call {
    /// `?from=&to=`, or `?fiscalYear=` with or without `&period=`; the fiscal year of today if there is none of them.
    func financeSpan(now: Instant) throws -> FinanceSpan {
        guard request.queryValue("from") != nil || request.queryValue("to") != nil else {
            let period = try fiscalPeriod()
            if let period { return FinanceSpan(period) }
            let year = try fiscalYear() ?? FiscalCalendar.period(containing: CivilDate(now)).fiscalYear
            guard let span = FinanceSpan(fiscalYear: year) else { throw Self.wrongYear }
            return span
        }
        guard request.queryValue("fiscalYear") == nil, request.queryValue("period") == nil else {
            throw Refused(.invalidField, "from, to: not beside fiscalYear or period")
        }
        guard let span = FinanceSpan(from: try day("from"), through: try day("to")) else {
            throw Refused(.invalidField, "to: not before from, and at most ten years after it")
        }
        return span
    }

    /// `?fiscalYear=&period=`; nil if there is no period.
    func fiscalPeriod() throws -> FiscalPeriod? {
        guard request.queryValue("period") != nil else { return nil }
        guard let year = try fiscalYear() else { throw Refused(.invalidField, "fiscalYear: missing beside period") }
        return try fiscalPeriod(of: year)
    }

    func fiscalPeriod(of year: Int) throws -> FiscalPeriod? {
        guard let asked = request.queryValue("period") else { return nil }
        guard let number = Int(asked), (1...12).contains(number) else {
            throw Refused(.invalidField, "period: 1 to 12, where 1 is October")
        }
        return FiscalCalendar.periods(ofYear: year)[number - 1]
    }

    func fiscalYear(_ name: String = "fiscalYear") throws -> Int? {
        guard let asked = request.queryValue(name) else { return nil }
        guard let year = Int(asked), FinanceSpan.years.contains(year) else { throw Self.wrongYear }
        return year
    }

    private static let wrongYear = Refused(
        .invalidField, "fiscalYear: \(FinanceSpan.years.lowerBound) to \(FinanceSpan.years.upperBound)")

    private func day(_ name: String) throws -> CivilDate {
        guard let day = CivilDate(iso8601: request.queryValue(name) ?? "") else {
            throw Refused(.invalidField, "\(name): a day like 2026-03-15")
        }
        return day
    }

    /// `?environment=`, or what usually counts.
    func environment(_ configuration: ServerConfiguration) throws -> Environment {
        guard let asked = request.queryValue("environment") else { return configuration.usualEnvironment }
        return try Environment(asked: asked)
    }

    /// Whether the caller would rather have comma-separated text than JSON.
    var wantsCSV: Bool {
        let accepted = request.headers["Accept"]?.lowercased() ?? ""
        return accepted.utf8.count <= 1_000 && accepted.contains("text/csv")
    }
}

extension Environment {
    init(asked: String) throws {
        switch asked {
        case "production": self = .production
        case "sandbox": self = .sandbox
        default: throw Refused(.invalidField, "environment: production or sandbox, not \(asked.prefix(40))")
        }
    }
}
