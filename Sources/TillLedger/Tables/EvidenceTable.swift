import TillBilling
import TillSQL

/// `evidence`: every decision that changed something, with its ground, its source and its caller. Never edited, never
/// deleted. The row of a plain grant says its decision itself (`GrantDecision`).
public struct EvidenceTable {
    private static let columns: Columns = "at, decision, ground, source, detail"
    private static let inserting: SQL = """
        INSERT INTO evidence (transaction_row_id, \(columns), \(CallerColumns.names)) VALUES (\(marks: 9))
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        public let at: Instant
        /// `granted`, `succeeded`, `quarantined`, `revoked`, `reinstated`, `confirmed`, `contested`, `moved`, `kept`,
        /// `finished`, `token_set`, `token_left`, `late`.
        public let decision: String
        /// The ground of the owner match, the reason of a quarantine, or why another customer is the owner.
        public let ground: String
        /// `app`, `restore`, `notification`, `reconciliation`, `claim`, `task`.
        public let source: String
        /// `user:u1`, `key:backend`, `apple`.
        public let caller: String
        /// What else was examined: the steps of owner matching and their results; an operator's reason. Nil if the
        /// ground is sufficient.
        public let detail: String?

        public init(
            at: Instant, decision: String, ground: String, source: String, caller: String, detail: String? = nil
        ) {
            self.at = at
            self.decision = decision
            self.ground = ground
            self.source = source
            self.caller = caller
            self.detail = detail
        }
    }

    public func insert(transaction rowID: Int64, _ entry: Entry) throws {
        let caller = try CallerColumns(entry.caller, at: entry.at, connection)
        try connection.write(
            Self.inserting,
            [
                .integer(rowID), .instant(entry.at), .text(entry.decision), .text(entry.ground), .text(entry.source),
                .optional(entry.detail), caller.kind, caller.customerID, caller.key,
            ])
    }

    // The rows of plain grants are not looked at below: only other decisions are asked for.

    /// Whether an identical entry exists.
    public func has(
        transaction rowID: Int64, decision: String, ground: String, detail: String
    ) throws -> Bool {
        try connection.first(
            """
            SELECT 1 FROM evidence WHERE transaction_row_id = ?1 AND decision = ?2 AND ground = ?3 AND detail = ?4
            """, [.integer(rowID), .text(decision), .text(ground), .text(detail)]
        ) { _ in true } ?? false
    }

    /// Whether a decision was recorded before on this ground.
    public func has(transaction rowID: Int64, decision: String, ground: String) throws -> Bool {
        try count(transaction: rowID, decision: decision, ground: ground, limit: 1) > 0
    }

    /// Whether a decision was recorded before on this ground for one caller.
    public func has(
        transaction rowID: Int64, decision: String, ground: String, caller: String
    ) throws -> Bool {
        try connection.query(
            """
            SELECT \(caller: "evidence") FROM evidence WHERE transaction_row_id = ?1 AND decision = ?2 AND ground = ?3
            """, [.integer(rowID), .text(decision), .text(ground)]
        ) { CallerColumns.name($0) }.contains { $0.map { Array($0.utf8) } == Array(caller.utf8) }
    }

    /// How often a decision was recorded on this ground, at most `limit`.
    public func count(transaction rowID: Int64, decision: String, ground: String, limit: Int64) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS count FROM (SELECT 1 FROM evidence WHERE transaction_row_id = ?1 AND decision = ?2 \
            AND ground = ?3 LIMIT ?4) AS noted
            """, [.integer(rowID), .text(decision), .text(ground), .integer(limit)]
        ) { $0.integer("count") } ?? 0
    }

    /// The newest two hundred, oldest first, behind the decision that the grant's row says.
    public func list(transaction rowID: Int64) throws -> [Entry] {
        try connection.query(
            """
            SELECT \(Self.columns), \(caller: "found") FROM (SELECT 0 AS position, \(GrantDecision.columns) FROM \
            grants g JOIN grant_decisions d ON d.number = g.decision WHERE g.transaction_row_id = ?1 UNION ALL \
            SELECT row_id, at, decision, ground, source, detail, \(CallerColumns.names) FROM (SELECT row_id, \
            \(Self.columns), \(CallerColumns.names) FROM evidence WHERE transaction_row_id = ?1 ORDER BY row_id DESC \
            LIMIT 200) AS newest) AS found ORDER BY position
            """, [.integer(rowID)]
        ) { row in
            Entry(
                at: row.instant("at"), decision: row.text("decision"), ground: row.text("ground"),
                source: row.text("source"), caller: CallerColumns.name(row) ?? "",
                detail: row.optionalText("detail"))
        }
    }
}
