import TillBilling
import TillSQL

extension Schema {
    /// Apple's requests for consumption information about refunds, and the customers' consents to answer.
    static let consumption: StaticString = """
        CREATE TABLE consents (
            row_id INTEGER PRIMARY KEY,
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            given INTEGER NOT NULL CHECK (given IN (0, 1)),
            caller_kind TEXT NOT NULL,
            caller_customer_id INTEGER REFERENCES customers (customer_id),
            caller_key TEXT,
            at INTEGER NOT NULL,
            CHECK ((caller_kind = 'user') = (caller_customer_id IS NOT NULL))
        ) STRICT;
        CREATE INDEX consents_by_user ON consents (customer_id, row_id);
        CREATE TRIGGER consents_are_never_edited BEFORE UPDATE ON consents
            BEGIN SELECT RAISE(ABORT, 'consents are never edited'); END;
        CREATE TRIGGER consents_are_never_deleted BEFORE DELETE ON consents
            BEGIN SELECT RAISE(ABORT, 'consents are never deleted'); END;

        CREATE TABLE consumption_requests (
            row_id INTEGER PRIMARY KEY,
            notification_row_id INTEGER NOT NULL UNIQUE REFERENCES notifications (row_id),
            environment INTEGER NOT NULL,
            transaction_id TEXT NOT NULL,
            reason TEXT,
            requested_at INTEGER NOT NULL,
            answer_by INTEGER NOT NULL,
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            answer TEXT,
            ended_at INTEGER,
            CHECK ((state = 0) = (ended_at IS NULL))
        ) STRICT;
        CREATE INDEX consumption_requests_due ON consumption_requests (due_at) WHERE state = 0;
        """
}

/// `consumption_requests`: Apple's requests about purchases for which a customer wants a refund, and the answers.
public struct ConsumptionTable {
    private static let columns: Columns = """
        environment, transaction_id, reason, requested_at, state, attempts, detail, answer, ended_at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public enum State: Int64, Sendable, Hashable, CaseIterable {
        /// Not answered yet; `detail` says what it waits for.
        case waiting = 0
        case answered = 1
        /// The window has ended, or there is nothing left to answer; `detail` says why it was not answered.
        case unanswered = 2
        /// Apple refused the answer, and sending it again would not help.
        case refused = 3
    }

    public struct Request: Sendable, Hashable {
        public let environment: StoreEnvironment
        public let transactionID: TransactionID
        /// The reason that the customer gave to Apple.
        public let reason: String?
        public let requestedAt: Instant

        public init(
            environment: StoreEnvironment, transactionID: TransactionID, reason: String?, requestedAt: Instant
        ) {
            self.environment = environment
            self.transactionID = transactionID
            self.reason = reason
            self.requestedAt = requestedAt
        }

        /// Apple accepts answers for twelve hours (facts/server-api §5).
        public var answerBy: Instant { requestedAt.adding(seconds: 12 * 3_600) }
    }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let request: Request
        public let state: State
        /// How many attempts found no answer to send, or failed to send it.
        public let attempts: Int64
        public let detail: String
        /// The answer that was sent, as JSON.
        public let answer: String?
        /// When it was answered or given up.
        public let endedAt: Instant?
    }

    /// Stores a request, due at once. Storing the same notification again changes nothing.
    ///
    /// - Returns: whether it is new.
    public func insert(_ request: Request, notification rowID: Int64) throws -> Bool {
        try connection.insertIfNew(
            """
            INSERT INTO consumption_requests (\(Self.columns), notification_row_id, answer_by, due_at) \
            VALUES (?1, ?2, ?3, ?4, 0, 0, '', NULL, NULL, ?5, ?6, ?4) \
            ON CONFLICT (notification_row_id) DO NOTHING
            """,
            [
                request.environment.column, .text(request.transactionID.text), .optional(request.reason),
                .instant(request.requestedAt), .integer(rowID), .instant(request.answerBy),
            ]) != nil
    }

    /// The due requests: production first, and in each environment the longest overdue first.
    public func due(at now: Instant, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM consumption_requests WHERE state = 0 AND due_at <= ?1 \
            ORDER BY environment, due_at, row_id LIMIT ?2
            """, [.instant(now), .integer(Int64(limit))], Self.read)
    }

    /// Newest first, from before a row id.
    public func list(before rowID: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns) FROM consumption_requests WHERE row_id < ?1 ORDER BY row_id DESC \
            LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))], Self.read)
    }

    /// Records that no answer could be sent now.
    public func postpone(_ rowID: Int64, until due: Instant, detail: String) throws {
        try connection.write(
            """
            UPDATE consumption_requests SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE row_id = ?3 \
            AND state = 0
            """, [.instant(due), .text(detail), .integer(rowID)])
    }

    public func end(_ rowID: Int64, _ state: State, answer: String?, detail: String, at: Instant) throws {
        try connection.write(
            """
            UPDATE consumption_requests SET state = ?1, answer = ?2, detail = ?3, ended_at = ?4 WHERE row_id = ?5 \
            AND state = 0
            """,
            [.integer(state.rawValue), .optional(answer), .text(detail), .instant(at), .integer(rowID)])
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = State(rawValue: row.integer("state")) else {
            throw row.unreadable("the state of a consumption request")
        }
        return Stored(
            rowID: row.integer("row_id"),
            request: Request(
                environment: try row.environment("environment"),
                transactionID: TransactionID(row.text("transaction_id")),
                reason: row.optionalText("reason"), requestedAt: row.instant("requested_at")),
            state: state, attempts: row.integer("attempts"), detail: row.text("detail"),
            answer: row.optionalText("answer"),
            endedAt: row.optionalInstant("ended_at"))
    }
}
