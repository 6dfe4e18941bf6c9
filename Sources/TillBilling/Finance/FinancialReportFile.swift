/// Apple's financial report as App Store Connect provides it: tab-separated text, uncompressed.
///
/// Two forms are read. The file for one region begins with the column names and ends with `Total_Rows`, `Total_Amount`
/// and `Total_Units`. The single file for all countries (and the detailed report) begins with the vendor's name and the
/// dates of the period, and ends with a table of totals by country and currency. Columns are found by name in any
/// order; other columns are ignored.
///
/// App Store Connect Help, "Financial report fields", documents the columns. The lines at the end are not documented;
/// they are known from programs that read such files.
public struct FinancialReportFile: Hashable, Sendable {
    /// In the order of the file. Unreadable lines are missing here and reported in `findings`.
    public let lines: [Line]
    /// The faults of the file, in the order of its lines.
    public let findings: [Finding]

    /// Whether no part of the file had to be left out.
    public var isUsable: Bool { !findings.contains { $0.isError } }

    /// The fiscal period of the lines, if all belong to the same one.
    public var period: FiscalPeriod? {
        guard let first = lines.first, lines.allSatisfy({ $0.start == first.start && $0.end == first.end }) else {
            return nil
        }
        let period = FiscalCalendar.period(containing: first.start)
        return period.start == first.start && period.end == first.end ? period : nil
    }

    /// The maximum size in bytes of UTF-8. A line has about 200.
    public static let maximumLength = 64 << 20
    /// Further findings are only counted.
    public static let maximumFindings = 100

    public struct Line: Hashable, Sendable {
        /// The line in the file, from 1.
        public let number: Int
        /// The fiscal month, from the line or the head of the file.
        public let start: CivilDate
        public let end: CivilDate
        /// Apple's vendor identifier: the SKU of an app, the product id of an in-app purchase.
        public let productID: ProductID
        /// With the sign in the file: Apple writes returns with a minus.
        public let units: Int64
        /// For one unit; never negative.
        public let proceedsEach: Money
        /// For all units, with the sign in the file.
        public let proceeds: Money
        public let isReturn: Bool
        /// ISO 3166-1 alpha-2.
        public let country: String
        /// For one unit.
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
        /// The line in the file, from 1; nil if the finding concerns the whole file.
        public let line: Int?
        /// The problem.
        public let sentence: LocalizedText
        /// The remedy.
        public let cure: LocalizedText
        /// Whether a value is unreadable or inconsistent; otherwise the finding is a remark.
        public var isError: Bool { code.isError }
    }

    public init(_ text: String) {
        var reader = FinancialReportReader(text)
        reader.read()
        lines = reader.lines
        findings = reader.findings
    }
}

/// The columns of a financial report that are used, with all names that Apple has given them.
enum FinancialReportColumn: Hashable, CaseIterable {
    case start, end, product, units, share, extendedShare, shareCurrency, saleOrReturn
    case country, price, priceCurrency
    case title, appleIdentifier, productType

    /// The current name first, then those of the detailed report and of earlier years.
    var names: [String] {
        switch self {
        case .start: ["Start Date"]
        case .end: ["End Date"]
        case .product: ["Vendor Identifier", "SKU"]
        case .units: ["Quantity"]
        case .share: ["Partner Share"]
        case .extendedShare: ["Extended Partner Share"]
        case .shareCurrency: ["Partner Share Currency"]
        case .saleOrReturn: ["Sales or Return", "Sale or Return"]
        case .country: ["Country Of Sale"]
        case .price: ["Customer Price"]
        case .priceCurrency: ["Customer Currency"]
        case .title: ["Title"]
        case .appleIdentifier: ["Apple Identifier"]
        case .productType: ["Product Type Identifier"]
        }
    }

    /// Columns that every line needs. The dates may stand in the head of the file instead.
    var isRequired: Bool {
        switch self {
        case .start, .end, .title, .appleIdentifier, .productType: false
        default: true
        }
    }

    /// Columns by name, in lower case.
    static let byName: [String: FinancialReportColumn] = Dictionary(
        allCases.flatMap { column in column.names.map { ($0.lowercased(), column) } },
        uniquingKeysWith: { first, _ in first })
}

