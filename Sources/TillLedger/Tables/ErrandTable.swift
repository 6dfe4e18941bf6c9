import TillBilling
import TillSQL

extension Schema {
    /// What Apple is still to be told about transactions. Kinds are 1 finish, 2 token; state 0 waits, 1 was refused for
    /// good. What is done goes, so the table is as small as what is left to do.
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

/// `errands`: what Apple is still to be told, each written in the commit that gives the reason for it.
public struct ErrandTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public enum Kind: Sendable, Hashable {
        /// Finish the transaction, should the phone not have done so (U2).
        case finish
        /// Set this token on its original transaction (U1).
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
        /// How often Apple was asked in vain.
        public let attempts: Int64
        public let dueAt: Instant
        /// False: Apple refused it for good, and `detail` says why.
        public let isWaiting: Bool
        /// For operators, in English.
        public let detail: String
    }

    /// One of a kind for each transaction: a second one changes nothing.
    public func insert(_ kind: Kind, transaction sequence: Int64, due: Instant) throws {
        var token: OrderID?
        if case .token(let order) = kind { token = order }
        _ = try session.insertIfNew(
            """
            INSERT INTO errands (kind, transaction_sequence, token, state, attempts, due_at, detail) \
            VALUES (?, ?, ?, 0, 0, ?, '') ON CONFLICT (transaction_sequence, kind) DO NOTHING
            """, [.integer(kind.number), .integer(sequence), .optional(token), .instant(due)])
    }

    /// Those of an environment whose time has come. The customers take turns, and of each the longest overdue comes
    /// first; of all that are due the thousand that are longest overdue are looked at.
    public func due(in environment: Environment, at now: Instant, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT e.sequence, e.kind, e.token, e.transaction_sequence, t.id, t.original_id, t.environment, \
            e.attempts, e.due_at, e.state, e.detail, t.product, coalesce(t.type = 3, t.expires_at IS NOT NULL) \
            FROM (SELECT sequence, due_at, row_number() OVER (PARTITION BY user ORDER BY due_at, sequence) AS turn \
            FROM (SELECT w.sequence, w.due_at, coalesce(g.user, w.sequence) AS user FROM errands w \
            CROSS JOIN transactions a ON a.sequence = w.transaction_sequence \
            LEFT JOIN grants g ON g.transaction_sequence = w.transaction_sequence \
            WHERE w.state = 0 AND w.due_at <= ? AND a.environment = ? ORDER BY w.due_at, w.sequence LIMIT 1000) \
            ORDER BY turn, due_at, sequence LIMIT ?) d \
            CROSS JOIN errands e ON e.sequence = d.sequence \
            CROSS JOIN transactions t ON t.sequence = e.transaction_sequence \
            ORDER BY d.turn, d.due_at, d.sequence
            """, [.instant(now), environment.column, .integer(Int64(limit))], Self.read)
    }

    public func list(transaction sequence: Int64) throws -> [Stored] {
        try session.query(
            """
            SELECT e.sequence, e.kind, e.token, e.transaction_sequence, t.id, t.original_id, t.environment, \
            e.attempts, e.due_at, e.state, e.detail, t.product, coalesce(t.type = 3, t.expires_at IS NOT NULL) \
            FROM errands e \
            CROSS JOIN transactions t ON t.sequence = e.transaction_sequence \
            WHERE e.transaction_sequence = ? ORDER BY e.sequence
            """, [.integer(sequence)], Self.read)
    }

    /// Not now.
    public func postpone(_ sequence: Int64, until due: Instant, detail: String) throws {
        try session.execute(
            "UPDATE errands SET attempts = attempts + 1, due_at = ?, detail = ? WHERE sequence = ? AND state = 0",
            [.instant(due), .text(detail), .integer(sequence)])
    }

    /// Apple refuses it, and asking again would not help.
    public func refuse(_ sequence: Int64, detail: String) throws {
        try session.execute(
            "UPDATE errands SET attempts = attempts + 1, state = 1, detail = ? WHERE sequence = ? AND state = 0",
            [.text(detail), .integer(sequence)])
    }

    /// Whether it is still to be run: what was taken back since, and what is done, is not.
    public func isWaiting(_ sequence: Int64) throws -> Bool {
        try session.first("SELECT 1 FROM errands WHERE sequence = ? AND state = 0", [.integer(sequence)]) { _ in }
            != nil
    }

    /// The transaction is not to be finished after all.
    public func withdrawFinish(transaction sequence: Int64) throws {
        try session.execute(
            "DELETE FROM errands WHERE transaction_sequence = ? AND kind = 1", [.integer(sequence)])
    }

    /// Done.
    public func remove(_ sequence: Int64) throws {
        try session.execute("DELETE FROM errands WHERE sequence = ?", [.integer(sequence)])
    }

    /// How many wait, and since when the oldest is overdue.
    public func waiting() throws -> (count: Int64, oldest: Instant?) {
        try session.first("SELECT count(*), min(due_at) FROM errands WHERE state = 0", []) { row in
            (row.integer(0), row.optionalInstant(1))
        } ?? (0, nil)
    }

    private static func read(_ row: any Row) throws -> Stored {
        let kind: Kind
        switch row.integer(1) {
        case 1: kind = .finish
        case 2: kind = .token(try row.uniqueID(2))
        default: throw row.unreadable("an errand")
        }
        return Stored(
            sequence: row.integer(0), kind: kind, transactionSequence: row.integer(3),
            transactionID: TransactionID(row.text(4)), originalID: TransactionID(row.text(5)),
            productID: ProductID(row.text(11)), isSubscription: row.integer(12) != 0,
            environment: try row.environment(6), attempts: row.integer(7), dueAt: row.instant(8),
            isWaiting: row.integer(9) == 0, detail: row.text(10))
    }
}
