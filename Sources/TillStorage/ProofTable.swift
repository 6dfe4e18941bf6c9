/// `proofs`: the signed bytes exactly as they came, one for each transaction: the copy that decided its state.
public struct ProofTable {
    private let session: any Session
    public init(_ session: any Session) { self.session = session }

    public enum Kind: Int64, Sendable, Hashable {
        case signedTransaction = 1
        case receipt = 2
    }

    public func insert(transaction sequence: Int64, kind: Kind, body: [UInt8]) throws {
        try session.execute(
            "INSERT INTO proofs (transaction_sequence, kind, body) VALUES (?, ?, ?)",
            [.integer(sequence), .integer(kind.rawValue), .blob(body)])
    }

    /// Keeps the copy that decided the newest state. A signed transaction outranks a receipt.
    public func replace(transaction sequence: Int64, kind: Kind, body: [UInt8]) throws {
        try session.execute(
            "UPDATE proofs SET kind = ?2, body = ?3 WHERE transaction_sequence = ?1 AND kind >= ?2",
            [.integer(sequence), .integer(kind.rawValue), .blob(body)])
    }

    public func find(transaction sequence: Int64) throws -> (kind: Kind, body: [UInt8])? {
        try session.first("SELECT kind, body FROM proofs WHERE transaction_sequence = ?", [.integer(sequence)]) { row in
            guard let kind = Kind(rawValue: row.integer(0)) else { throw row.unreadable("a proof's kind") }
            return (kind, row.blob(1))
        }
    }
}
