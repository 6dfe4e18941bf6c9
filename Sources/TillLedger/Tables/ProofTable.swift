import TillSQL

/// `proofs`: the original signed bytes, one proof for each transaction: the copy that decided its state.
///
/// The first part of a signed transaction contains the certificates. It is four fifths of the bytes and the same for
/// everything that one signer signed, so it is stored once, in `proof_headers`.
public struct ProofTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public enum Kind: Int64, Sendable, Hashable {
        case signedTransaction = 1
        case receipt = 2
    }

    public func insert(transaction sequence: Int64, kind: Kind, body: [UInt8]) throws {
        let (header, rest) = try parts(of: body, kind)
        try session.execute(
            "INSERT INTO proofs (transaction_sequence, kind, header_sequence, body) VALUES (?1, ?2, ?3, ?4)",
            [.integer(sequence), .integer(kind.rawValue), header, rest])
    }

    /// Stores the copy that decided the newest state. A receipt never replaces a signed transaction.
    public func replace(transaction sequence: Int64, kind: Kind, body: [UInt8]) throws {
        let (header, rest) = try parts(of: body, kind)
        try session.execute(
            """
            UPDATE proofs SET kind = ?2, header_sequence = ?3, body = ?4 WHERE transaction_sequence = ?1 AND kind >= ?2
            """, [.integer(sequence), .integer(kind.rawValue), header, rest])
    }

    public func find(transaction sequence: Int64) throws -> (kind: Kind, body: [UInt8])? {
        try session.first(
            """
            SELECT p.kind, h.header, p.body FROM proofs p LEFT JOIN proof_headers h ON h.sequence = p.header_sequence \
            WHERE p.transaction_sequence = ?1
            """, [.integer(sequence)]
        ) { row in
            guard let kind = Kind(rawValue: row.integer("kind")) else { throw row.unreadable("a proof's kind") }
            return (kind, row.blob("header") + row.blob("body"))
        }
    }

    /// The header's reference and the remaining bytes; the whole body if there is no header to share.
    private func parts(of body: [UInt8], _ kind: Kind) throws -> (header: SQLValue, rest: SQLValue) {
        guard kind == .signedTransaction, let end = body.firstIndex(of: UInt8(ascii: ".")) else {
            return (.null, .blob(body))
        }
        let header = SQLValue.blob(Array(body[...end]))
        let known = try session.first(
            "SELECT sequence FROM proof_headers WHERE header = ?1", [header]
        ) { $0.integer("sequence") }
        let sequence = try known ?? session.insert("INSERT INTO proof_headers (header) VALUES (?1)", [header])
        return (.integer(sequence), .blob(Array(body[(end + 1)...])))
    }
}
