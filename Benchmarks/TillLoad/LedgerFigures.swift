import TillLedger
import TillSQLite

/// What stands in a ledger's file, read beside a running server or without one.
struct LedgerFigures {
    let path: String

    /// Grants, orders, bytes of all proofs as they are stored (a header that many share once) and as they came, and
    /// bytes of the database without its log: the log is in the file once the server has ended in good order.
    func line() async throws -> String {
        let ledger = try SQLiteDatabase.open(path: path, role: .operator, options: .init(.ledger))
        let figures = try await ledger.read { session in
            func number(_ sql: StaticString) throws -> Int64 { try session.first(sql, []) { $0.integer(0) } ?? 0 }
            return [
                try number("SELECT count(*) FROM grants"),
                try number("SELECT count(*) FROM orders"),
                try number(
                    """
                    SELECT coalesce((SELECT sum(length(body)) FROM proofs), 0) \
                    + coalesce((SELECT sum(length(header)) FROM proof_headers), 0)
                    """),
                try number(
                    """
                    SELECT coalesce(sum(length(p.body) + coalesce(length(h.header), 0)), 0) FROM proofs p \
                    LEFT JOIN proof_headers h ON h.sequence = p.header_sequence
                    """),
                try number("PRAGMA page_count") * number("PRAGMA page_size"),
            ]
        }
        await ledger.close()
        return figures.map { String($0) }.joined(separator: " ")
    }
}
