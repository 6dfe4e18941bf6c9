import TillBilling
import TillSQL

extension Schema {
    /// Reminders for customers and when they are due. Rows move when the service is extended and are deleted when it is
    /// revoked. A sent reminder is an event in the outbox; the event's body names the service.
    static let reminders: StaticString = """
        CREATE TABLE reminders (
            row_id INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL,
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            subject TEXT NOT NULL,
            kind TEXT NOT NULL,
            entitlement TEXT NOT NULL,
            product TEXT NOT NULL,
            expires_at INTEGER NOT NULL,
            renews INTEGER NOT NULL CHECK (renews IN (0, 1)),
            due_at INTEGER NOT NULL,
            sent_at INTEGER,
            UNIQUE (environment, customer_id, subject, kind)
        ) STRICT;
        CREATE INDEX reminders_due ON reminders (due_at, row_id) WHERE sent_at IS NULL;
        """
}

/// `reminders`: pending and sent reminders about the end of customers' services.
public struct ReminderTable {
    private static let columns: Columns = """
        environment, customer_id, subject, kind, entitlement, product, expires_at, renews, due_at, sent_at
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let environment: StoreEnvironment
        public let userID: UserID
        public let reminder: Reminder
        /// Nil while it is not sent.
        public let sentAt: Instant?
    }

    /// All reminders of a user, sent or not, by due time.
    public func list(user: UserID, in environment: StoreEnvironment) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns, userOf: "reminders") FROM reminders WHERE environment = ?1 AND \
            customer_id = \(customer: 2) ORDER BY due_at, row_id LIMIT 5000
            """, [environment.column, .text(user.text)], Self.read)
    }

    /// The reminders of one service of a user.
    func list(user: UserID, subject: String, in environment: StoreEnvironment) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns, userOf: "reminders") FROM reminders WHERE environment = ?1 AND \
            customer_id = \(customer: 2) AND subject = ?3 ORDER BY due_at, row_id
            """, [environment.column, .text(user.text), .text(subject)], Self.read)
    }

    /// The due reminders that are not sent, the longest overdue first.
    public func due(at now: Instant, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns, userOf: "reminders") FROM reminders WHERE sent_at IS NULL AND due_at <= \
            ?1 ORDER BY due_at, row_id LIMIT ?2
            """, [.instant(now), .integer(Int64(limit))], Self.read)
    }

    /// Sets a reminder, and replaces the one of the same subject and kind, if any.
    public func set(_ reminder: Reminder, for user: UserID, in environment: StoreEnvironment) throws {
        let end = reminder.end
        try connection.write(
            """
            INSERT INTO reminders (\(Self.columns)) VALUES (?1, \(customer: 2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
            ON CONFLICT (environment, customer_id, subject, kind) DO UPDATE \
            SET entitlement = excluded.entitlement, product = excluded.product, expires_at = excluded.expires_at, \
            renews = excluded.renews, due_at = excluded.due_at, sent_at = NULL
            """,
            [
                environment.column, .text(user.text), .text(end.subject), .text(reminder.kind.name),
                .text(end.entitlement), .text(end.productID.text), .instant(end.expiresAt), .flag(end.renews),
                .instant(reminder.dueAt), .null,
            ])
    }

    public func markSent(_ rowID: Int64, at now: Instant) throws {
        try connection.write(
            "UPDATE reminders SET sent_at = ?1 WHERE row_id = ?2", [.instant(now), .integer(rowID)])
    }

    public func remove(_ rowID: Int64) throws {
        try connection.write("DELETE FROM reminders WHERE row_id = ?1", [.integer(rowID)])
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let kind = Reminder.Kind(name: row.text("kind")) else { throw row.unreadable("a reminder") }
        let end = ServiceEnd(
            subject: row.text("subject"), entitlement: row.text("entitlement"),
            productID: ProductID(row.text("product")),
            expiresAt: row.instant("expires_at"), renews: row.integer("renews") != 0)
        return Stored(
            rowID: row.integer("row_id"), environment: try row.environment("environment"),
            userID: UserID(row.text("user_id")),
            reminder: Reminder(end: end, kind: kind, dueAt: row.instant("due_at")),
            sentAt: row.optionalInstant("sent_at"))
    }
}
