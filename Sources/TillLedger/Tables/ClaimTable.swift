import TillBilling
import TillSQL

extension Schema {
    /// Who claimed what, whatever became of it. State 0 waits for Apple, 1 was answered, 2 is of no order of this app.
    static let claims: StaticString = """
        CREATE TABLE claims (
            sequence INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            user TEXT NOT NULL,
            order_number TEXT,
            transaction_sequence INTEGER REFERENCES transactions (sequence),
            actor TEXT NOT NULL,
            operator TEXT,
            reason TEXT,
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            answer TEXT,
            at INTEGER NOT NULL,
            ended_at INTEGER,
            CHECK ((state = 0) = (ended_at IS NULL)),
            CHECK ((order_number IS NULL) = (transaction_sequence IS NOT NULL)),
            CHECK (transaction_sequence IS NULL OR (operator IS NOT NULL AND reason IS NOT NULL))
        ) STRICT;
        CREATE INDEX claims_by_user ON claims (user, sequence);
        CREATE INDEX claims_due ON claims (due_at, sequence) WHERE state = 0;
        """
}

extension Schema {
    /// Whether a claim is the acceptance of a purchase by the user whose order its token names, and an index that finds
    /// the guests of an account: their orders are the account's.
    static let acceptances: StaticString = """
        ALTER TABLE claims ADD COLUMN is_acceptance INTEGER NOT NULL DEFAULT 0 CHECK (is_acceptance IN (0, 1));
        CREATE INDEX guests_by_account ON guests (account);
        """
}

