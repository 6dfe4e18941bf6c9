import TillBilling

/// `outbox`: what the app's backend is to be told, written in the same commit as what it tells of. Sequences are
/// never used twice as long as the newest row stays, so a reader can ask for everything after the last one it saw.
public struct OutboxTable {
    private let session: any Session
    public init(_ session: any Session) { self.session = session }

    public struct Event: Sendable, Hashable {
        public let sequence: Int64
        /// Dotted, as webhooks name events: `grant.created`.
        public let type: String
        public let user: UserID?
        public let at: Instant
        /// The transaction it is about, whose grant and evidence, which never change, say the rest.
        public let transactionSequence: Int64?
        /// The transfer it is about.
        public let transferSequence: Int64?
        /// What it says beside that: JSON, for events that neither tells.
        public let body: String?
    }

    /// - Parameter body: what the event says beside what it is about, as JSON text.
    public func insert(
        type: String, user: UserID?, transaction: Int64?, transfer: Int64? = nil, at: Instant, body: String? = nil
    ) throws {
        try session.execute(
            """
            INSERT INTO outbox (type, user, transaction_sequence, transfer_sequence, at, body) VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                .text(type), .optional(user?.text), .optional(transaction), .optional(transfer), .instant(at),
                .optional(body),
            ])
    }

    /// Tells of something that is no transaction of its own.
    ///
    /// - Parameter body: JSON.
    public func insert(type: String, user: UserID?, body: String, at: Instant) throws {
        try session.execute(
            "INSERT INTO outbox (type, user, body, at) VALUES (?, ?, ?, ?)",
            [.text(type), .optional(user?.text), .text(body), .instant(at)])
    }

    public func list(after sequence: Int64, limit: Int) throws -> [Event] {
        try session.query(
            """
            SELECT sequence, type, user, at, transaction_sequence, transfer_sequence, body FROM outbox \
            WHERE sequence > ? ORDER BY sequence LIMIT ?
            """, [.integer(sequence), .integer(Int64(limit))]
        ) { row in
            Event(
                sequence: row.integer(0), type: row.text(1), user: row.optionalText(2).map { UserID($0) },
                at: row.instant(3), transactionSequence: row.isNull(4) ? nil : row.integer(4),
                transferSequence: row.isNull(5) ? nil : row.integer(5), body: row.optionalText(6))
        }
    }
}
