/// Rows of cells in columns, for a terminal. Chinese characters are two columns wide.
public struct TextTable {
    private var rows: [[String]] = []
    /// Right-aligned columns, for numbers.
    private let numbers: Set<Int>

    public init(_ heads: [String], numbers: some Sequence<Int>) {
        self.numbers = Set(numbers)
        rows = [heads]
    }

    /// Adds a row. Names in cells may come from outside, so control characters are escaped.
    public mutating func add(_ cells: [String]) { rows.append(cells.map(printable)) }

    /// The lines, without trailing spaces.
    public var lines: [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? Self.width(of: $0[column]) : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let space = String(repeating: " ", count: widths[column] - Self.width(of: cell))
                line += (column == 0 ? "" : "  ") + (numbers.contains(column) ? space + cell : cell + space)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// The columns that a text occupies: two for East Asian characters (Unicode Standard Annex 11, limited to the
    /// ranges that occur here).
    static func width(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { width, scalar in
            switch scalar.value {
            case 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
                0x20000...0x3FFFD:
                width + 2
            default: width + 1
            }
        }
    }
}

/// Rows of cells in the format of RFC 4180.
struct CSVText {
    private(set) var text = ""

    init(_ heads: [String]) { add(heads) }

    mutating func add(_ cells: [String]) {
        text += cells.map(Self.quoted).joined(separator: ",") + "\r\n"
    }

    /// Prevents that a spreadsheet executes an outside name as a formula.
    static func name(_ outside: String) -> String {
        guard let first = outside.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first) else {
            return outside
        }
        return "'" + outside
    }

    private static func quoted(_ cell: String) -> String {
        guard cell.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return cell }
        var doubled = ""
        for scalar in cell.unicodeScalars {
            if scalar == "\"" { doubled += "\"" }
            doubled.unicodeScalars.append(scalar)
        }
        return "\"\(doubled)\""
    }
}

extension Money {
    /// The amount without the currency: `6.00`.
    var decimal: String { String(description.prefix { $0 != " " }) }
}

/// Outside text with control characters escaped, so that a terminal shows them and does not execute them.
func printable(_ outside: String) -> String {
    var result = ""
    for scalar in outside.unicodeScalars {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
