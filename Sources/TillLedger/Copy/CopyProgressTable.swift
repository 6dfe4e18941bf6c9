import TillSQL

/// `ledger_copy`: how far a copy into this database is. The table exists exactly while the copy is not complete and
/// verified, and a server refuses a database that has it.
package struct CopyProgressTable {
    package static let name: StaticString = "ledger_copy"

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

    /// Types that both databases know by the same name.
    package func create() throws {
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS ledger_copy (table_name TEXT PRIMARY KEY, source TEXT NOT NULL, \
            state BIGINT NOT NULL, last_key TEXT NOT NULL, rows_done BIGINT NOT NULL, digest TEXT NOT NULL)
            """, [])
    }

    package func drop() throws { try connection.execute("DROP TABLE ledger_copy", []) }

    /// The ledger that is being copied; nil before the copy began.
    package func source() throws -> String? {
        try connection.first("SELECT source FROM ledger_copy ORDER BY table_name LIMIT 1", []) { $0.text("source") }
    }

    package func begin(_ table: CopiedTable, from source: String) throws {
        let entry = Entry(table: table.text)
        try connection.write(
            """
            INSERT INTO ledger_copy (table_name, source, state, last_key, rows_done, digest) \
            VALUES (?1, ?2, 0, '', 0, ?3)
            """, [.text(entry.table), .text(source), .text(entry.digest.text)])
    }

    package func find(_ table: CopiedTable) throws -> Entry? {
        try connection.first(
            "SELECT state, last_key, rows_done, digest FROM ledger_copy WHERE table_name = ?1", [.text(table.text)]
        ) { row in
            guard let state = Entry.State(rawValue: row.integer("state")),
                let digest = RowDigest(row.text("digest"), rows: row.integer("rows_done"))
            else { throw DatabaseError(.corrupt, "the progress of the copy of \(table.text) can't be read") }
            let key = row.text("last_key")
            return Entry(
                table: table.text, state: state, position: key.isEmpty ? nil : try KeyText.values(key), digest: digest)
        }
    }

    package func update(_ entry: Entry) throws {
        try connection.write(
            "UPDATE ledger_copy SET state = ?2, last_key = ?3, rows_done = ?4, digest = ?5 WHERE table_name = ?1",
            [
                .text(entry.table), .integer(entry.state.rawValue), .text(entry.position.map(KeyText.text) ?? ""),
                .integer(entry.digest.rows), .text(entry.digest.text),
            ])
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
