import TillBilling
import TillSQL

extension Schema {
    /// Every claim, with its result. State 0 waits for Apple, 1 was answered, 2 names no order of this app. An
    /// acceptance is the claim of the user whose order the token of a purchase names.
    static let claims: StaticString = """
        CREATE TABLE claims (
            row_id INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            order_number TEXT,
            transaction_row_id INTEGER REFERENCES transactions (row_id),
            caller_kind TEXT NOT NULL,
            caller_customer_id INTEGER REFERENCES customers (customer_id),
            caller_key TEXT,
            operator TEXT,
            reason TEXT,
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            answer TEXT,
            at INTEGER NOT NULL,
            ended_at INTEGER,
            is_acceptance INTEGER NOT NULL DEFAULT 0 CHECK (is_acceptance IN (0, 1)),
            CHECK ((caller_kind = 'user') = (caller_customer_id IS NOT NULL)),
            CHECK ((state = 0) = (ended_at IS NULL)),
            CHECK ((order_number IS NULL) = (transaction_row_id IS NOT NULL)),
            CHECK (transaction_row_id IS NULL OR (operator IS NOT NULL AND reason IS NOT NULL))
        ) STRICT;
        CREATE INDEX claims_by_user ON claims (customer_id, row_id);
        CREATE INDEX claims_due ON claims (due_at, row_id) WHERE state = 0;
        """
}

