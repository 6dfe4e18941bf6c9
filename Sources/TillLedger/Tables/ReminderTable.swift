import TillBilling
import TillSQL

extension Schema {
    /// What a customer is to be reminded of and when. Rows move when service is extended and go when it is taken back;
    /// what was told is an event in the outbox, whose body says what it is about.
    static let reminders: StaticString = """
        CREATE TABLE reminders (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            user TEXT NOT NULL,
            subject TEXT NOT NULL,
            kind TEXT NOT NULL,
            entitlement TEXT NOT NULL,
            product TEXT NOT NULL,
            expires_at INTEGER NOT NULL,
            renews INTEGER NOT NULL CHECK (renews IN (0, 1)),
            due_at INTEGER NOT NULL,
            sent_at INTEGER,
            UNIQUE (environment, user, subject, kind)
        ) STRICT;
        CREATE INDEX reminders_due ON reminders (due_at, sequence) WHERE sent_at IS NULL;

        ALTER TABLE outbox ADD COLUMN body TEXT;
        """
}

/// `reminders`: what customers are to be told about the end of their service, and what they were told.
public struct ReminderTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let environment: Environment
        public let userID: UserID
        public let reminder: Reminder
        /// Nil as long as nobody was told.
        public let sentAt: Instant?
    }

    /// All of a user's, told or not, by when they are due.
    public func list(user: UserID, in environment: Environment) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, environment, user, subject, kind, entitlement, product, expires_at, renews, due_at, \
            sent_at FROM reminders WHERE environment = ? AND user = ? ORDER BY due_at, sequence LIMIT 5000
            """, [environment.column, .text(user.text)], Self.read)
    }

    /// Those whose moment has come and nobody was told of, the longest overdue first.
    public func due(at now: Instant, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, environment, user, subject, kind, entitlement, product, expires_at, renews, due_at, \
            sent_at FROM reminders WHERE sent_at IS NULL AND due_at <= ? ORDER BY due_at, sequence LIMIT ?
            """, [.instant(now), .integer(Int64(limit))], Self.read)
    }

    /// Sets a reminder for its moment, instead of the one of the same end and kind that there may be.
    public func set(_ reminder: Reminder, for user: UserID, in environment: Environment) throws {
        let end = reminder.end
        try session.execute(
            """
            INSERT INTO reminders (environment, user, subject, kind, entitlement, product, expires_at, renews, due_at) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (environment, user, subject, kind) DO UPDATE SET \
            entitlement = excluded.entitlement, product = excluded.product, expires_at = excluded.expires_at, \
            renews = excluded.renews, due_at = excluded.due_at, sent_at = NULL
            """,
            [
                environment.column, .text(user.text), .text(end.subject), .text(reminder.kind.name),
                .text(end.entitlement), .text(end.productID.text), .instant(end.expiresAt), .flag(end.renews),
                .instant(reminder.dueAt),
            ])
    }

    public func markSent(_ sequence: Int64, at now: Instant) throws {
        try session.execute(
            "UPDATE reminders SET sent_at = ? WHERE sequence = ?", [.instant(now), .integer(sequence)])
    }

    public func remove(_ sequence: Int64) throws {
        try session.execute("DELETE FROM reminders WHERE sequence = ?", [.integer(sequence)])
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let kind = Reminder.Kind(name: row.text(4)) else { throw row.unreadable("a reminder") }
        let end = ServiceEnd(
            subject: row.text(3), entitlement: row.text(5), productID: ProductID(row.text(6)),
            expiresAt: row.instant(7), renews: row.integer(8) != 0)
        return Stored(
            sequence: row.integer(0), environment: try row.environment(1), userID: UserID(row.text(2)),
            reminder: Reminder(end: end, kind: kind, dueAt: row.instant(9)), sentAt: row.optionalInstant(10))
    }
}
