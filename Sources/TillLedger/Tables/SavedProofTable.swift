import TillBilling
import TillSQL

extension Schema {
    /// Proofs that were answered before they were processed (*save then finish*): signed transactions come before
    /// receipts, and production and sandbox are separate queues. A receipt and its signed copy are two proofs.
    /// `network` is as in `waiting_proofs`.
    static let savedProofs: StaticString = """
        CREATE TABLE saved_proofs (
            row_id INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL,
            transaction_id TEXT NOT NULL,
            kind INTEGER NOT NULL CHECK (kind IN (1, 2)),
            body BLOB NOT NULL,
            caller TEXT NOT NULL,
            named_user TEXT,
            claimed_order BLOB NOT NULL,
            device TEXT NOT NULL,
            received_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            due_at INTEGER NOT NULL,
            detail TEXT NOT NULL,
            network TEXT NOT NULL,
            UNIQUE (environment, transaction_id, caller, claimed_order, device, kind)
        ) STRICT;
        CREATE INDEX saved_proofs_due ON saved_proofs (environment, kind, due_at, row_id);
        """
}

/// `saved_proofs`: verified proofs whose devices may finish before anything is granted. A row is deleted after
/// its transaction is processed; the proof is then in `proofs`.
public struct SavedProofTable {
    private static let columns: Columns = """
        environment, transaction_id, kind, body, caller, named_user, claimed_order, device, received_at, attempts, \
        detail, network, phone
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let environment: StoreEnvironment
        public let transactionID: TransactionID
        public let kind: ProofTable.Kind
        public let body: [UInt8]
        public let submitter: WaitingProofTable.Submitter
        public let receivedAt: Instant
        /// How many attempts to process it failed.
        public let attempts: Int64
        /// Why; for operators, in English.
        public let detail: String
    }

    /// Stores a proof, due at once. The same proof from the same bearer again changes nothing; a receipt and its signed
    /// copy are different proofs. For one transaction a caller may have `WaitingProofTable.maximumVariants` proofs with
    /// different order ids or devices, and all callers together `WaitingProofTable.maximumPerCaller`. Both limits
    /// include proofs that wait for Apple.
    ///
    /// - Returns: whether it is stored; false if it would exceed a limit.
    public func insert(
        _ id: TransactionID, in environment: StoreEnvironment, kind: ProofTable.Kind, body: [UInt8],
        by submitter: WaitingProofTable.Submitter, at now: Instant
    ) throws -> Bool {
        let isThere = try connection.first(
            """
            SELECT 1 FROM saved_proofs WHERE environment = ?1 AND transaction_id = ?2 AND caller = ?3 \
            AND claimed_order = ?4 AND device = ?5 AND kind = ?6
            """,
            [
                environment.column, .text(id.text), .text(submitter.name), .blob(submitter.claimedOrder?.bytes ?? []),
                .text(submitter.device?.text ?? ""), .integer(kind.rawValue),
            ]
        ) { _ in true }
        guard isThere == nil else { return true }
        guard try WaitingProofTable(connection).hasSpace(for: id, in: environment, by: submitter.name) else {
            return false
        }
        _ = try connection.insertIfNew(
            """
            INSERT INTO saved_proofs (\(Self.columns), due_at) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, '', ?10, ?11, ?9) \
            ON CONFLICT (environment, transaction_id, caller, claimed_order, device, kind) DO NOTHING
            """,
            [
                environment.column, .text(id.text), .integer(kind.rawValue), .blob(body), .text(submitter.name),
                .optional(submitter.namedUser), .blob(submitter.claimedOrder?.bytes ?? []),
                .text(submitter.device?.text ?? ""),
                .instant(now), .text(submitter.network ?? ""), .optional(submitter.phone?.text),
            ])
        return true
    }

    /// Whether proofs of a kind and an environment are due. Ordering them costs much more, also when there are none.
    public func hasDue(_ kind: ProofTable.Kind, in environment: StoreEnvironment, at now: Instant) throws -> Bool {
        try connection.first(
            "SELECT 1 FROM saved_proofs WHERE environment = ?1 AND kind = ?2 AND due_at <= ?3 LIMIT 1",
            [environment.column, .integer(kind.rawValue), .instant(now)]
        ) { _ in true } ?? false
    }

    /// The due proofs of a kind and an environment, alternating between networks and, within each network, between
    /// callers and transactions: the first proof of each comes before the second of any. Only the thousand longest
    /// overdue are considered.
    public func due(
        _ kind: ProofTable.Kind, in environment: StoreEnvironment, at now: Instant, limit: Int
    ) throws -> [Stored] {
        try connection.query(
            """
            SELECT s.row_id, \(Self.columns, of: "s") FROM (SELECT row_id, due_at, \
            CASE WHEN own > row_number() OVER at_network THEN own ELSE row_number() OVER at_network END AS turn \
            FROM (SELECT row_id, due_at, network, CASE WHEN of_caller > of_transaction THEN of_caller \
            ELSE of_transaction END AS own FROM (SELECT row_id, due_at, network, row_number() OVER \
            (PARTITION BY caller, named_user ORDER BY due_at, row_id) AS of_caller, row_number() OVER \
            (PARTITION BY transaction_id ORDER BY due_at, row_id) AS of_transaction \
            FROM (SELECT row_id, due_at, caller, named_user, transaction_id, network FROM saved_proofs \
            WHERE environment = ?1 AND kind = ?2 AND due_at <= ?3 ORDER BY due_at, row_id \
            LIMIT 1000) AS overdue) AS numbered) AS ranked WINDOW at_network AS (PARTITION BY network, \
            CASE WHEN network = '' THEN row_id END ORDER BY own, due_at, row_id) ORDER BY turn, due_at, row_id \
            LIMIT ?4) d JOIN saved_proofs s ON s.row_id = d.row_id ORDER BY d.turn, d.due_at, d.row_id
            """, [environment.column, .integer(kind.rawValue), .instant(now), .integer(Int64(limit))]
        ) { row in
            guard let kind = ProofTable.Kind(rawValue: row.integer("kind")) else {
                throw row.unreadable("a proof's kind")
            }
            let (claimed, device) = (row.blob("claimed_order"), row.text("device"))
            return Stored(
                rowID: row.integer("row_id"), environment: try row.environment("environment"),
                transactionID: TransactionID(row.text("transaction_id")), kind: kind, body: row.blob("body"),
                submitter: WaitingProofTable.Submitter(
                    name: row.text("caller"), namedUser: row.optionalText("named_user"),
                    claimedOrder: claimed.isEmpty ? nil : try row.uniqueID("claimed_order"),
                    device: device.isEmpty ? nil : DeviceID(device),
                    phone: row.optionalText("phone").map(DeviceID.init), network: Self.network(row.text("network"))),
                receivedAt: row.instant("received_at"), attempts: row.integer("attempts"), detail: row.text("detail"))
        }
    }

    static func network(_ text: String) -> String? { text.isEmpty ? nil : text }

    public func postpone(_ rowID: Int64, until due: Instant, detail: String) throws {
        try connection.write(
            "UPDATE saved_proofs SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE row_id = ?3",
            [.instant(due), .text(detail), .integer(rowID)])
    }

    public func remove(_ rowID: Int64) throws {
        try connection.write("DELETE FROM saved_proofs WHERE row_id = ?1", [.integer(rowID)])
    }

    public func count() throws -> Int64 {
        try connection.first("SELECT count(*) AS count FROM saved_proofs", []) { $0.integer("count") } ?? 0
    }

    /// When the oldest of them arrived.
    public func oldest() throws -> Instant? {
        try connection.first("SELECT received_at FROM saved_proofs ORDER BY row_id LIMIT 1", []) {
            $0.instant("received_at")
        }
    }
}
