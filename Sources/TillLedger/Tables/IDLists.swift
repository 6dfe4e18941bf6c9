import TillSQL

/// Ids in lists of one length, so that one prepared statement serves any number of them: the last list repeats its
/// last id. A statement writes them as `\\(marks: 32)`, and further parameters from ?33 on.
enum IDLists {
    private static let length = 32

    static func of(_ ids: [Int64]) -> [[SQLValue]] {
        stride(from: 0, to: ids.count, by: length).map { start in
            let list = ids[start..<min(start + length, ids.count)].map { SQLValue.integer($0) }
            return list + Array(repeating: list[list.count - 1], count: length - list.count)
        }
    }

    /// One statement for each list.
    static func statements(_ sql: SQL, _ ids: [Int64], _ further: [SQLValue] = []) -> [Statement] {
        of(ids).map { Statement(sql, $0 + further) }
    }
}
