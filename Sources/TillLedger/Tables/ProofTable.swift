import TillCrypto
import TillSQL
import TillThreads

/// `proofs` and `compressed_proofs`: the original signed bytes, one proof for each transaction: the copy that decided
/// its state. A signed transaction is written to `proofs`, and moved to `compressed_proofs` later.
///
/// The first part of a signed transaction contains the certificates. It is four fifths of the bytes and the same for
/// everything that one signer signed, so it is stored once, in `proof_headers`.
public struct ProofTable {
    private let connection: any Connection
    private let headers: ProofHeaderTable
    public init(_ connection: any Connection) { self.init(connection, knowing: nil) }

    init(_ connection: any Connection, knowing known: KnownProofHeaders?) {
        self.connection = connection
        headers = ProofHeaderTable(connection, knowing: known)
    }

    public enum Kind: Int64, Sendable, Hashable {
        case signedTransaction = 1
        /// Or the row of an import that stands for it, as a JSON object.
        case receipt = 2
    }

    /// Whether the body is the row of an import, which nothing proves.
    package static func isImportedRow(_ body: [UInt8]) -> Bool { body.first == UInt8(ascii: "{") }

    /// A proof whose header has a row.
    struct Prepared {
        fileprivate let (kind, header, rest): (Kind, SQLValue, SQLValue)
        /// The header, if it was not known.
        let seen: KnownProofHeaders.Header?
    }

    /// Call this before ids are drawn: where the header has no row yet, the body may run again to make it.
    func prepare(kind: Kind, body: [UInt8]) throws -> Prepared {
        let (header, rest, seen) = try parts(of: body, kind)
        return Prepared(kind: kind, header: header, rest: rest, seen: seen)
    }

    public func insert(transaction rowID: Int64, kind: Kind, body: [UInt8]) throws {
        try insert(try prepare(kind: kind, body: body), transaction: rowID)
    }

    func insert(_ proof: Prepared, transaction rowID: Int64) throws {
        try connection.write(
            "INSERT INTO proofs (transaction_row_id, kind, header_row_id, body) VALUES (?1, ?2, ?3, ?4)",
            [.integer(rowID), .integer(proof.kind.rawValue), proof.header, proof.rest])
    }

    /// Stores the copy that decided the newest state. A receipt never replaces a signed transaction.
    public func replace(transaction rowID: Int64, kind: Kind, body: [UInt8]) throws {
        let (header, rest, _) = try parts(of: body, kind)
        let values: [SQLValue] = [.integer(rowID), .integer(kind.rawValue), header, rest]
        let replaced = try connection.execute(
            """
            UPDATE proofs SET kind = ?2, header_row_id = ?3, body = ?4 WHERE transaction_row_id = ?1 AND kind >= ?2
            """, values)
        // In this order: another server that moves the proof meanwhile has moved it when the update finds nothing.
        guard replaced == 0, kind == .signedTransaction,
            try connection.execute(
                "DELETE FROM compressed_proofs WHERE transaction_row_id = ?1", [.integer(rowID)]) == 1
        else { return }
        try connection.write(
            "INSERT INTO proofs (transaction_row_id, kind, header_row_id, body) VALUES (?1, ?2, ?3, ?4)", values)
    }

    public func find(transaction rowID: Int64) throws -> (kind: Kind, body: [UInt8])? {
        guard let stored = try list(AuditSlice(after: rowID - 1, last: rowID)).first else { return nil }
        if let damage = stored.damage {
            throw DatabaseError(
                .corrupt, "the compressed proof in row \(rowID) is damaged (\(damage)); restore it from a backup")
        }
        return (stored.kind, stored.body)
    }

    struct Stored: Sendable {
        let rowID: Int64
        let kind: Kind
        /// Empty if it is damaged.
        let body: [UInt8]
        var damage: CompressedProof.Damage?
    }

    /// The proofs of some transactions.
    func list(_ slice: AuditSlice) throws -> [Stored] {
        // One statement, so that a proof that is moved meanwhile is found in one of the tables.
        try connection.query(
            """
            SELECT p.transaction_row_id, p.kind, h.header, p.body, 0 AS is_compressed FROM proofs p LEFT JOIN \
            proof_headers h ON h.row_id = p.header_row_id WHERE p.transaction_row_id > ?1 AND p.transaction_row_id \
            <= ?2 UNION ALL SELECT c.transaction_row_id, 1 AS kind, h.header, c.body, 1 AS is_compressed FROM \
            compressed_proofs c LEFT JOIN proof_headers h ON h.row_id = c.header_row_id WHERE \
            c.transaction_row_id > ?1 AND c.transaction_row_id <= ?2
            """, slice.values
        ) { row in
            guard let kind = Kind(rawValue: row.integer("kind")) else { throw row.unreadable("a proof's kind") }
            let (rowID, header, body) = (row.integer("transaction_row_id"), row.blob("header"), row.blob("body"))
            guard row.integer("is_compressed") == 1 else {
                return Stored(rowID: rowID, kind: kind, body: header + body)
            }
            let form = try CompressedProof()
            do throws(CompressedProof.Damage) {
                return Stored(rowID: rowID, kind: kind, body: header + (try form.decompress(body, header: header)))
            } catch {
                return Stored(rowID: rowID, kind: kind, body: [], damage: error)
            }
        }
    }

    /// How many of the newest proofs are searched for a receipt.
    private static let recent: Int64 = 5_000

    /// The newest receipt, unless it is older than the newest signed transactions.
    package func newestReceipt() throws -> [UInt8]? {
        try connection.first(
            """
            SELECT body FROM proofs p WHERE kind = 2 AND NOT EXISTS (SELECT 1 FROM imported_purchases i WHERE \
            i.transaction_row_id = p.transaction_row_id) AND transaction_row_id > (SELECT \
            coalesce(max(t.row_id), 0) FROM transactions t) - ?1 ORDER BY transaction_row_id DESC LIMIT 1
            """, [.integer(Self.recent)]
        ) { $0.blob("body") }
    }

    /// The header's reference and the remaining bytes; the whole body if there is no header to share.
    private func parts(
        of body: [UInt8], _ kind: Kind
    ) throws -> (header: SQLValue, rest: SQLValue, seen: KnownProofHeaders.Header?) {
        guard kind == .signedTransaction, let (header, isNew) = try headers.header(of: body) else {
            return (.null, .blob(body), nil)
        }
        return (.integer(header.rowID), .blob(Array(body[header.bytes.count...])), isNew ? header : nil)
    }

    /// Finds the header of a proof that is about to be stored; nil if it has none, or if its row is known.
    static func findingHeader(of body: [UInt8], _ kind: Kind, unless known: KnownProofHeaders) -> Statement? {
        kind == .signedTransaction ? ProofHeaderTable.finding(headerOf: body, unless: known) : nil
    }
}
