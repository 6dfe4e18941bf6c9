import TillBilling
import TillSQL

/// `outbox`: what the app's backend is to be told, written in the same commit as what it tells of. A log: rows are
/// never edited and never deleted, so no sequence, and no user's number, is ever used twice.
public struct OutboxTable {
    private static let columns: Columns = """
        event_id, type, customer_id, user_sequence, at, transaction_sequence, transfer_sequence, key_hash, revision, \
        version, body
        """

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Event: Sendable, Hashable {
        public let sequence: Int64
        /// The same however often the event is sent, and in a ledger that was put back to a backup.
        public let id: UniqueID
        /// Dotted, as webhooks name events: `grant.created`.
        public let type: String
        public let user: UserID?
        /// 1 for the first event of its user, then one more each, without a gap; nil where there is no user.
        public let userSequence: Int64?
        public let at: Instant
        /// The transaction it is about.
        public let transactionSequence: Int64?
        /// The transfer it is about, whose parties are told with it.
        public let transferSequence: Int64?
        /// What it says, as JSON.
        public let body: String
    }

    /// The shape of `body` that this program writes.
    static let version: Int64 = 1

    /// - Parameters:
    ///   - key: what happened, and to what, as `DerivedID.event` takes it.
    ///   - happensOnce: whether no second event has this key.
    ///   - body: what the event says, as JSON.
    func insert(
        type: String, user: UserID?, key: String, happensOnce: Bool, transaction: Int64?, transfer: Int64?,
        body: String,
        at: Instant
    ) throws {
        if let user {
            try session.execute(
                """
                INSERT INTO customers (user_id, first_seen, last_event) VALUES (?1, ?2, 1) \
                ON CONFLICT (app_id, user_id) DO UPDATE SET last_event = customers.last_event + 1
                """, [.text(user.text), .instant(at)])
        }
        let hash = happensOnce ? nil : DerivedID.hash(key)
        let revision = try hash.map { try lastRevision(of: $0) + 1 } ?? 0
        try session.execute(
            """
            INSERT INTO outbox (\(Self.columns)) VALUES (?1, ?2, \(customer: 3), \
            (SELECT c.last_event FROM customers c WHERE c.app_id = 1 AND c.user_id = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """,
            [
                .id(DerivedID.event(key, revision: revision)), .text(type), .optional(user?.text), .instant(at),
                .optional(transaction), .optional(transfer), .optional(hash), .integer(revision),
                .integer(Self.version), .text(body),
            ])
    }

    /// How often what has this hash happened.
    private func lastRevision(of hash: Int64) throws -> Int64 {
        try session.first(
            """
            SELECT coalesce(max(revision), 0) AS last FROM outbox WHERE key_hash = ?1
            """, [.integer(hash)]
        ) {
            $0.integer("last")
        } ?? 0
    }

    /// Oldest first.
    public func list(after sequence: Int64, limit: Int) throws -> [Event] {
        try session.query(
            """
            SELECT sequence, \(Self.columns, userOf: "outbox") FROM outbox WHERE sequence > ?1 ORDER BY sequence LIMIT \
            ?2
            """, [.integer(sequence), .integer(Int64(limit))], Self.read)
    }

    /// One user's, oldest first. A user's numbers rise with the sequences, and the index by user has the numbers.
    public func list(of user: UserID, after sequence: Int64, limit: Int) throws -> [Event] {
        try session.query(
            """
            SELECT sequence, \(Self.columns, userOf: "outbox") FROM outbox WHERE customer_id = \(customer: 1) AND \
            sequence > ?2 ORDER BY user_sequence LIMIT ?3
            """, [.text(user.text), .integer(sequence), .integer(Int64(limit))], Self.read)
    }

    public func find(_ sequence: Int64) throws -> Event? {
        try session.first(
            """
            SELECT sequence, \(Self.columns, userOf: "outbox") FROM outbox WHERE sequence = ?1
            """, [.integer(sequence)], Self.read)
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

    private static func read(_ row: any Row) throws -> Event {
        Event(
            sequence: row.integer("sequence"), id: try row.uniqueID("event_id"), type: row.text("type"),
            user: row.optionalText("user_id").map { UserID($0) },
            userSequence: row.optionalInteger("user_sequence"), at: row.instant("at"),
            transactionSequence: row.optionalInteger("transaction_sequence"),
            transferSequence: row.optionalInteger("transfer_sequence"), body: row.text("body"))
    }
}
