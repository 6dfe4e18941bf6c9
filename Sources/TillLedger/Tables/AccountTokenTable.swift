import TillBilling
import TillSQL

extension Schema {
    /// The tokens that backends registered for their users; and, for each environment, the tokens of recorded payments
    /// that named no order and no account on arrival. Sandbox payments do not affect production.
    static let accountTokens: StaticString = """
        CREATE TABLE account_tokens (
            token BLOB PRIMARY KEY CHECK (length(token) = 16),
            customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
            since INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX account_tokens_by_user ON account_tokens (customer_id, since);

        CREATE TABLE unmatched_tokens (
            token BLOB NOT NULL CHECK (length(token) = 16),
            environment INTEGER NOT NULL,
            first_seen INTEGER NOT NULL,
            PRIMARY KEY (token, environment)
        ) STRICT, WITHOUT ROWID;
        """
}

/// `account_tokens`: tokens that are no order ids, each registered by a backend for the user whose payments carry it.
public struct AccountTokenTable {
    private static let columns: Columns = "token, customer_id, since"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

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
        try connection.write(
            "INSERT INTO account_tokens (\(Self.columns)) VALUES (?1, ?2, ?3)",
            [
                .id(entry.token), .integer(try CustomerTable(connection).id(of: entry.user, at: entry.since)),
                .instant(entry.since),
            ])
    }

    public func find(_ token: UniqueID) throws -> Entry? {
        try connection.first(Self.finding(token), Self.read)
    }

    static func finding(_ token: UniqueID) -> Statement {
        Statement("SELECT \(columns, userOf: "account_tokens") FROM account_tokens WHERE token = ?1", [.id(token)])
    }

    /// A user's tokens, oldest first.
    public func list(of user: UserID, limit: Int) throws -> [Entry] {
        try connection.query(
            """
            SELECT \(Self.columns, userOf: "account_tokens") FROM account_tokens WHERE customer_id = \(customer: 1) \
            ORDER BY since, token LIMIT ?2
            """,
            [.text(user.text), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Entry {
        Entry(token: try row.uniqueID("token"), user: UserID(row.text("user_id")), since: row.instant("since"))
    }
}

/// A token that payments of several Apple Accounts carry: a UUID that an app sets for all of its customers.
public struct SharedToken: Sendable, Hashable {
    public let token: UniqueID
    public let appleAccounts: Int64
    public let payments: Int64

    /// The tokens used by more Apple Accounts than `accounts`, the most shared first. Reads every transaction.
    public static func list(moreThan accounts: Int64, limit: Int64, _ connection: any Connection) throws
        -> [SharedToken]
    {
        try connection.query(
            """
            SELECT token, count(DISTINCT app_transaction) AS accounts, count(*) AS payments FROM transactions \
            WHERE token IS NOT NULL AND app_transaction IS NOT NULL GROUP BY token \
            HAVING count(DISTINCT app_transaction) > ?1 ORDER BY accounts DESC, token LIMIT ?2
            """, [.integer(accounts), .integer(limit)]
        ) {
            SharedToken(
                token: try $0.uniqueID("token"), appleAccounts: $0.integer("accounts"), payments: $0.integer("payments")
            )
        }
    }
}

/// `unmatched_tokens`: tokens that recorded payments of an environment carried before an order or an account had them.
/// An order that is opened later under such a token may belong to another customer, unless its id is proven.
public struct UnmatchedTokenTable {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public func insert(_ token: UniqueID, in environment: StoreEnvironment, at: Instant) throws {
        try connection.write(
            """
            INSERT INTO unmatched_tokens (token, environment, first_seen) VALUES (?1, ?2, ?3) \
            ON CONFLICT (token, environment) DO NOTHING
            """, [.id(token), environment.column, .instant(at)])
    }

    public func contains(_ token: UniqueID, in environment: StoreEnvironment) throws -> Bool {
        try connection.first(Self.finding(token, in: environment)) { _ in true } ?? false
    }

    static func finding(_ token: UniqueID, in environment: StoreEnvironment) -> Statement {
        Statement(
            "SELECT 1 FROM unmatched_tokens WHERE token = ?1 AND environment = ?2", [.id(token), environment.column])
    }
}
