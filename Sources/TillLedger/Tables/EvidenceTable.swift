import TillBilling
import TillSQL

/// `evidence`: every decision that changed something, with its ground, its source and its caller. Never edited, never
/// deleted.
public struct EvidenceTable {
    private static let columns: Columns = "at, decision, ground, door, detail"

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let at: Instant
        /// `granted`, `succeeded`, `quarantined`, `revoked`, `reinstated`, `confirmed`, `contested`, `moved`, `kept`,
        /// `finished`, `token_set`, `token_left`.
        public let decision: String
        /// The ground of the owner match, the reason of a quarantine, or why another customer is the owner.
        public let ground: String
        /// `app`, `restore`, `notification`, `reconciliation`, `claim`, `errand`.
        public let door: String
        /// `user:u1`, `key:backend`, `apple`.
        public let caller: String
        /// What else was examined: the steps of owner matching and their results; an operator's reason. Nil if the
        /// ground is sufficient.
        public let detail: String?

        public init(
            at: Instant, decision: String, ground: String, door: String, caller: String, detail: String? = nil
        ) {
            self.at = at
            self.decision = decision
            self.ground = ground
            self.door = door
            self.caller = caller
            self.detail = detail
        }
    }

    public func insert(transaction sequence: Int64, _ entry: Entry) throws {
        try session.execute(
            "INSERT INTO evidence (transaction_sequence, \(Self.columns), \(CallerColumns.names)) VALUES (\(marks: 9))",
            [
                .integer(sequence), .instant(entry.at), .text(entry.decision), .text(entry.ground), .text(entry.door),
                .optional(entry.detail),
            ] + CallerColumns(entry.caller, at: entry.at, session).values)
    }

    /// Whether an identical entry exists.
    public func has(
        transaction sequence: Int64, decision: String, ground: String, detail: String
    ) throws -> Bool {
        try session.first(
            """
            SELECT 1 FROM evidence WHERE transaction_sequence = ?1 AND decision = ?2 AND ground = ?3 AND detail = ?4
            """, [.integer(sequence), .text(decision), .text(ground), .text(detail)]
        ) { _ in true } ?? false
    }

    /// Whether a decision was recorded before on this ground.
    public func has(transaction sequence: Int64, decision: String, ground: String) throws -> Bool {
        try count(transaction: sequence, decision: decision, ground: ground, limit: 1) > 0
    }

    /// Whether a decision was recorded before on this ground for one caller.
    public func has(
        transaction sequence: Int64, decision: String, ground: String, caller: String
    ) throws -> Bool {
        try session.query(
            """
            SELECT \(caller: "evidence") FROM evidence WHERE transaction_sequence = ?1 AND decision = ?2 AND ground = ?3
            """, [.integer(sequence), .text(decision), .text(ground)]
        ) { CallerColumns.name($0) }.contains { $0.map { Array($0.utf8) } == Array(caller.utf8) }
    }

    /// How often a decision was recorded on this ground, at most `limit`.
    public func count(transaction sequence: Int64, decision: String, ground: String, limit: Int64) throws -> Int64 {
        try session.first(
            """
            SELECT count(*) AS count FROM (SELECT 1 FROM evidence WHERE transaction_sequence = ?1 AND decision = ?2 \
            AND ground = ?3 LIMIT ?4) AS noted
            """, [.integer(sequence), .text(decision), .text(ground), .integer(limit)]
        ) { $0.integer("count") } ?? 0
    }

    /// The newest two hundred, oldest first.
    public func list(transaction sequence: Int64) throws -> [Entry] {
        try session.query(
            """
            SELECT \(Self.columns), \(caller: "newest") FROM (SELECT sequence, \(Self.columns), \(CallerColumns.names) \
            FROM evidence WHERE transaction_sequence = ?1 ORDER BY sequence DESC LIMIT 200) AS newest \
            ORDER BY sequence
            """, [.integer(sequence)]
        ) { row in
            Entry(
                at: row.instant("at"), decision: row.text("decision"), ground: row.text("ground"),
                door: row.text("door"), caller: CallerColumns.name(row) ?? "",
                detail: row.optionalText("detail"))
        }
    }
}