/// `claims`: every attempt to release a purchase from quarantine: by Apple's order number, by the acceptance of the
/// user whose order it is paid under, or by an operator's decision.
public struct ClaimTable {
    private static let columns: Columns = """
        id, customer_id, order_number, state, attempts, detail, answer, at, ended_at, due_at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public enum State: Int64, Sendable, Hashable {
        /// Apple has not answered yet.
        case waiting = 0
        case answered = 1
        /// Apple knows no order of that number for this app.
        case unknown = 2
    }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let id: UniqueID
        public let user: UserID
        /// Apple's order number, as the customer typed it; nil for an operator's claim and for an acceptance.
        public let orderNumber: String?
        /// The caller, as in evidence.
        public let actor: String
        public let state: State
        /// How many requests to Apple failed.
        public let attempts: Int64
        /// Why it waits; for operators, in English.
        public let detail: String
        /// The outcome for each transaction, as JSON.
        public let answer: String?
        public let at: Instant
        public let endedAt: Instant?
        /// When Apple is asked about it next.
        public let dueAt: Instant
    }

    /// Records a customer's claim by Apple's order number. The job that asks again takes it up at `due`.
    public func insert(
        _ id: UniqueID, of user: UserID, orderNumber: String, by actor: String, at now: Instant, due: Instant
    ) throws -> Stored {
        let rowID = try connection.insert(
            """
            INSERT INTO claims (\(Self.columns), \(CallerColumns.names)) \
            VALUES (?1, ?2, ?3, 0, 0, '', NULL, ?5, NULL, ?4, ?6, ?7, ?8)
            """,
            [.id(id), try customer(user, now), .text(orderNumber), .instant(due), .instant(now)]
                + CallerColumns(actor, at: now, connection).values)
        return Stored(
            rowID: rowID, id: id, user: user, orderNumber: orderNumber, actor: actor, state: .waiting,
            attempts: 0, detail: "", answer: nil, at: now, endedAt: nil, dueAt: due)
    }

    /// Records an operator's decision about one transaction, and its outcome.
    public func insert(
        _ id: UniqueID, of user: UserID, transaction rowID: Int64, by actor: String, operatorName: String,
        reason: String, answer: String, at now: Instant
    ) throws {
        try connection.write(
            """
            INSERT INTO claims (\(Self.columns), transaction_row_id, operator, reason, \(CallerColumns.names)) \
            VALUES (?1, ?2, NULL, 1, 0, '', ?6, ?7, ?7, ?7, ?3, ?4, ?5, ?8, ?9, ?10)
            """,
            [
                .id(id), try customer(user, now), .integer(rowID), .text(operatorName), .text(reason),
                .text(answer), .instant(now),
            ] + CallerColumns(actor, at: now, connection).values)
    }

    /// Records a user's acceptance of one transaction, and its outcome.
    public func insert(
        _ id: UniqueID, acceptanceOf transaction: Int64, by user: UserID, actor: String, answer: String,
        at now: Instant
    ) throws -> Stored {
        let rowID = try connection.insert(
            """
            INSERT INTO claims (\(Self.columns), transaction_row_id, operator, reason, is_acceptance, \
            \(CallerColumns.names)) \
            VALUES (?1, ?2, NULL, 1, 0, '', ?5, ?6, ?6, ?6, ?3, ?4, 'accepted', 1, ?7, ?8, ?9)
            """,
            [.id(id), try customer(user, now), .integer(transaction), .text(actor), .text(answer), .instant(now)]
                + CallerColumns(actor, at: now, connection).values)
        return Stored(
            rowID: rowID, id: id, user: user, orderNumber: nil, actor: actor, state: .answered, attempts: 0,
            detail: "", answer: answer, at: now, endedAt: now, dueAt: now)
    }

    /// A user's acceptance of one transaction, if there is one.
    public func acceptance(of transaction: Int64, by user: UserID) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns, userOf: "claims"), \(caller: "claims") FROM claims WHERE customer_id = \
            \(customer: 1) AND transaction_row_id = ?2 AND is_acceptance = 1 ORDER BY row_id DESC LIMIT 1
            """, [.text(user.text), .integer(transaction)], Self.read)
    }

    /// Whether an operator gave this transaction to this user.
    public func isDecided(_ transaction: Int64, for user: UserID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM claims WHERE customer_id = \(customer: 1) AND transaction_row_id = ?2 AND is_acceptance = 0 \
            LIMIT 1
            """, [.text(user.text), .integer(transaction)]
        ) { _ in true } ?? false
    }

    public func find(_ id: UniqueID) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns, userOf: "claims"), \(caller: "claims") FROM claims WHERE id = ?1
            """, [.id(id)], Self.read)
    }

    /// The waiting claim of a user for an order number, if there is one.
    public func waiting(of user: UserID, orderNumber: String) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, \(Self.columns, userOf: "claims"), \(caller: "claims") FROM claims WHERE customer_id = \
            \(customer: 1) AND order_number = ?2 AND state = 0 ORDER BY row_id DESC LIMIT 1
            """, [.text(user.text), .text(orderNumber)], Self.read)
    }

    /// How many order numbers a user has tried since an instant.
    public func count(of user: UserID, since instant: Instant) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS count FROM claims WHERE customer_id = \(customer: 1) AND order_number IS NOT NULL AND \
            at > ?2
            """,
            [.text(user.text), .instant(instant)]
        ) { $0.integer("count") } ?? 0
    }

    /// A user's claims, newest first, from before a row id.
    public func list(of user: UserID, before rowID: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns, userOf: "claims"), \(caller: "claims") FROM claims WHERE customer_id = \
            \(customer: 1) AND (order_number IS NOT NULL OR is_acceptance = 1) AND row_id < ?2 ORDER BY row_id \
            DESC LIMIT ?3
            """, [.text(user.text), .integer(rowID), .integer(Int64(limit))], Self.read)
    }

    /// The claims about which Apple is due to be asked, alternating between users, the longest overdue of each first.
    /// Only the thousand longest overdue are considered.
    public func due(at now: Instant, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT m.row_id, \(Self.columns, userOf: "m"), \(caller: "m") FROM (SELECT row_id, due_at, \
            row_number() OVER (PARTITION BY customer_id ORDER BY due_at, row_id) AS turn FROM (SELECT row_id, \
            due_at, customer_id FROM claims WHERE state = 0 AND due_at <= ?1 ORDER BY due_at, row_id LIMIT 1000) AS \
            overdue ORDER BY turn, due_at, row_id LIMIT ?2) d CROSS JOIN claims m ON m.row_id = d.row_id ORDER \
            BY d.turn, d.due_at, d.row_id
            """, [.instant(now), .integer(Int64(limit))], Self.read)
    }

    public func postpone(_ rowID: Int64, until due: Instant, detail: String) throws {
        try connection.write(
            "UPDATE claims SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE row_id = ?3 AND state = 0",
            [.instant(due), .text(detail), .integer(rowID)])
    }

    public func end(_ rowID: Int64, _ state: State, answer: String, at now: Instant) throws {
        try connection.write(
            "UPDATE claims SET state = ?1, answer = ?2, detail = '', ended_at = ?3 WHERE row_id = ?4 AND state = 0",
            [.integer(state.rawValue), .text(answer), .instant(now), .integer(rowID)])
    }

    private func customer(_ user: UserID, _ now: Instant) throws -> SQLValue {
        .integer(try CustomerTable(connection).id(of: user, at: now))
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = State(rawValue: row.integer("state")) else { throw row.unreadable("the state of a claim") }
        return Stored(
            rowID: row.integer("row_id"), id: try row.uniqueID("id"), user: UserID(row.text("user_id")),
            orderNumber: row.optionalText("order_number"), actor: CallerColumns.name(row) ?? "", state: state,
            attempts: row.integer("attempts"),
            detail: row.text("detail"), answer: row.optionalText("answer"), at: row.instant("at"),
            endedAt: row.optionalInstant("ended_at"),
            dueAt: row.instant("due_at"))
    }
}
