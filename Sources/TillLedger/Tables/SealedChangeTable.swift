import TillBilling
import TillSQL

/// `sealed_changes`: what a row was and is, where the ledger itself changes something that is sealed: an import that is
/// undone gives the transaction's id back. The changes are sealed too, so the audit knows what each row must be now.
struct SealedChangeTable {
    private let connection: any Connection
    init(_ connection: any Connection) { self.connection = connection }

    /// The first and the last content of a row.
    struct Change: Sendable, Hashable {
        let was: [UInt8]
        var now: [UInt8]
    }

    func changes(of stream: SealedStream, from first: Int64, to last: Int64) throws -> [Int64: Change] {
        var changes: [Int64: Change] = [:]
        _ = try connection.query(
            """
            SELECT changed_row_id, was, now FROM sealed_changes WHERE stream = ?1 AND changed_row_id >= ?2 AND \
            changed_row_id <= ?3 ORDER BY row_id
            """, [stream.column, .integer(first), .integer(last)]
        ) { row in
            let now = row.blob("now")
            changes[row.integer("changed_row_id"), default: Change(was: row.blob("was"), now: now)].now = now
        }
        return changes
    }

    /// Rows of orders or transactions that are about to change.
    struct Changed {
        let stream: SealedStream
        let rowIDs: [Int64]
    }

    /// Changes what is sealed of rows, and records it.
    func record(_ changed: [Changed], at now: Instant, _ change: () throws -> Void) throws {
        let was = try contents(of: changed)
        try change()
        let present = try contents(of: changed)
        for (one, (was, present)) in zip(changed, zip(was, present)) {
            for rowID in one.rowIDs {
                guard let was = was[rowID], let present = present[rowID], was != present else { continue }
                try connection.write(
                    "INSERT INTO sealed_changes (stream, changed_row_id, was, now, at) VALUES (?1, ?2, ?3, ?4, ?5)",
                    [one.stream.column, .integer(rowID), .blob(was), .blob(present), .instant(now)])
            }
        }
    }

    func record(_ stream: SealedStream, _ rowID: Int64, at now: Instant, _ change: () throws -> Void) throws {
        try record([Changed(stream: stream, rowIDs: [rowID])], at: now, change)
    }

    /// The contents of the rows, in the order of `changed`.
    private func contents(of changed: [Changed]) throws -> [[Int64: [UInt8]]] {
        let ranges = changed.map { Self.ranges(of: $0.rowIDs) }
        try connection.prefetch {
            zip(changed, ranges).flatMap { one, ranges in ranges.flatMap { one.stream.reads(from: $0, to: $1) } }
        }
        return try zip(changed, ranges).map { one, ranges in
            var found: [Int64: [UInt8]] = [:]
            for (first, last) in ranges {
                try one.stream.readPresent(from: first, to: last, key: nil, connection) { found[$0] = $2.array }
            }
            return found
        }
    }

    /// Ids that lie close together are read as one range.
    private static func ranges(of ids: [Int64]) -> [(first: Int64, last: Int64)] {
        ids.sorted().reduce(into: [(first: Int64, last: Int64)]()) { ranges, id in
            if let range = ranges.last, id - range.last <= 8 {
                ranges[ranges.count - 1].last = id
            } else {
                ranges.append((id, id))
            }
        }
    }
}
