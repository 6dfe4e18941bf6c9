import TillBilling
import TillSQL

extension Schema {
    /// How often a purchase in quarantine was submitted, for each reason that it stayed there.
    static let quarantineReasons: StaticString = """
        CREATE TABLE quarantine_reasons (
            transaction_row_id INTEGER NOT NULL REFERENCES transactions (row_id),
            reason TEXT NOT NULL,
            submissions INTEGER NOT NULL CHECK (submissions > 0),
            first_at INTEGER NOT NULL,
            last_at INTEGER NOT NULL,
            caller_kind TEXT NOT NULL,
            caller_customer_id INTEGER REFERENCES customers (customer_id),
            caller_key TEXT,
            CHECK ((caller_kind = 'user') = (caller_customer_id IS NOT NULL)),
            PRIMARY KEY (transaction_row_id, reason)
        ) STRICT, WITHOUT ROWID;
        """
}

/// `quarantine_reasons`: one row for each reason why a purchase has no owner, with the number of submissions that ended
/// with it. Senders choose the claims beside a proof, so another submission raises the count and adds no row.
public struct QuarantineReasonTable {
    private static let columns: Columns = "reason, submissions, first_at, last_at"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let reason: String
        /// How often the purchase was submitted and stayed in quarantine for this reason.
        public let submissions: Int64
        public let firstAt: Instant
        public let lastAt: Instant
        /// As in evidence: `user:u1`, `key:backend`, `apple`.
        public let lastCaller: String
    }

    public func count(
        _ reason: QuarantineReason, of transaction: Int64, by caller: String, at now: Instant
    ) throws {
        try connection.write(
            """
            INSERT INTO quarantine_reasons (transaction_row_id, \(Self.columns), \(CallerColumns.names)) \
            VALUES (?1, ?2, 1, ?3, ?3, ?4, ?5, ?6) \
            ON CONFLICT (transaction_row_id, reason) DO UPDATE SET submissions = quarantine_reasons.submissions + 1, \
            last_at = excluded.last_at, caller_kind = excluded.caller_kind, \
            caller_customer_id = excluded.caller_customer_id, caller_key = excluded.caller_key
            """,
            [.integer(transaction), .text(reason.rawValue), .instant(now)]
                + CallerColumns(caller, at: now, connection).values)
    }

    /// The earliest first.
    public func list(of transaction: Int64) throws -> [Stored] {
        try connection.query(
            """
            SELECT \(Self.columns), \(caller: "quarantine_reasons") FROM quarantine_reasons WHERE transaction_row_id \
            = ?1 ORDER BY first_at, reason
            """, [.integer(transaction)]
        ) { row in
            Stored(
                reason: row.text("reason"), submissions: row.integer("submissions"), firstAt: row.instant("first_at"),
                lastAt: row.instant("last_at"),
                lastCaller: CallerColumns.name(row) ?? "")
        }
    }
}
