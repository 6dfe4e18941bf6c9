import TillSQL

/// An `INSERT` of one row, as text for several rows: PostgreSQL opens the table, its indices and its rules once for all
/// of them.
struct RowInsert {
    /// Up to the first row's bracket, and after the bracket that ends it.
    private let (head, tail): (String, String)
    /// The row's text between its parameters, one piece more than there are parameters.
    private let pieces: [String]
    /// The parameters of the row, in the order of their places.
    private let parameters: [Int]
    private let parameterCount: Int
    /// Whether a row may change one that exists. Two rows of one statement must not change the same.
    let mayUpdate: Bool
    /// Whether its values are queried: a row of the same statement would not see those before it.
    let hasQuery: Bool

    /// Nil if the statement inserts no row of its own values.
    ///
    /// - Parameter text: as PostgreSQL reads it: `INSERT INTO t (a, b) VALUES ($1, $2)`.
    init?(_ text: String, parameterCount: Int) {
        let bytes = Array(text.utf8)
        func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        guard let row = Self.row(bytes) else { return nil }
        var (pieces, parameters): ([String], [Int]) = ([], [])
        var (start, isQuoted, index) = (row.lowerBound, false, 0)
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "'") { isQuoted.toggle() }
            guard bytes[index] == UInt8(ascii: "$"), !isQuoted else {
                index += 1
                continue
            }
            // A parameter outside of the row would belong to all rows.
            guard row.contains(index) else { return nil }
            let end = bytes[(index + 1)...].firstIndex { !(48...57).contains($0) } ?? bytes.count
            guard let number = Int(string(index + 1..<end)) else { return nil }
            pieces.append(string(start..<index))
            parameters.append(number)
            (start, index) = (end, end)
        }
        self.pieces = pieces + [string(start..<row.upperBound)]
        self.parameters = parameters
        self.parameterCount = parameterCount
        (head, tail) = (string(0..<row.lowerBound), string(row.upperBound..<bytes.count))
        guard !tail.uppercased().contains("RETURNING") else { return nil }
        mayUpdate = !tail.isEmpty
        hasQuery = text.uppercased().contains("SELECT")
    }

    /// The place of the row with its brackets.
    private static func row(_ bytes: [UInt8]) -> Range<Int>? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix("INSERT INTO "), let word = text.firstRange(of: ") VALUES (") else { return nil }
        let start = text.utf8.distance(from: text.startIndex, to: word.upperBound) - 1
        var (depth, isQuoted) = (0, false)
        for index in start..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "'"): isQuoted.toggle()
            case UInt8(ascii: "(") where !isQuoted: depth += 1
            case UInt8(ascii: ")") where !isQuoted:
                depth -= 1
                if depth == 0 { return start..<index + 1 }
            default: break
            }
        }
        return nil
    }

    /// The statement for this many rows. The parameters of a row follow those of the row before it.
    func text(rows: Int) -> String {
        head + (0..<rows).map(row).joined(separator: ", ") + tail
    }

    private func row(_ index: Int) -> String {
        var text = pieces[0]
        for (number, piece) in zip(parameters, pieces.dropFirst()) {
            text += "$\(number + index * parameterCount)" + piece
        }
        return text
    }
}

/// The rows that several bodies write, in an order that lets them share statements.
///
/// Each body's statements stay in their order. The bodies have no key in common, so their order among each other is
/// free, as it is between two servers.
struct SharedStatements {
    private struct Group {
        let text: StatementText
        /// The values of each statement.
        var rows: [[SQLValue]]
    }

    private var groups: [Group] = []
    /// The largest number of rows of a statement. Each power of two below is a statement that is prepared.
    private static let mostRows = 16

    mutating func add(_ body: [Command]) {
        var next = groups.startIndex
        for command in body {
            if let place = groups[next...].firstIndex(where: { $0.text === command.text }) {
                groups[place].rows.append(command.values)
                next = place
            } else {
                groups.append(Group(text: command.text, rows: [command.values]))
                next = groups.endIndex - 1
            }
            if command.text.rowInsert?.mayUpdate == true { next += 1 }
        }
    }

    var commands: [Command] {
        groups.flatMap { group in
            guard group.text.rowInsert != nil else { return group.rows.map { Command(text: group.text, values: $0) } }
            var (commands, rest): ([Command], ArraySlice<[SQLValue]>) = ([], group.rows[...])
            while !rest.isEmpty {
                let count = min(Self.mostRows, 1 << (Int.bitWidth - 1 - rest.count.leadingZeroBitCount))
                commands.append(
                    Command(text: group.text, values: Array(rest.prefix(count).joined()), rows: count))
                rest = rest.dropFirst(count)
            }
            return commands
        }
    }
}
