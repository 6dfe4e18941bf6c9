import TillBilling
import TillSQL

extension Schema {
    /// The pending tasks for Apple. Kinds are 1 finish, 2 token; state 0 waits, 1 was permanently refused. Completed
    /// tasks are deleted, so the table holds only open ones.
    static let errands: StaticString = """
        CREATE TABLE errands (
            sequence INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL CHECK (kind IN (1, 2)),
            transaction_sequence INTEGER NOT NULL REFERENCES transactions (sequence),
            token BLOB CHECK (length(token) = 16),
            state INTEGER NOT NULL CHECK (state IN (0, 1)),
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            UNIQUE (transaction_sequence, kind),
            CHECK ((kind = 2) = (token IS NOT NULL))
        ) STRICT;
        CREATE INDEX errands_due ON errands (due_at, sequence) WHERE state = 0;
        """
}

/// `errands`: the pending tasks for Apple, each written in the commit that causes it.
public struct ErrandTable {
    private static let columns: Columns = "kind, token, transaction_sequence, attempts, due_at, state, detail"
    private static let transaction: Columns = """
        t.id, t.original_id, t.environment, t.product, CASE WHEN t.type = 3 OR t.type IS NULL AND t.expires_at IS NOT \
        NULL THEN 1 ELSE 0 END AS is_subscription
        """

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public enum Kind: Sendable, Hashable {
        /// Finish the transaction, in case the device has not done so.
        case finish
        /// Set this token on its original transaction.
        case token(OrderID)

        fileprivate var number: Int64 {
            switch self {
            case .finish: 1
            case .token: 2
            }
        }
    }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let kind: Kind
        public let transactionSequence: Int64
        public let transactionID: TransactionID
        public let originalID: TransactionID
        public let productID: ProductID
        public let isSubscription: Bool
        public let environment: Environment
        /// How many requests to Apple failed.
        public let attempts: Int64
        public let dueAt: Instant
        /// False: Apple permanently refused it, and `detail` says why.
        public let isWaiting: Bool
        /// For operators, in English.
        public let detail: String
    }

    /// Adds a task; a second one of the same kind for a transaction changes nothing.
    public func insert(_ kind: Kind, transaction sequence: Int64, due: Instant) throws {
        var token: OrderID?
        if case .token(let order) = kind { token = order }
        _ = try session.insertIfNew(
            """
            INSERT INTO errands (\(Self.columns)) VALUES (?1, ?2, ?3, 0, ?4, 0, '') \
            ON CONFLICT (transaction_sequence, kind) DO NOTHING
            """, [.integer(kind.number), .optional(token), .integer(sequence), .instant(due)])
    }

    /// The due tasks of an environment, alternating between customers, the longest overdue of each first. Only the
    /// thousand longest overdue are considered.
    public func due(in environment: Environment, at now: Instant, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT e.sequence, \(Self.columns, of: "e"), \(Self.transaction) \
            FROM (SELECT sequence, due_at, row_number() OVER (PARTITION BY customer_id, CASE WHEN customer_id IS NULL \
            THEN sequence END ORDER BY due_at, sequence) AS turn FROM (SELECT w.sequence, w.due_at, g.customer_id \
            FROM errands w CROSS JOIN transactions a ON a.sequence = w.transaction_sequence LEFT JOIN grants g \
            ON g.transaction_sequence = w.transaction_sequence WHERE w.state = 0 AND w.due_at <= ?1 \
            AND a.environment = ?2 ORDER BY w.due_at, w.sequence LIMIT 1000) AS overdue \
            ORDER BY turn, due_at, sequence LIMIT ?3) d CROSS JOIN errands e ON e.sequence = d.sequence \
            CROSS JOIN transactions t ON t.sequence = e.transaction_sequence ORDER BY d.turn, d.due_at, d.sequence
            """, [.instant(now), environment.column, .integer(Int64(limit))], Self.read)
    }

    public func list(transaction sequence: Int64) throws -> [Stored] {
        try session.query(
            """
            SELECT e.sequence, \(Self.columns, of: "e"), \(Self.transaction) FROM errands e CROSS JOIN transactions t \
            ON t.sequence = e.transaction_sequence WHERE e.transaction_sequence = ?1 ORDER BY e.sequence
            """, [.integer(sequence)], Self.read)
    }

    /// Tries again at `due`.
    public func postpone(_ sequence: Int64, until due: Instant, detail: String) throws {
        try session.execute(
            "UPDATE errands SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE sequence = ?3 AND state = 0",
            [.instant(due), .text(detail), .integer(sequence)])
    }

    /// Records that Apple refused it and that repeating it would not help.
    public func refuse(_ sequence: Int64, detail: String) throws {
        try session.execute(
            "UPDATE errands SET attempts = attempts + 1, state = 1, detail = ?1 WHERE sequence = ?2 AND state = 0",
            [.text(detail), .integer(sequence)])
    }

    /// Whether the task still has to run: not if it was withdrawn or completed since.
    public func isWaiting(_ sequence: Int64) throws -> Bool {
        try session.first("SELECT 1 FROM errands WHERE sequence = ?1 AND state = 0", [.integer(sequence)]) { _ in }
            != nil
    }

    /// Withdraws the task to finish the transaction.
    public func withdrawFinish(transaction sequence: Int64) throws {
        try session.execute(
            "DELETE FROM errands WHERE transaction_sequence = ?1 AND kind = 1", [.integer(sequence)])
    }

    /// Removes a completed task.
    public func remove(_ sequence: Int64) throws {
        try session.execute("DELETE FROM errands WHERE sequence = ?1", [.integer(sequence)])
    }

    /// How many tasks wait, and since when the oldest is due.
    public func waiting() throws -> (count: Int64, oldest: Instant?) {
        try session.first("SELECT count(*) AS count, min(due_at) AS oldest FROM errands WHERE state = 0", []) { row in
            (row.integer("count"), row.optionalInstant("oldest"))
        } ?? (0, nil)
    }

    private static func read(_ row: any Row) throws -> Stored {
        let kind: Kind
        switch row.integer("kind") {
        case 1: kind = .finish
        case 2: kind = .token(try row.uniqueID("token"))
        default: throw row.unreadable("an errand")
        }
        return Stored(
            sequence: row.integer("sequence"), kind: kind, transactionSequence: row.integer("transaction_sequence"),
            transactionID: TransactionID(row.text("id")), originalID: TransactionID(row.text("original_id")),
            productID: ProductID(row.text("product")), isSubscription: row.integer("is_subscription") != 0,
            environment: try row.environment("environment"), attempts: row.integer("attempts"),
            dueAt: row.instant("due_at"),
            isWaiting: row.integer("state") == 0, detail: row.text("detail"))
    }
}
