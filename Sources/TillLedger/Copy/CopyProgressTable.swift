import TillSQL

/// How far a copy into this database is: rows of `leases`, which is not copied. The row `copy` exists exactly while the
/// copy is not complete and verified, and a server refuses a database that has it.
package struct CopyProgressTable {
    private static let mark = "copy"

    package struct Entry: Sendable, Hashable {
        package enum State: Int64, Sendable {
            case copying = 0
            /// All rows are there; references to later rows may be missing.
            case copied = 1
            case complete = 2
        }

        package let table: String
        package var state = State.copying
        /// The key of the last row; nil before the first.
        package var position: CopiedTable.Values?
        /// Of the rows as they were read.
        package var digest = RowDigest()
    }

    private let connection: any Connection
    package init(_ connection: any Connection) { self.connection = connection }

    /// The ledger that is being copied; nil before the copy began, and after its end.
    package func source() throws -> String? {
        try connection.first("SELECT holder FROM leases WHERE name = ?1", [.text(Self.mark)]) { $0.text("holder") }
    }

    package func begin(from source: String, _ tables: [CopiedTable]) throws {
        try insert(Self.mark, source, 0, 0)
        for table in tables {
            let entry = Entry(table: table.text)
            try insert(Self.name(entry.table), Self.text(entry), entry.digest.rows, entry.state.rawValue)
        }
    }

    private func insert(_ name: String, _ content: String, _ rows: Int64, _ state: Int64) throws {
        try connection.write(
            "INSERT INTO leases (name, holder, term, until) VALUES (\(marks: 4))",
            [.text(name), .text(content), .integer(rows), .integer(state)])
    }

    private static func name(_ table: String) -> String { "copy of \(table)" }

    private static func text(_ entry: Entry) -> String {
        entry.digest.text + "|" + (entry.position.map(KeyText.text) ?? "")
    }

    package func find(_ table: CopiedTable) throws -> Entry? {
        try connection.first(
            "SELECT holder, term, until FROM leases WHERE name = ?1", [.text(Self.name(table.text))]
        ) { row in
            let parts = row.text("holder").split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let state = Entry.State(rawValue: row.integer("until")),
                let digest = RowDigest(parts[0], rows: row.integer("term"))
            else { throw DatabaseError(.corrupt, "the progress of the copy of \(table.text) can't be read") }
            let position = parts[1].isEmpty ? nil : try KeyText.values(parts[1])
            return Entry(table: table.text, state: state, position: position, digest: digest)
        }
    }

    package func update(_ entry: Entry) throws {
        try connection.write(
            "UPDATE leases SET holder = ?2, term = ?3, until = ?4 WHERE name = ?1",
            [
                .text(Self.name(entry.table)), .text(Self.text(entry)), .integer(entry.digest.rows),
                .integer(entry.state.rawValue),
            ])
    }

    /// The copy is complete.
    package func end(_ tables: [CopiedTable]) throws {
        for name in [Self.mark] + tables.map({ Self.name($0.text) }) {
            try connection.write("DELETE FROM leases WHERE name = ?1", [.text(name)])
        }
    }
}

/// A key's values as one text, for both databases alike.
private enum KeyText {
    private static let digits = Array("0123456789abcdef".utf8)

    static func text(_ values: CopiedTable.Values) -> String {
        values.map { value in
            switch value {
            case .null: "n"
            case .integer(let number): "i\(number)"
            case .text(let text): "t" + hexadecimal(text.utf8)
            case .blob(let blob): "b" + hexadecimal(blob)
            }
        }.joined(separator: " ")
    }

    static func values(_ text: String) throws -> CopiedTable.Values {
        try text.split(separator: " ").map { part in
            let content = part.dropFirst()
            let value: SQLValue? =
                switch part.first {
                case "n": .null
                case "i": Int64(content).map { .integer($0) }
                case "t": bytes(content).flatMap { String(validating: $0, as: UTF8.self) }.map { .text($0) }
                case "b": bytes(content).map { .blob($0) }
                default: nil
                }
            guard let value else { throw DatabaseError(.corrupt, "the position of the copy can't be read") }
            return value
        }
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        let nibbles = text.utf8.map { digits.firstIndex(of: $0) }
        guard nibbles.count.isMultiple(of: 2), nibbles.allSatisfy({ $0 != nil }) else { return nil }
        let values = nibbles.compactMap { $0 }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
