import TillBilling
import TillCompression
import TillSQL

/// Moves signed transactions from `proofs` to `compressed_proofs`, a batch in one commit, the oldest first. Compressing
/// and comparing happen before the commit; a proof that has changed meanwhile stays where it is.
///
/// A batch that a crash interrupts is done or not done, and what is not done is still in `proofs`.
package struct ProofCompression: Sendable {
    /// Rows in one commit: a purchase that waits for it waits for a few milliseconds.
    package static let batch = 100

    package struct Batch: Sendable, Hashable {
        /// The last row that was read; nil if there is none after the given one.
        package var last: Int64?
        package var compressed: Int64 = 0
        package var bytesSaved: Int64 = 0
    }

    private struct Compressed: Sendable {
        let rowID: Int64
        let headerRowID: Int64
        let original: [UInt8]
        let body: [UInt8]
    }

    private let database: any Database

    package init(_ database: any Database) { self.database = database }

    /// Compresses the signed transactions among the rows after the given one. Receipts, and whatever becomes no
    /// smaller, stay as they are.
    package func compress(after rowID: Int64, limit: Int = batch) async throws -> Batch {
        var (result, ready) = try await database.read { try Self.prepare(after: rowID, limit: limit, $0) }
        guard !ready.isEmpty else { return result }
        let moved = try await database.write(locking: [.ledger("proof compression")]) { [ready] connection in
            try Self.move(ready, connection)
        }
        ready.removeAll { !moved.contains($0.rowID) }
        result.compressed = Int64(ready.count)
        result.bytesSaved = ready.reduce(0) { $0 + Int64($1.original.count - $1.body.count) }
        return result
    }

    private static func prepare(
        after rowID: Int64, limit: Int, _ connection: any Connection
    ) throws -> (Batch, [Compressed]) {
        var (result, headers, ready) = (Batch(), [Int64: [UInt8]](), [Compressed]())
        let rows = try connection.query(
            """
            SELECT transaction_row_id, header_row_id, CASE WHEN kind = 1 THEN body END AS body FROM proofs \
            WHERE transaction_row_id > ?1 ORDER BY transaction_row_id LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))]
        ) { row in
            (
                rowID: row.integer("transaction_row_id"), headerRowID: row.optionalInteger("header_row_id"),
                body: row.isNull("body") ? nil : row.blob("body")
            )
        }
        result.last = rows.last?.rowID
        let form = try CompressedProof()
        for row in rows {
            guard let headerRowID = row.headerRowID, let rest = row.body else { continue }
            let header =
                try headers[headerRowID]
                ?? connection.first("SELECT header FROM proof_headers WHERE row_id = ?1", [.integer(headerRowID)]) {
                    $0.blob("header")
                }
            guard let header else { continue }
            headers[headerRowID] = header
            guard let body = try form.compress(header: header, rest: rest) else { continue }
            ready.append(Compressed(rowID: row.rowID, headerRowID: headerRowID, original: rest, body: body))
        }
        return (result, ready)
    }

    /// - Returns: the rows that were as they had been read.
    private static func move(_ ready: [Compressed], _ connection: any Connection) throws -> Set<Int64> {
        let deleted = try connection.run(
            ready.map { row in
                Statement(
                    """
                    DELETE FROM proofs WHERE transaction_row_id = ?1 AND kind = 1 AND header_row_id = ?2 AND body = ?3
                    """, [.integer(row.rowID), .integer(row.headerRowID), .blob(row.original)])
            })
        let moved = zip(ready, deleted).filter { $1.changes == 1 }.map(\.0)
        _ = try connection.run(
            moved.map { row in
                Statement(
                    """
                    INSERT INTO compressed_proofs (transaction_row_id, header_row_id, body) VALUES (?1, ?2, ?3)
                    """, [.integer(row.rowID), .integer(row.headerRowID), .blob(row.body)])
            })
        return Set(moved.map(\.rowID))
    }
}
