import TillBilling

/// Which chains of transactions the ledger knows, by their original transactions. No table of its own.
public struct ChainList {
    private let session: any Session
    public init(_ session: any Session) { self.session = session }

    public struct Entry: Sendable, Hashable {
        /// Of the transaction that is in the chain.
        public let sequence: Int64
        public let originalID: TransactionID
    }

    /// The sequence of the newest transaction; 0 if there is none.
    public func newest() throws -> Int64 {
        try session.first("SELECT coalesce(max(sequence), 0) FROM transactions", []) { $0.integer(0) } ?? 0
    }

    /// A page of the transactions that belong to subscriptions, and of those of any kind that are newer than
    /// `sequence`: oldest first, after a position. A chain is on it once for each of its transactions.
    ///
    /// The plus sign keeps SQLite on the way from the position on.
    public func list(
        in environment: Environment, after position: Int64, anyKindAfter sequence: Int64, limit: Int
    ) throws -> [Entry] {
        try session.query(
            """
            SELECT sequence, original_id FROM transactions WHERE sequence > ? AND +environment = ? \
            AND (type = ? OR expires_at IS NOT NULL OR sequence > ?) ORDER BY sequence LIMIT ?
            """,
            [
                .integer(position), environment.column, ProductType.autoRenewable.column, .integer(sequence),
                .integer(Int64(limit)),
            ]
        ) { Entry(sequence: $0.integer(0), originalID: TransactionID($0.text(1))) }
    }
}
