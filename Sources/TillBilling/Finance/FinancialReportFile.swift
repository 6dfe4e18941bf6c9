/// Apple's financial report as App Store Connect gives it: tab-separated text, already unpacked.
///
/// Two shapes are read. One file for each region begins with the columns' names and ends with `Total_Rows`,
/// `Total_Amount` and `Total_Units`. The single file for all countries (and the detailed report) begins with the
/// vendor's name and the dates of the period, and ends with a table of totals by country and currency. Columns are
/// found by their names in any order, those not asked for are passed over. (App Store Connect Help, "Financial report
/// fields", names the columns; the lines at the end were learned from programs that read such files, not from Apple.)
public struct FinancialReportFile: Hashable, Sendable {
    /// In the order of the file; what could not be read is missing here and stands in the findings.
    public let lines: [Line]
    /// What is wrong with the file, in the order of its lines.
    public let findings: [Finding]

    /// Whether nothing in the file had to be left out.
    public var isUsable: Bool { !findings.contains { $0.isError } }

    /// The fiscal period that the lines are of, if they are all of one.
    public var period: FiscalPeriod? {
        guard let first = lines.first, lines.allSatisfy({ $0.start == first.start && $0.end == first.end }) else {
            return nil
        }
        let period = FiscalCalendar.period(containing: first.start)
        return period.start == first.start && period.end == first.end ? period : nil
    }

    /// What an operator may hand over, in bytes of UTF-8. A line has some 200.
    public static let maximumLength = 64 << 20
    /// Beyond these, findings are only counted.
    public static let maximumFindings = 100

    public struct Line: Hashable, Sendable {
        /// In the file, from 1.
        public let number: Int
        /// The fiscal month, as the line or the head of the file says.
        public let start: CivilDate
        public let end: CivilDate
        /// Apple's vendor identifier: the SKU of an app, the product id of an in-app purchase.
        public let productID: ProductID
        /// Signed as in the file: Apple writes returns with a minus.
        public let units: Int64
        /// Of one unit, never negative.
        public let proceedsEach: Money
        /// Of all units, signed as in the file.
        public let proceeds: Money
        public let isReturn: Bool
        /// ISO 3166-1 alpha-2.
        public let country: String
        /// Of one unit.
        public let customerPrice: Money
        public let title: String
        public let appleIdentifier: String
        public let productTypeIdentifier: String

        public init(
            number: Int, period: (start: CivilDate, end: CivilDate), productID: ProductID, country: String,
            isReturn: Bool, units: Int64, customerPrice: Money, proceeds: (each: Money, all: Money),
            labels: (title: String, apple: String, type: String) = ("", "", "")
        ) {
            self.number = number
            (start, end) = period
            self.productID = productID
            self.country = country
            self.isReturn = isReturn
            self.units = units
            self.customerPrice = customerPrice
            (proceedsEach, self.proceeds) = proceeds
            (title, appleIdentifier, productTypeIdentifier) = labels
        }
    }

    public struct Finding: Hashable, Sendable {
        public let code: FinancialReportDefect
        /// In the file, from 1; nil for what is about the whole file.
        public let line: Int?
        /// What is wrong.
        public let sentence: Text
        /// What to do about it.
        public let cure: Text
        /// Whether something could not be read or does not add up; otherwise it is a remark.
        public var isError: Bool { code.isError }
    }

    public init(_ text: String) {
        var reader = FinancialReportReader(text)
        reader.read()
        lines = reader.lines
        findings = reader.findings
    }
}
