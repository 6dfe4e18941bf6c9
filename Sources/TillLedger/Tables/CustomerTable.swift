import TillBilling
import TillSQL

extension Schema {
    /// What kind of customer each user id is: `CustomerKind`. A row is written when a user is first seen, not when
    /// something is granted.
    static let customers: StaticString = """
        CREATE TABLE customers (
            user_id TEXT PRIMARY KEY,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
            first_seen INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}

/// `customers`, and what else the ledger knows of users as such.
public struct CustomerTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    /// Nil for a user who was never seen.
    public func kind(of user: UserID) throws -> CustomerKind? {
        try session.first("SELECT kind FROM customers WHERE user_id = ?1", [.text(user.text)]) { row in
            guard let kind = CustomerKind(rawValue: row.integer("kind")) else {
                throw row.unreadable("a kind of customer")
            }
            return kind
        }
    }

    /// What a user counts as. Tokens are recorded when they are seen, so who has something and is not recorded was
    /// named by a backend.
    public func kind(of user: UserID, under terms: GuestTerms) throws -> CustomerKind? {
        if let kind = try kind(of: user) { return kind }
        return try hasRows(user) ? terms.kind(named: user) : nil
    }

    /// Writes down as what a user was seen, if that says more than what is there. A token makes nobody a guest whom a
    /// backend named before.
    public func record(_ user: UserID, as seen: CustomerKind, under terms: GuestTerms, at now: Instant) throws {
        guard let known = try kind(of: user) else {
            let wasNamed = try seen == .guest && hasRows(user)
            let first = wasNamed ? terms.kind(named: user) : seen
            try session.execute(
                "INSERT INTO customers (user_id, kind, first_seen) VALUES (?1, ?2, ?3)",
                [.text(user.text), .integer(first.rawValue), .instant(now)])
            return
        }
        guard known.changes(to: seen) else { return }
        try session.execute(
            "UPDATE customers SET kind = ?1 WHERE user_id = ?2", [.integer(seen.rawValue), .text(user.text)])
    }

    /// Writes down that a backend named a user, in the commit of what it said about that user. Once a user is recorded
    /// it writes nothing.
    public func recordNamed(_ user: UserID, under terms: GuestTerms, at now: Instant) throws {
        try record(user, as: terms.kind(named: user), under: terms, at: now)
    }

    private func hasRows(_ user: UserID) throws -> Bool {
        try isKnown(user) || !AccountTokenTable(session).list(of: user, limit: 1).isEmpty
    }

    /// Whether any row about what a user has or did is in the ledger. That somebody only read says nothing.
    public func isKnown(_ user: UserID) throws -> Bool {
        try session.first(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM orders WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM postings \
            WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM holders WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM consents \
            WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM claims WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM guests \
            WHERE guest = ?1) OR EXISTS (SELECT 1 FROM transfers WHERE from_user = ?1) OR EXISTS (SELECT 1 \
            FROM transfers WHERE to_user = ?1)
            """, [.text(user.text)]
        ) { _ in true } ?? false
    }
}