/// `claims`: every attempt to get something out of quarantine, by Apple's order number, by the word of the user whose
/// order it is paid under, or by an operator's (U1).
public struct ClaimTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public enum State: Int64, Sendable, Hashable {
        /// Apple is still to be asked.
        case waiting = 0
        case answered = 1
        /// Apple knows no order of that number for this app.
        case unknown = 2
    }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let id: UniqueID
        public let user: UserID
        /// Apple's, as the customer typed it; nil for an operator's claim and for an acceptance.
        public let orderNumber: String?
        /// Who asked, as in evidence.
        public let actor: String
        public let state: State
        /// How often Apple was asked in vain.
        public let attempts: Int64
        /// Why it waits; for operators, in English.
        public let detail: String
        /// What became of each transaction, as JSON.
        public let answer: String?
        public let at: Instant
        public let endedAt: Instant?
        /// When Apple is to be asked about it.
        public let dueAt: Instant
    }

    /// A customer's claim by Apple's order number, due at `due` for the job that asks again.
    public func insert(
        _ id: UniqueID, of user: UserID, orderNumber: String, by actor: String, at now: Instant, due: Instant
    ) throws -> Stored {
        let sequence = try session.insert(
            """
            INSERT INTO claims (id, user, order_number, actor, state, attempts, due_at, detail, at) \
            VALUES (?, ?, ?, ?, 0, 0, ?, '', ?)
            """,
            [.id(id), .text(user.text), .text(orderNumber), .text(actor), .instant(due), .instant(now)])
        return Stored(
            sequence: sequence, id: id, user: user, orderNumber: orderNumber, actor: actor, state: .waiting,
            attempts: 0, detail: "", answer: nil, at: now, endedAt: nil, dueAt: due)
    }

    /// An operator's decision about one transaction, and what became of it.
    public func insert(
        _ id: UniqueID, of user: UserID, transaction sequence: Int64, by actor: String, operatorName: String,
        reason: String, answer: String, at now: Instant
    ) throws {
        try session.execute(
            """
            INSERT INTO claims (id, user, transaction_sequence, actor, operator, reason, state, attempts, due_at, \
            detail, answer, at, ended_at) VALUES (?, ?, ?, ?, ?, ?, 1, 0, ?8, '', ?7, ?8, ?8)
            """,
            [
                .id(id), .text(user.text), .integer(sequence), .text(actor), .text(operatorName), .text(reason),
                .text(answer), .instant(now),
            ])
    }

    /// A user's acceptance of one transaction, and what became of it.
    public func insert(
        _ id: UniqueID, acceptanceOf transaction: Int64, by user: UserID, actor: String, answer: String,
        at now: Instant
    ) throws -> Stored {
        let sequence = try session.insert(
            """
            INSERT INTO claims (id, user, transaction_sequence, actor, operator, reason, state, attempts, due_at, \
            detail, answer, at, ended_at, is_acceptance) \
            VALUES (?, ?, ?, ?4, ?4, 'accepted', 1, 0, ?6, '', ?5, ?6, ?6, 1)
            """,
            [.id(id), .text(user.text), .integer(transaction), .text(actor), .text(answer), .instant(now)])
        return Stored(
            sequence: sequence, id: id, user: user, orderNumber: nil, actor: actor, state: .answered, attempts: 0,
            detail: "", answer: answer, at: now, endedAt: now, dueAt: now)
    }

    /// A user's acceptance of one transaction, if there is one.
    public func acceptance(of transaction: Int64, by user: UserID) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, id, user, order_number, actor, state, attempts, detail, answer, at, ended_at, due_at \
            FROM claims WHERE user = ? AND transaction_sequence = ? AND is_acceptance = 1 \
            ORDER BY sequence DESC LIMIT 1
            """, [.text(user.text), .integer(transaction)], Self.read)
    }

    public func find(_ id: UniqueID) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, id, user, order_number, actor, state, attempts, detail, answer, at, ended_at, due_at \
            FROM claims WHERE id = ?
            """, [.id(id)], Self.read)
    }

    /// The claim of a user for an order number that still waits, if there is one.
    public func waiting(of user: UserID, orderNumber: String) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, id, user, order_number, actor, state, attempts, detail, answer, at, ended_at, due_at \
            FROM claims WHERE user = ? AND order_number = ? AND state = 0 ORDER BY sequence DESC LIMIT 1
            """, [.text(user.text), .text(orderNumber)], Self.read)
    }

    /// How many order numbers a user has tried since then.
    public func count(of user: UserID, since instant: Instant) throws -> Int64 {
        try session.first(
            "SELECT count(*) FROM claims WHERE user = ? AND order_number IS NOT NULL AND at > ?",
            [.text(user.text), .instant(instant)]
        ) { $0.integer(0) } ?? 0
    }

    /// A user's, newest first, from before a sequence.
    public func list(of user: UserID, before sequence: Int64, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, id, user, order_number, actor, state, attempts, detail, answer, at, ended_at, due_at \
            FROM claims WHERE user = ? AND (order_number IS NOT NULL OR is_acceptance = 1) AND sequence < ? \
            ORDER BY sequence DESC LIMIT ?
            """, [.text(user.text), .integer(sequence), .integer(Int64(limit))], Self.read)
    }

    /// Those about which Apple is to be asked (again). The users take turns, and of each the longest overdue comes
    /// first; of all that are due the thousand that are longest overdue are looked at.
    public func due(at now: Instant, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT c.sequence, c.id, c.user, c.order_number, c.actor, c.state, c.attempts, c.detail, c.answer, c.at, \
            c.ended_at, c.due_at FROM (SELECT sequence, due_at, \
            row_number() OVER (PARTITION BY user ORDER BY due_at, sequence) AS turn FROM \
            (SELECT sequence, due_at, user FROM claims WHERE state = 0 AND due_at <= ? ORDER BY due_at, sequence \
            LIMIT 1000) ORDER BY turn, due_at, sequence LIMIT ?) d \
            CROSS JOIN claims c ON c.sequence = d.sequence ORDER BY d.turn, d.due_at, d.sequence
            """, [.instant(now), .integer(Int64(limit))], Self.read)
    }

    public func postpone(_ sequence: Int64, until due: Instant, detail: String) throws {
        try session.execute(
            "UPDATE claims SET attempts = attempts + 1, due_at = ?, detail = ? WHERE sequence = ? AND state = 0",
            [.instant(due), .text(detail), .integer(sequence)])
    }

    public func end(_ sequence: Int64, _ state: State, answer: String, at now: Instant) throws {
        try session.execute(
            "UPDATE claims SET state = ?, answer = ?, detail = '', ended_at = ? WHERE sequence = ? AND state = 0",
            [.integer(state.rawValue), .text(answer), .instant(now), .integer(sequence)])
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = State(rawValue: row.integer(5)) else { throw row.unreadable("the state of a claim") }
        return Stored(
            sequence: row.integer(0), id: try row.uniqueID(1), user: UserID(row.text(2)),
            orderNumber: row.optionalText(3), actor: row.text(4), state: state, attempts: row.integer(6),
            detail: row.text(7), answer: row.optionalText(8), at: row.instant(9), endedAt: row.optionalInstant(10),
            dueAt: row.instant(11))
    }
}
