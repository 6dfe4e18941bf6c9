import TillBilling
import TillSQL

/// Which transactions the ledger knows, and the chains that they are in. No table of its own.
public struct ChainList {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let sequence: Int64
        public let id: TransactionID
        /// Names the chain.
        public let originalID: TransactionID
    }

    /// A page of all transactions of an environment, oldest first, after a position.
    ///
    /// The plus sign keeps SQLite on the way from the position on.
    public func transactions(in environment: Environment, after position: Int64, limit: Int) throws -> [Entry] {
        try session.query(
            """
            SELECT sequence, id, original_id FROM transactions WHERE sequence > ?1 AND +environment = ?2 \
            ORDER BY sequence LIMIT ?3
            """, [.integer(position), environment.column, .integer(Int64(limit))]
        ) {
            Entry(
                sequence: $0.integer("sequence"), id: TransactionID($0.text("id")),
                originalID: TransactionID($0.text("original_id")))
        }
    }
}
