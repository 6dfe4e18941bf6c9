import TillBilling
import TillSQL

/// What will happen by itself, and when.
enum Agenda {
    /// What is due. Each subject has one date of each kind at most.
    enum Kind: String {
        /// A subscription has something to do: renew, try again, end its grace, expire, raise its price.
        case subscription
        /// Apple decides about a request for a refund.
        case refund
        /// Nobody approved a purchase in time (Ask to Buy).
        case approval
        /// A mass extension goes on.
        case massExtension
        /// Subscribers of a product are told of a higher price.
        case priceIncrease
    }

    struct Entry: Sendable {
        var kind: Kind
        /// The original transaction, the refund request, the transaction, the mass extension, the increase: a number of
        /// that kind.
        var subject: Int64
        var due: Instant
    }

    /// Sets the date, in place of the one there was; nil takes it off.
    static func set(_ kind: Kind, _ subject: Int64, at due: Instant?, _ session: any Connection) throws {
        guard let due else {
            try session.execute(
                "DELETE FROM agenda WHERE kind = ? AND subject = ?", [.text(kind.rawValue), .integer(subject)])
            return
        }
        try session.execute(
            """
            INSERT INTO agenda (kind, subject, due_at) VALUES (?, ?, ?)
            ON CONFLICT (kind, subject) DO UPDATE SET due_at = excluded.due_at
            """, [.text(kind.rawValue), .integer(subject), .integer(due.milliseconds)])
    }

    /// The first entry that is due by `end`. What is due at one moment comes in the order of its subjects.
    static func next(by end: Instant, _ session: any Connection) throws -> Entry? {
        let found = try session.first(
            """
            SELECT kind, subject, due_at FROM agenda WHERE due_at <= ? ORDER BY due_at, subject, kind LIMIT 1
            """, [.integer(end.milliseconds)], read)
        return found ?? nil
    }

    /// The first entries of all, in the order in which they will happen.
    static func upcoming(limit: Int, _ session: any Connection) throws -> [Entry] {
        try session.query(
            "SELECT kind, subject, due_at FROM agenda ORDER BY due_at, subject, kind LIMIT ?", [.integer(Int64(limit))],
            read
        ).compactMap { $0 }
    }

    static func date(_ kind: Kind, _ subject: Int64, _ session: any Connection) throws -> Instant? {
        try session.first(
            "SELECT due_at FROM agenda WHERE kind = ? AND subject = ?", [.text(kind.rawValue), .integer(subject)]
        ) { Instant(milliseconds: $0.integer("due_at")) }
    }

    /// Nil for a kind that this version doesn't know.
    private static func read(_ row: any Row) -> Entry? {
        Kind(rawValue: row.text("kind")).map {
            Entry(kind: $0, subject: row.integer("subject"), due: Instant(milliseconds: row.integer("due_at")))
        }
    }
}
