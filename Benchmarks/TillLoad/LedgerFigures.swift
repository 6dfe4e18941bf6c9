import TillLedger
import TillSQL
import TillSQLite

/// The contents of a ledger's file, read with or without a running server.
struct LedgerFigures {
    let path: String

    /// Reports grants, orders, the bytes of all proofs as stored (with shared headers) and as received, and the bytes
    /// of the database without its log, which is merged into the file when the server ends normally.
    func line() async throws -> String {
        let ledger = try SQLiteDatabase.open(path: path, role: .operator, options: .init(.ledger))
        let figures = try await ledger.read { connection in
            func number(_ sql: SQL) throws -> Int64 { try connection.first(sql, []) { $0.integer("number") } ?? 0 }
            return [
                try number("SELECT count(*) AS number FROM grants"),
                try number("SELECT count(*) AS number FROM orders"),
                try number(
                    """
                    SELECT coalesce((SELECT sum(length(body)) FROM proofs), 0) + coalesce((SELECT sum(length(body)) \
                    FROM compressed_proofs), 0) + coalesce((SELECT sum(length(header)) FROM proof_headers), 0) AS number
                    """),
                try number(
                    """
                    SELECT coalesce(sum(length(p.body) + coalesce(length(h.header), 0)), 0) AS number FROM proofs p \
                    LEFT JOIN proof_headers h ON h.row_id = p.header_row_id
                    """),
                try number(
                    "SELECT page_count * page_size AS number FROM pragma_page_count, pragma_page_size"),
            ]
        }
        await ledger.close()
        return figures.map { String($0) }.joined(separator: " ")
    }
}
