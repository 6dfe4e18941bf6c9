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

    /// Changes what is sealed of a row of orders or transactions, and records it.
    func record(
        _ stream: SealedStream, _ rowID: Int64, at now: Instant, _ change: () throws -> Void
    ) throws {
        let was = try content(of: stream, rowID)
        try change()
        let present = try content(of: stream, rowID)
        guard let was, let present, was != present else { return }
        try connection.write(
            "INSERT INTO sealed_changes (stream, changed_row_id, was, now, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            [stream.column, .integer(rowID), .blob(was), .blob(present), .instant(now)])
    }

    private func content(of stream: SealedStream, _ rowID: Int64) throws -> [UInt8]? {
        var found: [UInt8]?
        try stream.readPresent(from: rowID, to: rowID, key: nil, connection) { found = $2.array }
        return found
    }
}
