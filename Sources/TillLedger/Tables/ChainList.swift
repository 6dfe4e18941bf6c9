import TillBilling
import TillSQL

/// Lists the recorded transactions and their chains. It has no table of its own.
public struct ChainList {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        public let rowID: Int64
        public let id: TransactionID
        /// Identifies the chain.
        public let originalID: TransactionID
    }

    /// A page of all transactions of an environment, oldest first, after a position.
    ///
    /// The plus sign makes SQLite walk the rows from the position on instead of using an index on the environment.
    public func transactions(in environment: StoreEnvironment, after position: Int64, limit: Int) throws -> [Entry] {
        try connection.query(
            """
            SELECT row_id, id, original_id FROM transactions WHERE row_id > ?1 AND +environment = ?2 \
            ORDER BY row_id LIMIT ?3
            """, [.integer(position), environment.column, .integer(Int64(limit))]
        ) {
            Entry(
                rowID: $0.integer("row_id"), id: TransactionID($0.text("id")),
                originalID: TransactionID($0.text("original_id")))
        }
    }
}
