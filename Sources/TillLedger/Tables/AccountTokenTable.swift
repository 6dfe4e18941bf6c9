import TillBilling
import TillSQL

extension Schema {
    /// Who chose each order's id; the tokens that backends registered for their users; and the tokens of stored
    /// payments that named no order and no account when they came. Orders from before count as imported.
    static let orderIDs: StaticString = """
        ALTER TABLE orders ADD COLUMN id_source INTEGER NOT NULL DEFAULT 5 CHECK (id_source BETWEEN 1 AND 6);

        CREATE TABLE account_tokens (
            token BLOB PRIMARY KEY CHECK (length(token) = 16),
            user_id TEXT NOT NULL,
            since INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX account_tokens_by_user ON account_tokens (user_id, since);

        CREATE TABLE unmatched_tokens (
            token BLOB PRIMARY KEY CHECK (length(token) = 16),
            first_seen INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO unmatched_tokens (token, first_seen) SELECT t.token, min(t.received_at) FROM transactions t
            WHERE t.token IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM orders o WHERE o.id = t.token AND o.created_at <= t.received_at) GROUP BY t.token;
        """

    /// `unmatched_tokens` again, for each environment: what is paid in the sandbox costs nothing, and says nothing of
    /// payments. Tokens from before are seen where a payment of a buyer's own carried them before an order had them; in
    /// both environments, if no payment is stored that carries them.
    static let unmatchedTokens: StaticString = """
        CREATE TABLE unmatched_tokens_by_environment (
            token BLOB NOT NULL CHECK (length(token) = 16),
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
            first_seen INTEGER NOT NULL,
            PRIMARY KEY (token, environment)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO unmatched_tokens_by_environment (token, environment, first_seen)
            SELECT DISTINCT u.token, t.environment, u.first_seen
            FROM transactions t JOIN unmatched_tokens u ON u.token = t.token
            WHERE t.is_shared = 0 AND t.ownership IS NULL AND NOT EXISTS
            (SELECT 1 FROM orders o WHERE o.id = t.token AND o.created_at <= t.received_at);
        INSERT INTO unmatched_tokens_by_environment (token, environment, first_seen)
            SELECT u.token, e.environment, u.first_seen
            FROM unmatched_tokens u CROSS JOIN (SELECT 1 AS environment UNION ALL SELECT 2) e
            WHERE u.token NOT IN (SELECT token FROM transactions WHERE token IS NOT NULL);
        DROP TABLE unmatched_tokens;
        ALTER TABLE unmatched_tokens_by_environment RENAME TO unmatched_tokens;
        """
}

/// `account_tokens`: which user's payments carry a token that is no order's id, because the user's backend said so.
public struct AccountTokenTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let token: UniqueID
        public let user: UserID
        public let since: Instant

        public init(token: UniqueID, user: UserID, since: Instant) {
            self.token = token
            self.user = user
            self.since = since
        }
    }

    public func insert(_ entry: Entry) throws {
        try session.execute(
            "INSERT INTO account_tokens (token, user_id, since) VALUES (?, ?, ?)",
            [.id(entry.token), .text(entry.user.text), .instant(entry.since)])
    }

    public func find(_ token: UniqueID) throws -> Entry? {
        try session.first("SELECT token, user_id, since FROM account_tokens WHERE token = ?", [.id(token)], Self.read)
    }

    /// A user's tokens, oldest first.
    public func list(of user: UserID, limit: Int) throws -> [Entry] {
        try session.query(
            "SELECT token, user_id, since FROM account_tokens WHERE user_id = ? ORDER BY since, token LIMIT ?",
            [.text(user.text), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Entry {
        Entry(token: try row.uniqueID(0), user: UserID(row.text(1)), since: row.instant(2))
    }
}

/// Tokens that payments of several Apple Accounts carry: a UUID that an app sets for all of its customers.
public struct SharedToken: Sendable, Hashable {
    public let token: UniqueID
    public let appleAccounts: Int64
    public let payments: Int64

    /// Those of more Apple Accounts than one customer has; the most shared first. Reads every transaction.
    public static func list(moreThan accounts: Int64, limit: Int64, _ session: any Connection) throws -> [SharedToken] {
        try session.query(
            """
            SELECT token, count(DISTINCT app_transaction), count(*) FROM transactions \
            WHERE token IS NOT NULL AND app_transaction IS NOT NULL GROUP BY token \
            HAVING count(DISTINCT app_transaction) > ? ORDER BY 2 DESC, token LIMIT ?
            """, [.integer(accounts), .integer(limit)]
        ) { SharedToken(token: try $0.uniqueID(0), appleAccounts: $0.integer(1), payments: $0.integer(2)) }
    }
}

/// `unmatched_tokens`: tokens that stored payments of an environment carried before an order or an account had them. An
/// order that is opened under one of them later may be a stranger's, unless its id is proven.
public struct UnmatchedTokenTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public func insert(_ token: UniqueID, in environment: Environment, at: Instant) throws {
        try session.execute(
            """
            INSERT INTO unmatched_tokens (token, environment, first_seen) VALUES (?, ?, ?) \
            ON CONFLICT (token, environment) DO NOTHING
            """, [.id(token), environment.column, .instant(at)])
    }

    public func contains(_ token: UniqueID, in environment: Environment) throws -> Bool {
        try session.first(
            "SELECT 1 FROM unmatched_tokens WHERE token = ? AND environment = ?", [.id(token), environment.column]
        ) { _ in true } ?? false
    }
}
