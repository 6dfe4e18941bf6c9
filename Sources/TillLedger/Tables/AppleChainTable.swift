import TillBilling
import TillSQL

/// `apple_chains`: the chains of transactions that identify customers to Apple, and when each was last read.
///
/// Apple's API has no customer id: a request names any transaction of a customer, and the answer holds all of the
/// customer's transactions. So of the chains found in one history, only one is used in requests. Its row keeps the
/// revision from which Apple's next answer continues (facts/server-api §4.1).
public struct AppleChainTable {
    private static let chain: Columns = "row_id, environment, original_id"
    private static let history: Columns = "row_id, original_id, history_revision AS revision, refusal"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public enum Query: Sendable, Hashable {
        case history
        case refunds
    }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let originalID: TransactionID
        /// The revision to continue from; nil reads everything.
        public let revision: String?
        /// Why Apple refused the last request about this chain.
        public let refusal: String?
    }

    /// Milliseconds after which no row with a smaller id becomes visible any more: longer than a transaction of the
    /// database lasts, and than the clocks of servers differ.
    static let lateness: Int64 = 15 * 60_000

    /// Adds the chains of the next transactions, from those that may have become visible since the last run on: the
    /// ids of rows are not in the order of their commits.
    ///
    /// - Parameter position: what the call before returned; nil begins a run.
    /// - Returns: the position after them; nil if there are no more.
    package func discover(after position: Int64?, limit: Int, at now: Instant) throws -> Int64? {
        let seen =
            try connection.first("SELECT chains_seen FROM server_activity", []) { $0.integer("chains_seen") } ?? 0
        let start = position ?? seen
        let next = try connection.first(
            """
            SELECT max(row_id) AS newest, max(CASE WHEN received_at <= ?3 THEN row_id END) AS final FROM \
            (SELECT row_id, received_at FROM transactions WHERE row_id > ?1 ORDER BY row_id LIMIT ?2) AS next
            """, [.integer(start), .integer(Int64(limit)), .instant(now.adding(milliseconds: -Self.lateness))]
        ) { (newest: $0.optionalInteger("newest"), final: $0.optionalInteger("final")) }
        guard let next, let last = next.newest else { return nil }
        try connection.write(
            """
            INSERT INTO apple_chains (\(Self.chain)) SELECT \(Self.chain) \
            FROM transactions WHERE row_id > ?1 AND row_id <= ?2 AND environment > 0 ORDER BY row_id \
            ON CONFLICT DO NOTHING
            """, [.integer(start), .integer(last)])
        if let final = next.final, final > seen {
            try connection.write(
                """
                INSERT INTO server_activity (single_row, at, chains_seen) VALUES (1, ?1, ?2) ON CONFLICT (single_row) \
                DO UPDATE SET chains_seen = excluded.chains_seen
                """, [.instant(now), .integer(final)])
        }
        return last
    }

    /// Records that a chain appeared in the history of another one, so both belong to the same customer.
    public func link(
        _ chain: TransactionID, in environment: StoreEnvironment, first transaction: Int64, to customer: Int64
    ) throws {
        try connection.write(
            """
            INSERT INTO apple_chains (\(Self.chain), customer) VALUES (?1, ?2, ?3, ?4) \
            ON CONFLICT (environment, original_id) DO UPDATE SET customer = excluded.customer \
            WHERE apple_chains.row_id <> excluded.customer AND (apple_chains.customer IS NULL \
            OR apple_chains.customer <> excluded.customer)
            """, [.integer(transaction), environment.column, .text(chain.text), .integer(customer)])
    }

    /// The next chain to read: first chains never read or marked with `askSoon`, then those read longest ago; newer
    /// chains first within each.
    public func next(_ query: Query, before run: Int64, in environment: StoreEnvironment) throws -> Stored? {
        switch query {
        case .history:
            try connection.first(
                """
                SELECT \(Self.history) FROM apple_chains WHERE customer IS NULL AND environment = ?1 \
                AND history_run < ?2 ORDER BY history_run, row_id DESC LIMIT 1
                """, [environment.column, .integer(run)], Self.read)
        case .refunds:
            try connection.first(
                """
                SELECT row_id, original_id, refunds_revision AS revision, refusal FROM apple_chains \
                WHERE customer IS NULL AND environment = ?1 AND refunds_run < ?2 ORDER BY refunds_run, row_id DESC \
                LIMIT 1
                """, [environment.column, .integer(run)], Self.read)
        }
    }

    public func find(_ chain: TransactionID, in environment: StoreEnvironment) throws -> Stored? {
        try connection.first(
            """
            SELECT \(Self.history) FROM apple_chains WHERE environment = ?1 AND original_id = ?2
            """, [environment.column, .text(chain.text)], Self.read)
    }

    /// Records that the run has read all of Apple's answers about a chain's customer, or that Apple refused the
    /// request.
    public func markRead(
        _ rowID: Int64, _ query: Query, run: Int64, revision: String?, refusal: String?
    ) throws {
        switch query {
        case .history:
            try connection.write(
                "UPDATE apple_chains SET history_run = ?1, history_revision = ?2, refusal = ?3 WHERE row_id = ?4",
                [.integer(run), .optional(revision), .optional(refusal), .integer(rowID)])
        case .refunds:
            try connection.write(
                "UPDATE apple_chains SET refunds_run = ?1, refunds_revision = ?2 WHERE row_id = ?3",
                [.integer(run), .optional(revision), .integer(rowID)])
        }
    }

    /// Moves the chain's customer to the front of the next run.
    public func askSoon(_ chain: TransactionID, _ query: Query, in environment: StoreEnvironment) throws {
        guard let customer = try customer(of: chain, in: environment) else { return }
        switch query {
        case .history:
            try connection.write(
                "UPDATE apple_chains SET history_run = 0 WHERE row_id = ?1", [.integer(customer)])
        case .refunds:
            try connection.write(
                "UPDATE apple_chains SET refunds_run = 0 WHERE row_id = ?1", [.integer(customer)])
        }
    }

    /// Whether any of the customer's chains is a subscription.
    public func hasSubscription(_ rowID: Int64) throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM (SELECT environment, original_id FROM apple_chains WHERE row_id = ?1 \
            UNION ALL SELECT environment, original_id FROM apple_chains WHERE customer = ?1) c \
            JOIN subscriptions s ON s.environment = c.environment AND s.original_id = c.original_id LIMIT 1
            """, [.integer(rowID)]
        ) { _ in true } ?? false
    }

    /// The newest run that read the history of the chain's customer; nil if none did.
    public func lastRead(_ chain: TransactionID, in environment: StoreEnvironment) throws -> Int64? {
        guard let customer = try customer(of: chain, in: environment) else { return nil }
        return try connection.first(
            "SELECT history_run FROM apple_chains WHERE row_id = ?1", [.integer(customer)]
        ) { $0.integer("history_run") }
    }

    /// The row of the chain that is used in requests for this one. Each chain points to one that was read later, so the
    /// path is short and ends.
    private func customer(of chain: TransactionID, in environment: StoreEnvironment) throws -> Int64? {
        try connection.first(
            """
            WITH RECURSIVE way (row_id, customer, length) AS ( SELECT row_id, customer, 0 FROM apple_chains \
            WHERE environment = ?1 AND original_id = ?2 UNION ALL SELECT c.row_id, c.customer, way.length + 1 \
            FROM way JOIN apple_chains c ON c.row_id = way.customer WHERE way.length < 50) SELECT row_id FROM way \
            ORDER BY length DESC LIMIT 1
            """, [environment.column, .text(chain.text)]
        ) { $0.integer("row_id") }
    }

    private static func read(_ row: any Row) throws -> Stored {
        Stored(
            rowID: row.integer("row_id"), originalID: TransactionID(row.text("original_id")),
            revision: row.optionalText("revision"),
            refusal: row.optionalText("refusal"))
    }
}
