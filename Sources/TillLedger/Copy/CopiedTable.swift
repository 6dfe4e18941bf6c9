import TillCrypto
import TillSQL

/// One table as a copy sees it: its columns in any database, and the statements that read and write its rows.
package struct CopiedTable: Sendable {
    package enum Kind: Sendable {
        case integer, text, blob
    }

    package struct Column: Sendable {
        package let name: StaticString
        package let kind: Kind
    }

    /// One row, in the order of the columns.
    package typealias Values = [SQLValue]

    package let name: StaticString
    package let columns: [Column]
    /// The positions of the primary key's columns.
    private let key: [Int]
    /// The position of a column that refers to another row of the same table, which may come later.
    private let later: Int?

    init(
        _ name: StaticString, key: [StaticString], later: StaticString? = nil,
        _ columns: KeyValuePairs<StaticString, Kind>
    ) {
        self.name = name
        self.columns = columns.map { Column(name: $0.key, kind: $0.value) }
        let names = columns.map { "\($0.key)" }
        func position(_ column: StaticString) -> Int {
            guard let index = names.firstIndex(of: "\(column)") else { preconditionFailure("no column \(column)") }
            return index
        }
        self.key = key.map(position)
        self.later = later.map(position)
    }

    package var text: String { "\(name)" }
    /// The one integer column that numbers the rows; nil for another key.
    package var number: Column? { key.count == 1 && columns[key[0]].kind == .integer ? columns[key[0]] : nil }
    package var hasLaterReferences: Bool { later != nil }

    package var keyColumns: [Column] { key.map { columns[$0] } }
    package func keyValues(of row: Values) -> Values { key.map { row[$0] } }

    // MARK: Statements

    // They are composed from the columns, so tests run each of them on both databases instead of reading its text.

    /// A list of columns; each text between them has more than one character.
    private func list(_ indices: [Int], _ text: inout SQL.StringInterpolation) {
        for (count, index) in indices.enumerated() {
            if count > 0 { text.appendLiteral(", ") }
            text.appendInterpolation(table: columns[index].name)
        }
    }

    private func empty() -> SQL.StringInterpolation {
        SQL.StringInterpolation(literalCapacity: 0, interpolationCount: 2 * columns.count)
    }

    /// The rows after a key, in the order of the key. Parameters: the key's values, then the number of rows.
    private func reading(isFirst: Bool) -> SQL {
        var text = empty()
        text.appendLiteral("SELECT ")
        list(Array(columns.indices), &text)
        text.appendLiteral(" FROM ")
        text.appendInterpolation(table: name)
        if !isFirst {
            text.appendLiteral(" WHERE (")
            list(key, &text)
            text.appendLiteral(") > (")
            text.appendInterpolation(marks: key.count)
            text.appendLiteral(") ")
        }
        text.appendLiteral(" ORDER BY ")
        list(key, &text)
        text.appendLiteral(" LIMIT ")
        text.appendInterpolation(parameter: isFirst ? 1 : key.count + 1)
        return SQL(stringInterpolation: text)
    }

    private func inserting(_ rows: Int) -> SQL {
        var text = empty()
        text.appendLiteral("INSERT ")
        text.appendLiteral("INTO ")
        text.appendInterpolation(table: name)
        text.appendLiteral(" (")
        list(Array(columns.indices), &text)
        text.appendLiteral(") VALUES ")
        for row in 0..<rows {
            text.appendLiteral(row == 0 ? " (" : ", (")
            for column in columns.indices {
                if column > 0 { text.appendLiteral(", ") }
                text.appendInterpolation(parameter: row * columns.count + column + 1)
            }
            text.appendLiteral(") ")
        }
        return SQL(stringInterpolation: text)
    }

    // MARK: Reading

    /// - Parameter position: the key of the last row that was read; nil for the first rows.
    package func read(after position: Values?, limit: Int, _ connection: any Connection) throws -> [Values] {
        try connection.query(
            reading(isFirst: position == nil), (position ?? []) + [.integer(Int64(limit))]
        ) { row in
            columns.map { column in
                guard !row.isNull(column.name) else { return .null }
                return switch column.kind {
                case .integer: .integer(row.integer(column.name))
                case .text: .text(row.text(column.name))
                case .blob: .blob(row.blob(column.name))
                }
            }
        }
    }

    /// The largest number of a row; nil without rows.
    package func lastNumber(_ connection: any Connection) throws -> Int64? {
        guard let number else { return nil }
        var text = empty()
        text.appendLiteral("SELECT ")
        text.appendLiteral("max(")
        text.appendInterpolation(table: number.name)
        text.appendLiteral(") AS last_number FROM ")
        text.appendInterpolation(table: name)
        return try connection.first(SQL(stringInterpolation: text), []) { $0.optionalInteger("last_number") } ?? nil
    }

    package func isEmpty(_ connection: any Connection) throws -> Bool {
        try read(after: nil, limit: 1, connection).isEmpty
    }

    // MARK: Writing

    /// Rows of one statement: enough that its parsing does not count.
    private static let together = 50

    /// Writes rows without their references to later rows.
    package func write(_ rows: [Values], _ connection: any Connection) throws {
        var rest = rows[...]
        while !rest.isEmpty {
            let count = rest.count < Self.together ? 1 : Self.together
            try connection.write(inserting(count), rest.prefix(count).flatMap(withoutLater))
            rest = rest.dropFirst(count)
        }
    }

    private func withoutLater(_ row: Values) -> Values {
        guard let later else { return row }
        var row = row
        row[later] = .null
        return row
    }

    /// Writes the references to later rows, once all rows are there. A repetition changes nothing.
    package func writeLater(_ rows: [Values], _ connection: any Connection) throws {
        guard let later, key.count == 1 else { return }
        for row in rows where row[later] != .null {
            var text = empty()
            text.appendLiteral("UPDATE ")
            text.appendInterpolation(table: name)
            text.appendLiteral(" SET ")
            text.appendInterpolation(table: columns[later].name)
            text.appendLiteral(" = ?2 WHERE ")
            text.appendInterpolation(table: columns[key[0]].name)
            text.appendLiteral(" = ?1")
            try connection.write(SQL(stringInterpolation: text), [row[key[0]], row[later]])
        }
    }

    /// The first column of a row whose text contains U+0000, which PostgreSQL can't store.
    package func columnWithNUL(in row: Values) -> String? {
        for (column, value) in zip(columns, row) {
            if case .text(let text) = value, text.utf8.contains(0) { return "\(column.name)" }
        }
        return nil
    }
}

