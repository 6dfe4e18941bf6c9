import TillSQL

/// A connection's prepared statements, found by where their texts begin: a dictionary would hash that address first,
/// for each of the twenty statements of a grant.
struct StatementTable {
    private var entries: [Entry?] = []
    private var count = 0

    private struct Entry {
        let sql: SQL
        let statement: PreparedStatement
    }

    func find(_ sql: SQL) -> PreparedStatement? {
        guard !entries.isEmpty else { return nil }
        var slot = Self.slot(sql, entries.count)
        while let entry = entries[slot] {
            if entry.sql == sql { return entry.statement }
            slot = (slot + 1) & (entries.count - 1)
        }
        return nil
    }

    /// For a text that `find` does not find.
    mutating func insert(_ statement: PreparedStatement, of sql: SQL) {
        // The table is at most half full, so a search always ends at an empty slot.
        if 2 * (count + 1) > entries.count {
            let old = entries
            entries = Array(repeating: nil, count: max(64, 2 * old.count))
            for case let entry? in old { put(entry) }
        }
        put(Entry(sql: sql, statement: statement))
        count += 1
    }

    func forEach(_ body: (PreparedStatement) -> Void) {
        for case let entry? in entries { body(entry.statement) }
    }

    private mutating func put(_ entry: Entry) {
        var slot = Self.slot(entry.sql, entries.count)
        while entries[slot] != nil { slot = (slot + 1) & (entries.count - 1) }
        entries[slot] = entry
    }

    /// The upper bits of a product by the golden ratio spread the slots: neighbouring literals are a few bytes apart.
    private static func slot(_ sql: SQL, _ size: Int) -> Int {
        Int(truncatingIfNeeded: (UInt64(sql.key) &* 0x9E37_79B9_7F4A_7C15) >> 40) & (size - 1)
    }
}
