/// The columns of a financial report that are asked for, by all the names Apple has given them.
enum FinancialReportColumn: Hashable, CaseIterable {
    case start, end, product, units, share, extendedShare, shareCurrency, saleOrReturn
    case country, price, priceCurrency
    case title, appleIdentifier, productType

    /// The first is today's name. The others: of the detailed report, and of years before.
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

    /// Without these no line can be read; the dates may stand at the head of the file instead.
    var isRequired: Bool {
        switch self {
        case .start, .end, .title, .appleIdentifier, .productType: false
        default: true
        }
    }

    /// By its name, whatever the case of its letters.
    static let byName: [String: FinancialReportColumn] = Dictionary(
        allCases.flatMap { column in column.names.map { ($0.lowercased(), column) } },
        uniquingKeysWith: { first, _ in first })
}

/// Where the columns are in one file.
struct FinancialReportHeader {
    let positions: [FinancialReportColumn: Int]
    let repeated: [FinancialReportColumn]

    /// Nil if the cells are no header: fewer than four names of required columns. The table of totals at the end has
    /// four too, but no products.
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

    /// The cell of a column, nil if the line is too short or the column isn't there.
    func cell(_ column: FinancialReportColumn, of cells: [String]) -> String? {
        guard let position = positions[column], position < cells.count else { return nil }
        return cells[position]
    }
}
