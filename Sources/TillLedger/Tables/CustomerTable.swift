import TillBilling
import TillSQL

extension Schema {
    /// The apps of a ledger: one today. Rows that belong to an app name it from the start.
    ///
    /// Other tables refer to a customer only by number, so rows that are never edited contain no user name, and erasing
    /// a customer changes one row. `kind` is how a user was identified, null until then; `merged_into` is the account
    /// that a guest became part of; `last_event` numbers the events of a customer without gaps.
    static let customers: StaticString = """
        CREATE TABLE apps (
            app_id INTEGER PRIMARY KEY,
            bundle_id TEXT UNIQUE
        ) STRICT;
        INSERT INTO apps (app_id) VALUES (1);

        CREATE TABLE customers (
            customer_id INTEGER PRIMARY KEY,
            app_id INTEGER NOT NULL DEFAULT 1 REFERENCES apps (app_id),
            user_id TEXT NOT NULL,
            kind INTEGER CHECK (kind BETWEEN 0 AND 3),
            merged_into INTEGER REFERENCES customers (customer_id) CHECK (merged_into <> customer_id),
            last_event INTEGER NOT NULL DEFAULT 0,
            first_seen INTEGER NOT NULL,
            erased_at INTEGER,
            UNIQUE (app_id, user_id)
        ) STRICT;
        CREATE INDEX customers_merged ON customers (merged_into) WHERE merged_into IS NOT NULL;
        """
}

extension SQL.StringInterpolation {
    /// The number of the customer whose user id is a parameter; null for one that the ledger has never seen.
    package mutating func appendInterpolation(customer parameter: Int) {
        appendLiteral("(SELECT c.customer_id FROM customers c WHERE c.app_id = 1 AND c.user_id = ")
        appendInterpolation(parameter: parameter)
        appendLiteral(" )")
    }

    /// A table's columns, and the user id of its customer as `user_id`.
    package mutating func appendInterpolation(_ columns: Columns, userOf table: StaticString) {
        appendInterpolation(columns, of: table)
        appendLiteral(", (SELECT c.user_id FROM customers c WHERE c.customer_id = ")
        let customer: Columns = "customer_id"
        appendInterpolation(customer, of: table)
        appendLiteral(") AS user_id")
    }

    /// The user id of the customer whose number is in `column`, which is written with its table.
    package mutating func appendInterpolation(user column: StaticString) {
        appendLiteral("(SELECT c.user_id FROM customers c WHERE c.customer_id = ")
        appendLiteral(column)
        appendLiteral(" )")
    }
}

/// `customers`, and what else the ledger knows about users themselves.
public struct CustomerTable {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// The number of a user, whose row is created if missing.
    func id(of user: UserID, at now: Instant) throws -> Int64 {
        if let known = try number(of: user) { return known }
        return try insertDrawn(user, nil, at: now)
            ?? connection.insert(
                "INSERT INTO customers (user_id, first_seen) VALUES (?1, ?2)", [.text(user.text), .instant(now)])
    }

    /// Inserts the row of a user who has none, for databases that draw its number without a round trip of its own.
    private func insertDrawn(_ user: UserID, _ kind: CustomerKind?, at now: Instant) throws -> Int64? {
        guard let id = try connection.drawKey(of: "customers") else { return nil }
        try connection.write(
            "INSERT INTO customers (customer_id, user_id, kind, first_seen) VALUES (\(marks: 4))",
            [.integer(id), .text(user.text), .optional(kind?.rawValue), .instant(now)])
        let row = Self.finding(user)
        connection.keep(
            StatementResult(
                of: row.sql, changes: 0, names: ["customer_id", "kind", "account", "transfer_row_id"],
                values: [[.integer(id), .optional(kind?.rawValue), .null, .null]]), for: row)
        return id
    }

    /// The number of a user, and the account that finally receives a merged guest's purchases, if there is one. Nil for
    /// a user that the ledger has never seen.
    func known(_ user: UserID) throws -> (number: Int64, account: UserID?)? {
        let row = try connection.first(Self.finding(user)) { row in
            (row.integer("customer_id"), row.optionalText("account").map { UserID($0) })
        }
        guard let (number, merged) = row else { return nil }
        return (number, try merged.map { try account(of: $0) ?? $0 })
    }

    /// The number of a user; nil for one that the ledger has never seen.
    package func number(of user: UserID) throws -> Int64? {
        try connection.first(Self.finding(user)) { $0.integer("customer_id") }
    }

    /// The row of a user, with the account that a merged guest belongs to. One text for all that is read of it, because
    /// each query is a round trip for some databases.
    static func finding(_ user: UserID) -> Statement {
        Statement(
            """
            SELECT u.customer_id, u.kind, a.user_id AS account, CASE WHEN u.merged_into IS NOT NULL THEN (SELECT \
            max(f.row_id) FROM transfers f WHERE f.from_customer_id = u.customer_id AND f.kind = 'guest_merge') END \
            AS transfer_row_id FROM customers u LEFT JOIN customers a ON a.customer_id = u.merged_into \
            WHERE u.app_id = 1 AND u.user_id = ?1
            """, [.text(user.text)])
    }

    /// The user id of a customer by its number.
    func user(_ customer: Int64) throws -> UserID? {
        try connection.first("SELECT user_id FROM customers WHERE customer_id = ?1", [.integer(customer)]) {
            UserID($0.text("user_id"))
        }
    }

    /// The user ids of customers by their number.
    func users(_ ids: [Int64]) throws -> [Int64: UserID] {
        var users: [Int64: UserID] = [:]
        for statement in Self.findingUsers(ids) {
            _ = try connection.query(statement) { users[$0.integer("customer_id")] = UserID($0.text("user_id")) }
        }
        return users
    }

