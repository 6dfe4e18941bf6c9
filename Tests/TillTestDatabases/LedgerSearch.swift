import TillLedger
import TillSQL

extension Database {
    /// The tables that contain a text in any row, in texts and in bytes.
    package func tables(with text: String) async throws -> Set<String> {
        try await read { connection in
            var found: Set<String> = []
            for table in CopiedTable.all {
                for row in try table.read(after: nil, limit: 1_000_000, connection) {
                    let holds = row.contains { value in
                        switch value {
                        case .text(let held): held.contains(text)
                        case .blob(let held): String(decoding: held, as: UTF8.self).contains(text)
                        case .integer, .null: false
                        }
                    }
                    if holds { found.insert(table.text) }
                }
            }
            return found
        }
    }
}
