import TillBilling
import TillSQL

/// `outbox`: what the app's backend is to be told, written in the same commit as what it tells of. A log: rows are
/// never edited and never deleted, so no sequence, and no user's number, is ever used twice.
public struct OutboxTable {
    private static let columns: Columns = """
        type, user_id, user_sequence, at, transaction_sequence, transfer_sequence, body
        """

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Event: Sendable, Hashable {
        public let sequence: Int64
        /// Dotted, as webhooks name events: `grant.created`.
        public let type: String
        public let user: UserID?
        /// 1 for the first event of its user, then one more each, without a gap; nil where there is no user.
        public let userSequence: Int64?
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
            INSERT INTO outbox (\(Self.columns)) VALUES (?1, ?2, CASE WHEN CAST(?2 AS TEXT) IS NOT NULL \
            THEN (SELECT coalesce(max(user_sequence), 0) + 1 FROM outbox WHERE user_id = ?2) END, ?3, ?4, ?5, ?6)
            """,
            [
                .text(type), .optional(user?.text), .instant(at), .optional(transaction), .optional(transfer),
                .optional(body),
            ])
    }

    /// Tells of something that is no transaction of its own.
    ///
    /// - Parameter body: JSON.
    public func insert(type: String, user: UserID?, body: String, at: Instant) throws {
        try insert(type: type, user: user, transaction: nil, at: at, body: body)
    }

    /// Oldest first.
    public func list(after sequence: Int64, limit: Int) throws -> [Event] {
        try session.query(
            """
            SELECT sequence, \(Self.columns) FROM outbox WHERE sequence > ?1 ORDER BY sequence LIMIT ?2
            """, [.integer(sequence), .integer(Int64(limit))], Self.read)
    }

    /// One user's, oldest first. A user's numbers rise with the sequences, and the index by user has the numbers.
    public func list(of user: UserID, after sequence: Int64, limit: Int) throws -> [Event] {
        try session.query(
            """
            SELECT sequence, \(Self.columns) FROM outbox WHERE user_id = ?1 AND sequence > ?2 ORDER BY user_sequence \
            LIMIT ?3
            """, [.text(user.text), .integer(sequence), .integer(Int64(limit))], Self.read)
    }

    public func find(_ sequence: Int64) throws -> Event? {
        try session.first(
            "SELECT sequence, \(Self.columns) FROM outbox WHERE sequence = ?1", [.integer(sequence)], Self.read)
    }

    /// The newest event's; 0 if there is none.
    public func lastSequence() throws -> Int64 {
        try session.first("SELECT coalesce(max(sequence), 0) AS last_sequence FROM outbox", []) {
            $0.integer("last_sequence")
        } ?? 0
    }

    /// The sequence before the first event from `start` on; the newest event's if there is none yet. Reads all events
    /// before that one.
    public func position(before start: Instant) throws -> Int64 {
        try session.first(
            "SELECT sequence - 1 AS position FROM outbox WHERE at >= ?1 ORDER BY sequence LIMIT 1", [.instant(start)]
        ) { $0.integer("position") } ?? lastSequence()
    }

    private static func read(_ row: any Row) -> Event {
        Event(
            sequence: row.integer("sequence"), type: row.text("type"),
            user: row.optionalText("user_id").map { UserID($0) },
            userSequence: row.optionalInteger("user_sequence"), at: row.instant("at"),
            transactionSequence: row.optionalInteger("transaction_sequence"),
            transferSequence: row.optionalInteger("transfer_sequence"), body: row.optionalText("body"))
    }
}
