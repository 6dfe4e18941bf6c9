import TillBilling
import TillSQL

extension Schema {
    /// Proofs that were answered before they were processed (*save then finish*): signed transactions come before
    /// receipts, and production and sandbox are separate queues. A receipt and its signed copy are two proofs.
    /// `network` is as in `waiting_proofs`.
    static let savedProofs: StaticString = """
        CREATE TABLE saved_proofs (
            sequence INTEGER PRIMARY KEY,
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
        CREATE INDEX saved_proofs_due ON saved_proofs (environment, kind, due_at, sequence);
        """
}

/// `saved_proofs`: verified proofs whose devices may finish before anything is granted. A row is deleted after
/// its transaction is processed; the proof is then in `proofs`.
public struct SavedProofTable {
    private static let columns: Columns = """
        environment, transaction_id, kind, body, caller, named_user, claimed_order, device, received_at, attempts, \
        detail, network
        """

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let environment: Environment
        public let transactionID: TransactionID
        public let kind: ProofTable.Kind
        public let body: [UInt8]
        public let bearer: WaitingProofTable.Bearer
        public let receivedAt: Instant
        /// How many attempts to process it failed.
        public let attempts: Int64
        /// Why; for operators, in English.
        public let detail: String
    }

    /// Stores a proof, due at once. The same proof from the same bearer again changes nothing; a receipt and its signed
    /// copy are different proofs. For one transaction a caller may have `WaitingProofTable.mostVariants` proofs with
    /// different order ids or devices, and all callers together `WaitingProofTable.mostOfOne`. Both limits include
    /// proofs that wait for Apple.
    ///
    /// - Returns: whether it is stored; false if it would exceed a limit.
    public func insert(
        _ id: TransactionID, in environment: Environment, kind: ProofTable.Kind, body: [UInt8],
        by bearer: WaitingProofTable.Bearer, at now: Instant
    ) throws -> Bool {
        let isThere = try session.first(
            """
            SELECT 1 FROM saved_proofs WHERE environment = ?1 AND transaction_id = ?2 AND caller = ?3 \
            AND claimed_order = ?4 AND device = ?5 AND kind = ?6
            """,
            [
                environment.column, .text(id.text), .text(bearer.name), .blob(bearer.claimedOrder?.bytes ?? []),
                .text(bearer.device?.text ?? ""), .integer(kind.rawValue),
            ]
        ) { _ in true }
        guard isThere == nil else { return true }
        guard try WaitingProofTable(session).hasRoom(for: id, in: environment, by: bearer.name) else { return false }
        _ = try session.insertIfNew(
            """
            INSERT INTO saved_proofs (\(Self.columns), due_at) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, '', ?10, ?9) \
            ON CONFLICT (environment, transaction_id, caller, claimed_order, device, kind) DO NOTHING
            """,
            [
                environment.column, .text(id.text), .integer(kind.rawValue), .blob(body), .text(bearer.name),
                .optional(bearer.namedUser), .blob(bearer.claimedOrder?.bytes ?? []), .text(bearer.device?.text ?? ""),
                .instant(now), .text(bearer.network ?? ""),
            ])
        return true
    }

    /// The due proofs of a kind and an environment, alternating between networks and, within each network, between
    /// callers and transactions: the first proof of each comes before the second of any. Only the thousand longest
    /// overdue are considered.
    public func due(
        _ kind: ProofTable.Kind, in environment: Environment, at now: Instant, limit: Int
    ) throws -> [Stored] {
        try session.query(
            """
            SELECT s.sequence, \(Self.columns, of: "s") FROM (SELECT sequence, due_at, \
            CASE WHEN own > row_number() OVER at_network THEN own ELSE row_number() OVER at_network END AS turn \
            FROM (SELECT sequence, due_at, network, CASE WHEN of_caller > of_transaction THEN of_caller \
            ELSE of_transaction END AS own FROM (SELECT sequence, due_at, network, row_number() OVER \
            (PARTITION BY caller, named_user ORDER BY due_at, sequence) AS of_caller, row_number() OVER \
            (PARTITION BY transaction_id ORDER BY due_at, sequence) AS of_transaction \
            FROM (SELECT sequence, due_at, caller, named_user, transaction_id, network FROM saved_proofs \
            WHERE environment = ?1 AND kind = ?2 AND due_at <= ?3 ORDER BY due_at, sequence \
            LIMIT 1000) AS overdue) AS numbered) AS ranked WINDOW at_network AS (PARTITION BY network, \
            CASE WHEN network = '' THEN sequence END ORDER BY own, due_at, sequence) ORDER BY turn, due_at, sequence \
            LIMIT ?4) d JOIN saved_proofs s ON s.sequence = d.sequence ORDER BY d.turn, d.due_at, d.sequence
            """, [environment.column, .integer(kind.rawValue), .instant(now), .integer(Int64(limit))]
        ) { row in
            guard let kind = ProofTable.Kind(rawValue: row.integer("kind")) else {
                throw row.unreadable("a proof's kind")
            }
            let (claimed, device) = (row.blob("claimed_order"), row.text("device"))
            return Stored(
                sequence: row.integer("sequence"), environment: try row.environment("environment"),
                transactionID: TransactionID(row.text("transaction_id")), kind: kind, body: row.blob("body"),
                bearer: WaitingProofTable.Bearer(
                    name: row.text("caller"), namedUser: row.optionalText("named_user"),
                    claimedOrder: claimed.isEmpty ? nil : try row.uniqueID("claimed_order"),
                    device: device.isEmpty ? nil : DeviceID(device), network: Self.network(row.text("network"))),
                receivedAt: row.instant("received_at"), attempts: row.integer("attempts"), detail: row.text("detail"))
        }
    }

    static func network(_ text: String) -> String? { text.isEmpty ? nil : text }

    public func postpone(_ sequence: Int64, until due: Instant, detail: String) throws {
        try session.execute(
            "UPDATE saved_proofs SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE sequence = ?3",
            [.instant(due), .text(detail), .integer(sequence)])
    }

    public func remove(_ sequence: Int64) throws {
        try session.execute("DELETE FROM saved_proofs WHERE sequence = ?1", [.integer(sequence)])
    }

    public func count() throws -> Int64 {
        try session.first("SELECT count(*) AS count FROM saved_proofs", []) { $0.integer("count") } ?? 0
    }

    /// When the oldest of them arrived.
    public func oldest() throws -> Instant? {
        try session.first("SELECT received_at FROM saved_proofs ORDER BY sequence LIMIT 1", []) {
            $0.instant("received_at")
        }
    }
}
