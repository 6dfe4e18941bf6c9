import TillBilling
import TillSQL

extension Schema {
    /// The pending tasks for Apple. Kinds are 1 finish, 2 token; state 0 waits, 1 was permanently refused. Completed
    /// tasks are deleted, so the table holds only open ones.
    static let appleTasks: StaticString = """
        CREATE TABLE apple_tasks (
            row_id INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL CHECK (kind IN (1, 2)),
            transaction_row_id INTEGER NOT NULL REFERENCES transactions (row_id),
            token BLOB CHECK (length(token) = 16),
            state INTEGER NOT NULL CHECK (state IN (0, 1)),
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            UNIQUE (transaction_row_id, kind),
            CHECK ((kind = 2) = (token IS NOT NULL))
        ) STRICT;
        CREATE INDEX apple_tasks_due ON apple_tasks (due_at, row_id) WHERE state = 0;
        """
}

/// `apple_tasks`: the pending tasks for Apple, each written in the commit that causes it.
public struct AppleTaskTable {
    private static let columns: Columns = "kind, token, transaction_row_id, attempts, due_at, state, detail"
    private static let transaction: Columns = """
        t.id, t.original_id, t.environment, t.product, CASE WHEN t.type = 3 OR t.type IS NULL AND t.expires_at IS NOT \
        NULL THEN 1 ELSE 0 END AS is_subscription
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

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
        public let rowID: Int64
        public let kind: Kind
        public let transactionRowID: Int64
        public let transactionID: TransactionID
        public let originalID: TransactionID
        public let productID: ProductID
        public let isSubscription: Bool
        public let environment: StoreEnvironment
        /// How many requests to Apple failed.
        public let attempts: Int64
        public let dueAt: Instant
        /// False: Apple permanently refused it, and `detail` says why.
        public let isWaiting: Bool
        /// For operators, in English.
        public let detail: String
    }

    /// Adds a task; a second one of the same kind for a transaction changes nothing.
    public func insert(_ kind: Kind, transaction rowID: Int64, due: Instant) throws {
        var token: OrderID?
        if case .token(let order) = kind { token = order }
        _ = try connection.insertIfNew(
            """
            INSERT INTO apple_tasks (\(Self.columns)) VALUES (?1, ?2, ?3, 0, ?4, 0, '') \
            ON CONFLICT (transaction_row_id, kind) DO NOTHING
            """, [.integer(kind.number), .optional(token), .integer(rowID), .instant(due)])
    }

    /// The due tasks of an environment, alternating between customers, the longest overdue of each first. Only the
    /// thousand longest overdue are considered.
    public func due(in environment: StoreEnvironment, at now: Instant, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT e.row_id, \(Self.columns, of: "e"), \(Self.transaction) \
            FROM (SELECT row_id, due_at, row_number() OVER (PARTITION BY customer_id, CASE WHEN customer_id IS NULL \
            THEN row_id END ORDER BY due_at, row_id) AS turn FROM (SELECT w.row_id, w.due_at, g.customer_id \
            FROM apple_tasks w CROSS JOIN transactions a ON a.row_id = w.transaction_row_id LEFT JOIN grants g \
            ON g.transaction_row_id = w.transaction_row_id WHERE w.state = 0 AND w.due_at <= ?1 \
            AND a.environment = ?2 ORDER BY w.due_at, w.row_id LIMIT 1000) AS overdue \
            ORDER BY turn, due_at, row_id LIMIT ?3) d CROSS JOIN apple_tasks e ON e.row_id = d.row_id \
            CROSS JOIN transactions t ON t.row_id = e.transaction_row_id ORDER BY d.turn, d.due_at, d.row_id
            """, [.instant(now), environment.column, .integer(Int64(limit))], Self.read)
    }

    public func list(transaction rowID: Int64) throws -> [Stored] {
        try connection.query(
            """
            SELECT e.row_id, \(Self.columns, of: "e"), \(Self.transaction) FROM apple_tasks e CROSS JOIN transactions \
            t ON t.row_id = e.transaction_row_id WHERE e.transaction_row_id = ?1 ORDER BY e.row_id
            """, [.integer(rowID)], Self.read)
    }

    /// Tries again at `due`.
    public func postpone(_ rowID: Int64, until due: Instant, detail: String) throws {
        try connection.write(
            "UPDATE apple_tasks SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE row_id = ?3 AND state = 0",
            [.instant(due), .text(detail), .integer(rowID)])
    }

    /// Records that Apple refused it and that repeating it would not help.
    public func refuse(_ rowID: Int64, detail: String) throws {
        try connection.write(
            "UPDATE apple_tasks SET attempts = attempts + 1, state = 1, detail = ?1 WHERE row_id = ?2 AND state = 0",
            [.text(detail), .integer(rowID)])
    }

    /// Whether the task still has to run: not if it was withdrawn or completed since.
    public func isWaiting(_ rowID: Int64) throws -> Bool {
        try connection.first("SELECT 1 FROM apple_tasks WHERE row_id = ?1 AND state = 0", [.integer(rowID)]) { _ in }
            != nil
    }

    /// Withdraws the task to finish the transaction.
    public func withdrawFinish(transaction rowID: Int64) throws {
        try connection.write(
            "DELETE FROM apple_tasks WHERE transaction_row_id = ?1 AND kind = 1", [.integer(rowID)])
    }

    /// Removes a completed task.
    public func remove(_ rowID: Int64) throws {
        try connection.write("DELETE FROM apple_tasks WHERE row_id = ?1", [.integer(rowID)])
    }

    /// How many tasks wait, and since when the oldest is due.
    public func waiting() throws -> (count: Int64, oldest: Instant?) {
        try connection.first("SELECT count(*) AS count, min(due_at) AS oldest FROM apple_tasks WHERE state = 0", []) {
            row in
            (row.integer("count"), row.optionalInstant("oldest"))
        } ?? (0, nil)
    }

    private static func read(_ row: any Row) throws -> Stored {
        let kind: Kind
        switch row.integer("kind") {
        case 1: kind = .finish
        case 2: kind = .token(try row.uniqueID("token"))
        default: throw row.unreadable("a task for Apple")
        }
        return Stored(
            rowID: row.integer("row_id"), kind: kind, transactionRowID: row.integer("transaction_row_id"),
            transactionID: TransactionID(row.text("id")), originalID: TransactionID(row.text("original_id")),
            productID: ProductID(row.text("product")), isSubscription: row.integer("is_subscription") != 0,
            environment: try row.environment("environment"), attempts: row.integer("attempts"),
            dueAt: row.instant("due_at"),
            isWaiting: row.integer("state") == 0, detail: row.text("detail"))
    }
}