    static func findingUsers(_ ids: [Int64]) -> [Statement] {
        IDLists.statements("SELECT customer_id, user_id FROM customers WHERE customer_id IN (\(marks: 32))", ids)
    }

    // MARK: Kinds

    /// Nil for a user whom the ledger has not identified yet.
    public func kind(of user: UserID) throws -> CustomerKind? {
        let kind = try connection.first(Self.finding(user)) { row -> CustomerKind? in
            if row.isNull("kind") { return nil }
            guard let kind = CustomerKind(rawValue: row.integer("kind")) else {
                throw row.unreadable("a kind of customer")
            }
            return kind
        }
        return kind ?? nil
    }

    /// The kind that a user counts as. Tokens are recorded when they are seen, so a user with rows but without a
    /// recorded kind was named by a backend.
    public func kind(of user: UserID, under terms: GuestTerms) throws -> CustomerKind? {
        if let kind = try kind(of: user) { return kind }
        return try hasRows(user) ? terms.kind(named: user) : nil
    }

    /// Records how a user was identified, if that is more specific than the recorded kind. A guest's token does not
    /// make a guest of a user whom a backend named before.
    public func record(_ user: UserID, as seen: CustomerKind, under terms: GuestTerms, at now: Instant) throws {
        let known = try kind(of: user)
        guard known?.changes(to: seen) ?? true else { return }
        let wasNamed = try known == nil && seen == .guest && hasRows(user)
        let kind = wasNamed ? terms.kind(named: user) : seen
        if try known == nil && number(of: user) == nil && insertDrawn(user, kind, at: now) != nil { return }
        try connection.write(
            """
            INSERT INTO customers (user_id, kind, first_seen) VALUES (?1, ?2, ?3) \
            ON CONFLICT (app_id, user_id) DO UPDATE SET kind = excluded.kind
            """, [.text(user.text), .integer(kind.rawValue), .instant(now)])
    }

    /// Records that a backend named a user, in the same commit as the rest of the backend's request. It writes nothing
    /// for a user already recorded.
    public func recordNamed(_ user: UserID, under terms: GuestTerms, at now: Instant) throws {
        try record(user, as: terms.kind(named: user), under: terms, at: now)
    }

    private func hasRows(_ user: UserID) throws -> Bool {
        try isKnown(user) || !AccountTokenTable(connection).list(of: user, limit: 1).isEmpty
    }

    /// Whether the ledger has any row about what a user owns or did. Reading alone leaves no row.
    public func isKnown(_ user: UserID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM customers u WHERE u.app_id = 1 AND u.user_id = ?1 AND (u.merged_into IS NOT NULL \
            OR EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = u.customer_id) \
            OR EXISTS (SELECT 1 FROM postings p WHERE p.customer_id = u.customer_id) \
            OR EXISTS (SELECT 1 FROM grant_owners h WHERE h.customer_id = u.customer_id) \
            OR EXISTS (SELECT 1 FROM consents s WHERE s.customer_id = u.customer_id) \
            OR EXISTS (SELECT 1 FROM claims m WHERE m.customer_id = u.customer_id) \
            OR EXISTS (SELECT 1 FROM transfers f WHERE f.from_customer_id = u.customer_id) \
            OR EXISTS (SELECT 1 FROM transfers f WHERE f.to_customer_id = u.customer_id))
            """, [.text(user.text)]
        ) { _ in true } ?? false
    }

    // MARK: Guests merged into an account

    public struct Merge: Sendable, Hashable {
        public let account: UserID
        /// The row id of the transfer.
        public let transferRowID: Int64
    }

    /// The account that a merged guest belongs to. A guest has at most one account, and merges never form a cycle.
    public func merge(of guest: UserID) throws -> Merge? {
        let merge = try connection.first(Self.finding(guest)) { row in
            row.isNull("account")
                ? nil : Merge(account: UserID(row.text("account")), transferRowID: row.integer("transfer_row_id"))
        }
        return merge ?? nil
    }

    /// The account that finally receives a merged guest's purchases: the first account may have been merged into
    /// another one later. Nil for a user who is not a merged guest.
    public func account(of guest: UserID) throws -> UserID? {
        var last: UserID?
        while let merge = try merge(of: last ?? guest) { last = merge.account }
        return last
    }

    /// The guests whose purchases belong to an account: those merged into it, and into one of those before.
    public func guests(of account: UserID) throws -> [UserID] {
        var found: [UserID] = []
        var next = [account]
        while let user = next.popLast() {
            let merged = try connection.query(
                """
                SELECT g.user_id FROM customers a CROSS JOIN customers g ON g.merged_into = a.customer_id \
                WHERE a.app_id = 1 AND a.user_id = ?1 AND g.merged_into IS NOT NULL ORDER BY g.customer_id
                """, [.text(user.text)]
            ) { UserID($0.text("user_id")) }
            found += merged
            next += merged
        }
        return found
    }

    /// Assigns everything under the guest's name to the account from now on. The transfer recorded before names both.
    public func merge(_ guest: UserID, into account: UserID) throws {
        let changed = try connection.execute(
            """
            UPDATE customers SET merged_into = \(customer: 1) WHERE app_id = 1 AND user_id = ?2 \
            AND merged_into IS NULL AND \(customer: 1) IS NOT NULL
            """, [.text(account.text), .text(guest.text)])
        guard changed == 1 else {
            throw DatabaseError(.other, "a guest merges into one account, and both must be on record")
        }
    }

    /// Makes the guest a customer of its own again.
    public func separate(_ guest: UserID) throws {
        try connection.write(
            "UPDATE customers SET merged_into = NULL WHERE app_id = 1 AND user_id = ?1", [.text(guest.text)])
    }
}