/// The positions of the columns in one file.
struct FinancialReportHeader {
    let positions: [FinancialReportColumn: Int]
    let repeated: [FinancialReportColumn]

    /// Nil if the cells are not a header: fewer than four names of required columns. The table of totals at the end has
    /// four too, but no product column.
    init?(_ cells: [String]) {
        var positions: [FinancialReportColumn: Int] = [:]
        var repeated: [FinancialReportColumn] = []
        for (index, cell) in cells.enumerated() {
            guard let column = FinancialReportColumn.byName[cell.lowercased()] else { continue }
            if positions[column] == nil { positions[column] = index } else { repeated.append(column) }
        }
        guard positions.keys.count(where: \.isRequired) >= 4, positions.count > 4 else { return nil }
        self.positions = positions
        self.repeated = repeated
    }

    var missing: [FinancialReportColumn] {
        FinancialReportColumn.allCases.filter { $0.isRequired && positions[$0] == nil }
    }

    /// The cell of a column; nil if the line is too short or the column is missing.
    func cell(_ column: FinancialReportColumn, of cells: [String]) -> String? {
        guard let position = positions[column], position < cells.count else { return nil }
        return cells[position]
    }
}

/// The possible faults of a financial report; the codes are stable.
public enum FinancialReportDefect: String, Hashable, Sendable, Codable, CaseIterable {
    case empty, tooLong, packed, noHeader, missingColumn, repeatedColumn
    case missingCell, badDate, badAmount, badQuantity, badCurrency, badCountry, badSaleOrReturn, missingProduct
    case noPeriod, severalPeriods, noFiscalPeriod, unknownCountry, amountRounded, shareMismatch, signMismatch
    case rowTotal, amountTotal, unitTotal, countryTotal, noTotals, moreFindings

    /// Whether it is an error. Other defects are remarks about lines that were read.
    public var isError: Bool {
        switch self {
        case .severalPeriods, .noFiscalPeriod, .unknownCountry, .amountRounded, .shareMismatch, .signMismatch,
            .noTotals:
            false
        default: true
        }
    }