/// The sum of the hashes of rows: the same for the same rows in any order, in any database.
package struct RowDigest: Sendable, Hashable {
    private var words: [UInt64] = [0, 0, 0, 0]
    package private(set) var rows: Int64 = 0

    package init() {}

    /// - Parameter text: what `text` returned.
    package init?(_ text: String, rows: Int64) {
        let parts = text.split(separator: "-").map { UInt64($0, radix: 16) }
        guard parts.count == 4, parts.allSatisfy({ $0 != nil }) else { return nil }
        words = parts.compactMap { $0 }
        self.rows = rows
    }

    package var text: String { words.map { String($0, radix: 16) }.joined(separator: "-") }

    package mutating func add(_ row: CopiedTable.Values) {
        let hash = Digest.sha256.hash(Self.bytes(of: row))
        var carry: UInt64 = 0
        for index in words.indices {
            let word = hash[(index * 8)..<(index * 8 + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let (sum, first) = words[index].addingReportingOverflow(word)
            let (total, second) = sum.addingReportingOverflow(carry)
            words[index] = total
            carry = (first ? 1 : 0) + (second ? 1 : 0)
        }
        rows += 1
    }

    /// Each value with its kind and length, so that different rows have different bytes.
    private static func bytes(of row: CopiedTable.Values) -> [UInt8] {
        var bytes: [UInt8] = []
        func append(_ kind: UInt8, _ content: some Collection<UInt8>) {
            bytes.append(kind)
            withUnsafeBytes(of: UInt64(content.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: content)
        }
        for value in row {
            switch value {
            case .null: bytes.append(0)
            case .integer(let number):
                bytes.append(1)
                withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
            case .text(let text): append(2, text.utf8)
            case .blob(let blob): append(3, blob)
            }
        }
        return bytes
    }
}
