import TillBilling
import TillSQL

/// Lists the recorded transactions and their chains. It has no table of its own.
public struct ChainList {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let sequence: Int64
        public let id: TransactionID
        /// Identifies the chain.
        public let originalID: TransactionID
    }

    /// A page of all transactions of an environment, oldest first, after a position.
    ///
    /// The plus sign makes SQLite walk the rows from the position on instead of using an index on the environment.
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
