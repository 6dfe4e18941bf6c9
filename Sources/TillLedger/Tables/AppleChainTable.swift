import TillBilling
import TillSQL

/// `apple_chains`: the chains of transactions that identify customers to Apple, and when each was last read.
///
/// Apple's API has no customer id: a request names any transaction of a customer, and the answer holds all of the
/// customer's transactions. So of the chains found in one history, only one is used in requests. Its row keeps the
/// revision from which Apple's next answer continues (facts/server-api §4.1).
public struct AppleChainTable {
    private static let chain: Columns = "sequence, environment, original_id"
    private static let history: Columns = "sequence, original_id, history_revision AS revision, refusal"

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public enum Question: Sendable, Hashable {
        case history
        case refunds
    }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let originalID: TransactionID
        /// The revision to continue from; nil reads everything.
        public let revision: String?
        /// Why Apple refused the last request about this chain.
        public let refusal: String?
    }

    /// Adds the chains of up to `limit` transactions that were recorded since the last call.
    ///
    /// - Returns: whether it found any; then there may be more.
    public func discover(limit: Int, at now: Instant) throws -> Bool {
        let known = try session.first("SELECT chains_seen FROM presence", []) { $0.integer("chains_seen") } ?? 0
        let last =
            try session.first(
                """
                SELECT max(sequence) AS newest FROM (SELECT sequence FROM transactions WHERE sequence > ?1 \
                ORDER BY sequence LIMIT ?2) AS next
                """, [.integer(known), .integer(Int64(limit))]
            ) { $0.isNull("newest") ? known : $0.integer("newest") } ?? known
        guard last > known else { return false }
        try session.execute(
            """
            INSERT INTO apple_chains (\(Self.chain)) SELECT \(Self.chain) \
            FROM transactions WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence ON CONFLICT DO NOTHING
            """, [.integer(known), .integer(last)])
        try session.execute(
            """
            INSERT INTO presence (single_row, at, chains_seen) VALUES (1, ?1, ?2) ON CONFLICT (single_row) DO UPDATE \
            SET chains_seen = excluded.chains_seen
            """, [.instant(now), .integer(last)])
        return true
    }

    /// Records that a chain appeared in the history of another one, so both belong to the same customer.
    public func link(
        _ chain: TransactionID, in environment: Environment, first transaction: Int64, to customer: Int64
    ) throws {
        try session.execute(
            """
            INSERT INTO apple_chains (\(Self.chain), customer) VALUES (?1, ?2, ?3, ?4) \
            ON CONFLICT (environment, original_id) DO UPDATE SET customer = excluded.customer \
            WHERE apple_chains.sequence <> excluded.customer AND (apple_chains.customer IS NULL \
            OR apple_chains.customer <> excluded.customer)
            """, [.integer(transaction), environment.column, .text(chain.text), .integer(customer)])
    }

    /// The next chain to read: first chains never read or marked with `askSoon`, then those read longest ago; newer
    /// chains first within each.
    public func next(_ question: Question, before run: Int64, in environment: Environment) throws -> Stored? {
        switch question {
        case .history:
            try session.first(
                """
                SELECT \(Self.history) FROM apple_chains WHERE customer IS NULL AND environment = ?1 \
                AND history_run < ?2 ORDER BY history_run, sequence DESC LIMIT 1
                """, [environment.column, .integer(run)], Self.read)
        case .refunds:
            try session.first(
                """
                SELECT sequence, original_id, refunds_revision AS revision, refusal FROM apple_chains \
                WHERE customer IS NULL AND environment = ?1 AND refunds_run < ?2 ORDER BY refunds_run, sequence DESC \
                LIMIT 1
                """, [environment.column, .integer(run)], Self.read)
        }
    }

    public func find(_ chain: TransactionID, in environment: Environment) throws -> Stored? {
        try session.first(
            """
            SELECT \(Self.history) FROM apple_chains WHERE environment = ?1 AND original_id = ?2
            """, [environment.column, .text(chain.text)], Self.read)
    }

    /// Records that the run has read all of Apple's answers about a chain's customer, or that Apple refused the
    /// request.
    public func markRead(
        _ sequence: Int64, _ question: Question, run: Int64, revision: String?, refusal: String?
    ) throws {
        switch question {
        case .history:
            try session.execute(
                "UPDATE apple_chains SET history_run = ?1, history_revision = ?2, refusal = ?3 WHERE sequence = ?4",
                [.integer(run), .optional(revision), .optional(refusal), .integer(sequence)])
        case .refunds:
            try session.execute(
                "UPDATE apple_chains SET refunds_run = ?1, refunds_revision = ?2 WHERE sequence = ?3",
                [.integer(run), .optional(revision), .integer(sequence)])
        }
    }

    /// Moves the chain's customer to the front of the next run.
    public func askSoon(_ chain: TransactionID, _ question: Question, in environment: Environment) throws {
        guard let customer = try customer(of: chain, in: environment) else { return }
        switch question {
        case .history:
            try session.execute(
                "UPDATE apple_chains SET history_run = 0 WHERE sequence = ?1", [.integer(customer)])
        case .refunds:
            try session.execute(
                "UPDATE apple_chains SET refunds_run = 0 WHERE sequence = ?1", [.integer(customer)])
        }
    }

    /// Whether any of the customer's chains is a subscription.
    public func hasSubscription(_ sequence: Int64) throws -> Bool {
        try session.first(
            """
            SELECT 1 FROM (SELECT environment, original_id FROM apple_chains WHERE sequence = ?1 \
            UNION ALL SELECT environment, original_id FROM apple_chains WHERE customer = ?1) c \
            JOIN subscriptions s ON s.environment = c.environment AND s.original_id = c.original_id LIMIT 1
            """, [.integer(sequence)]
        ) { _ in true } ?? false
    }

    /// The newest run that read the history of the chain's customer; nil if none did.
    public func lastRead(_ chain: TransactionID, in environment: Environment) throws -> Int64? {
        guard let customer = try customer(of: chain, in: environment) else { return nil }
        return try session.first(
            "SELECT history_run FROM apple_chains WHERE sequence = ?1", [.integer(customer)]
        ) { $0.integer("history_run") }
    }

    /// The row of the chain that is used in requests for this one. Each chain points to one that was read later, so the
    /// path is short and ends.
    private func customer(of chain: TransactionID, in environment: Environment) throws -> Int64? {
        try session.first(
            """
            WITH RECURSIVE way (sequence, customer, length) AS ( SELECT sequence, customer, 0 FROM apple_chains \
            WHERE environment = ?1 AND original_id = ?2 UNION ALL SELECT c.sequence, c.customer, way.length + 1 \
            FROM way JOIN apple_chains c ON c.sequence = way.customer WHERE way.length < 50) SELECT sequence FROM way \
            ORDER BY length DESC LIMIT 1
            """, [environment.column, .text(chain.text)]
        ) { $0.integer("sequence") }
    }

    private static func read(_ row: any Row) throws -> Stored {
        Stored(
            sequence: row.integer("sequence"), originalID: TransactionID(row.text("original_id")),
            revision: row.optionalText("revision"),
            refusal: row.optionalText("refusal"))
    }
}