    /// The problem.
    ///
    /// - Parameter about: the column, the value, or the two numbers that differ.
    public func sentence(_ about: String) -> LocalizedText {
        switch self {
        case .empty: LocalizedText(en: "The file is empty.", zh: "文件是空的。")
        case .tooLong: LocalizedText(en: "The file is longer than \(about).", zh: "文件超过 \(about)。")
        case .packed: LocalizedText(en: "The file is still packed (gzip).", zh: "文件还是 gzip 压缩包。")
        case .noHeader: LocalizedText(en: "No line has the names of the columns.", zh: "没有找到列名所在的行。")
        case .missingColumn: LocalizedText(en: "The column \(about) is missing.", zh: "缺少“\(about)”这一列。")
        case .repeatedColumn: LocalizedText(en: "The column \(about) is there twice.", zh: "“\(about)”这一列出现了两次。")
        case .missingCell: LocalizedText(en: "There is no value for \(about).", zh: "“\(about)”没有值。")
        case .badDate:
            LocalizedText(en: "\(about) is no date of the form MM/DD/YYYY.", zh: "“\(about)”不是 MM/DD/YYYY 形式的日期。")
        case .badAmount: LocalizedText(en: "\(about) is no amount.", zh: "“\(about)”不是金额。")
        case .badQuantity: LocalizedText(en: "\(about) is no whole number of units.", zh: "“\(about)”不是整数数量。")
        case .badCurrency: LocalizedText(en: "\(about) is no currency code.", zh: "“\(about)”不是货币代码。")
        case .badCountry:
            LocalizedText(en: "\(about) is no country code of two letters.", zh: "“\(about)”不是两个字母的国家或地区代码。")
        case .badSaleOrReturn:
            LocalizedText(en: "\(about) is neither S (sale) nor R (return).", zh: "“\(about)”既不是 S（销售）也不是 R（退款）。")
        case .missingProduct: LocalizedText(en: "The line has no vendor identifier.", zh: "这一行没有 Vendor Identifier。")
        case .noPeriod: LocalizedText(en: "Nothing says which period the lines are of.", zh: "文件没有写明是哪个财务月。")
        case .severalPeriods: LocalizedText(en: "The lines are of several periods.", zh: "各行不属于同一个财务月。")
        case .noFiscalPeriod:
            LocalizedText(en: "\(about) is no month of Apple's fiscal calendar.", zh: "\(about) 不是 Apple 财务日历里的一个月。")
        case .unknownCountry:
            LocalizedText(
                en: "The App Store has no country \(about) that is known here.", zh: "这里不认识 App Store 的“\(about)”。")
        case .amountRounded:
            LocalizedText(
                en: "\(about) has more decimals than its currency; it was rounded.",
                zh: "\(about) 的小数位多于该货币的最小单位，已四舍五入。")
        case .shareMismatch:
            LocalizedText(en: "Quantity × partner share is \(about).", zh: "数量 × 单价收入为 \(about)。")
        case .signMismatch:
            LocalizedText(en: "The signs of \(about) don't fit a sale or a return.", zh: "\(about) 的正负号与销售或退款不符。")
        case .rowTotal: LocalizedText(en: "The file counts its rows differently: \(about).", zh: "文件自报的行数不一致：\(about)。")
        case .amountTotal:
            LocalizedText(en: "The file adds up its amounts differently: \(about).", zh: "文件自报的总金额不一致：\(about)。")
        case .unitTotal:
            LocalizedText(en: "The file adds up its units differently: \(about).", zh: "文件自报的总数量不一致：\(about)。")
        case .countryTotal: LocalizedText(en: "The total of a country differs: \(about).", zh: "国家或地区合计不一致：\(about)。")
        case .noTotals: LocalizedText(en: "The file has no totals at its end.", zh: "文件末尾没有合计。")
        case .moreFindings: LocalizedText(en: "\(about) more findings are not listed.", zh: "另有 \(about) 个问题未列出。")
        }
    }

    /// The remedy.
    public var cure: LocalizedText {
        switch self {
        case .empty, .noHeader, .missingColumn, .repeatedColumn, .noPeriod:
            LocalizedText(
                en: "Download the financial report again: App Store Connect, Payments and Financial Reports, "
                    + "all countries or regions. Sales and Trends is another report.",
                zh: "请重新下载财务报告：App Store Connect →“付款和财务报告”→ 所有国家或地区。“销售和趋势”是另一种报告。")
        case .tooLong: LocalizedText(en: "Import one file for each region.", zh: "请按地区分文件导入。")
        case .packed: LocalizedText(en: "Unpack it first: gunzip FILE.gz", zh: "请先解压：gunzip 文件.gz")
        case .missingCell, .badDate, .badAmount, .badQuantity, .badCurrency, .badCountry, .badSaleOrReturn,
            .missingProduct:
            LocalizedText(
                en: "The line was left out. Use the file as Apple made it: spreadsheets rewrite dates and numbers.",
                zh: "这一行没有计入。请使用 Apple 的原始文件：电子表格软件会改写日期和数字。")
        case .severalPeriods:
            LocalizedText(en: "Each line counts for its own period.", zh: "各行按自己的财务月计入。")
        case .noFiscalPeriod:
            LocalizedText(
                en: "The lines were read; compare them with `till calendar`.", zh: "各行已读入；请与 till calendar 的日历核对。")
        case .unknownCountry:
            LocalizedText(en: "The line was read; its storefront can't be matched.", zh: "该行已读入，但无法与店面对应。")
        case .amountRounded, .shareMismatch, .signMismatch:
            LocalizedText(en: "The line was read as it stands.", zh: "该行按原样读入。")
        case .rowTotal, .amountTotal, .unitTotal, .countryTotal, .noTotals:
            LocalizedText(
                en: "Some of the file may be missing: download it again.", zh: "文件可能不完整：请重新下载。")
        case .moreFindings: LocalizedText(en: "Correct the listed ones first.", zh: "请先处理已列出的问题。")
        }
    }
}
