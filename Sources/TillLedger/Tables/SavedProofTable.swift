import TillBilling
import TillSQL

extension Schema {
    /// Proofs that were answered before they were settled (G4, order 2), and what decisions looked at. The device of a
    /// receipt that waits for Apple is kept with it.
    static let savedProofs: StaticString = """
        CREATE TABLE saved_proofs (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
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
            UNIQUE (environment, transaction_id, caller, claimed_order, device)
        ) STRICT;
        CREATE INDEX saved_proofs_due ON saved_proofs (due_at, sequence);

        ALTER TABLE waiting_proofs ADD COLUMN device TEXT;
        ALTER TABLE evidence ADD COLUMN detail TEXT;
        CREATE INDEX orders_unpaid_by_device ON orders (device, sequence)
            WHERE device IS NOT NULL AND transaction_id IS NULL;
        """

    /// Signed transactions come before receipts, and callers take turns: found without reading proofs.
    static let savedProofTurns: StaticString = """
        DROP INDEX saved_proofs_due;
        CREATE INDEX saved_proofs_due ON saved_proofs (kind, due_at, sequence, caller);
        """

    /// From where a proof was brought (an address, of IPv6 a /64; empty if that says nothing), as long as its row is
    /// there: addresses take turns too. Production and sandbox are separate queues.
    static let fairTurns: StaticString = """
        ALTER TABLE saved_proofs ADD COLUMN network TEXT NOT NULL DEFAULT '';
        ALTER TABLE waiting_proofs ADD COLUMN network TEXT NOT NULL DEFAULT '';
        DROP INDEX saved_proofs_due;
        CREATE INDEX saved_proofs_due ON saved_proofs (environment, kind, due_at, sequence);
        DROP INDEX waiting_proofs_due;
        CREATE INDEX waiting_proofs_due ON waiting_proofs (environment, due_at, sequence);
        """

    /// A receipt and its signed copy are two proofs. Of a receipt that waits it is kept whether its own words are in
    /// the ledger already, so that only Apple's copy is waited for.
    static let savedProofKinds: StaticString = """
        CREATE TABLE saved_proofs_by_kind (
            sequence INTEGER PRIMARY KEY,
            environment INTEGER NOT NULL CHECK (environment IN (1, 2)),
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
        INSERT INTO saved_proofs_by_kind SELECT sequence, environment, transaction_id, kind, body, caller, named_user,
            claimed_order, device, received_at, attempts, due_at, detail, network FROM saved_proofs;
        DROP TABLE saved_proofs;
        ALTER TABLE saved_proofs_by_kind RENAME TO saved_proofs;
        CREATE INDEX saved_proofs_due ON saved_proofs (environment, kind, due_at, sequence);

        ALTER TABLE waiting_proofs ADD COLUMN is_told INTEGER NOT NULL DEFAULT 0 CHECK (is_told IN (0, 1));
        """
}

/// `saved_proofs`: genuine proofs whose devices were told to finish before anything was granted (G4, order 2). A row
/// goes when its transaction is settled, and the proof is in `proofs` by then.
public struct SavedProofTable {
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
        /// How often it could not be settled.
        public let attempts: Int64
        /// Why not; for operators, in English.
        public let detail: String
    }

    /// Due at once. The same proof from the same bearer again changes nothing; a signed copy is another one than the
    /// receipt. Of one proof a caller may have `WaitingProofTable.mostVariants`, with those that wait for Apple: other
    /// order ids, other devices. All callers together may have `WaitingProofTable.mostOfOne`, counted alike.
    ///
    /// - Returns: whether it is stored; false where it would be one variant too many.
    public func insert(
        _ id: TransactionID, in environment: Environment, kind: ProofTable.Kind, body: [UInt8],
        by bearer: WaitingProofTable.Bearer, at now: Instant
    ) throws -> Bool {
        let isThere = try session.first(
            """
            SELECT 1 FROM saved_proofs WHERE environment = ? AND transaction_id = ? AND caller = ? \
            AND claimed_order = ? AND device = ? AND kind = ?
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
            INSERT INTO saved_proofs (environment, transaction_id, kind, body, caller, named_user, claimed_order, \
            device, received_at, attempts, due_at, detail, network) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?9, 0, ?9, '', ?10) \
            ON CONFLICT (environment, transaction_id, caller, claimed_order, device, kind) DO NOTHING
            """,
            [
                environment.column, .text(id.text), .integer(kind.rawValue), .blob(body), .text(bearer.name),
                .optional(bearer.namedUser), .blob(bearer.claimedOrder?.bytes ?? []), .text(bearer.device?.text ?? ""),
                .instant(now), .text(bearer.network ?? ""),
            ])
        return true
    }

    /// Those of a kind and an environment whose time has come. The addresses take turns, at each address its callers
    /// and its transactions: what comes twice of either is behind what comes once. Of all that are due the thousand
    /// that are longest overdue are looked at.
    public func due(
        _ kind: ProofTable.Kind, in environment: Environment, at now: Instant, limit: Int
    ) throws -> [Stored] {
        try session.query(
            """
            SELECT s.sequence, s.environment, s.transaction_id, s.kind, s.body, s.caller, s.named_user, \
            s.claimed_order, s.device, s.received_at, s.attempts, s.detail, s.network \
            FROM (SELECT sequence, due_at, row_number() OVER (PARTITION BY CASE network WHEN '' THEN sequence \
            ELSE network END ORDER BY own, due_at, sequence) AS turn, own FROM \
            (SELECT sequence, due_at, network, \
            max(row_number() OVER (PARTITION BY caller, named_user ORDER BY due_at, sequence), \
            row_number() OVER (PARTITION BY transaction_id ORDER BY due_at, sequence)) AS own FROM \
            (SELECT sequence, due_at, caller, named_user, transaction_id, network FROM saved_proofs \
            WHERE environment = ? AND kind = ? AND due_at <= ? ORDER BY due_at, sequence LIMIT 1000)) \
            ORDER BY max(own, turn), due_at, sequence LIMIT ?) d \
            JOIN saved_proofs s ON s.sequence = d.sequence ORDER BY max(d.own, d.turn), d.due_at, d.sequence
            """, [environment.column, .integer(kind.rawValue), .instant(now), .integer(Int64(limit))]
        ) { row in
            guard let kind = ProofTable.Kind(rawValue: row.integer(3)) else { throw row.unreadable("a proof's kind") }
            let (claimed, device) = (row.blob(7), row.text(8))
            return Stored(
                sequence: row.integer(0), environment: try row.environment(1),
                transactionID: TransactionID(row.text(2)), kind: kind, body: row.blob(4),
                bearer: WaitingProofTable.Bearer(
                    name: row.text(5), namedUser: row.optionalText(6),
                    claimedOrder: claimed.isEmpty ? nil : try row.uniqueID(7),
                    device: device.isEmpty ? nil : DeviceID(device), network: Self.network(row.text(12))),
                receivedAt: row.instant(9), attempts: row.integer(10), detail: row.text(11))
        }
    }

    static func network(_ text: String) -> String? { text.isEmpty ? nil : text }

    public func postpone(_ sequence: Int64, until due: Instant, detail: String) throws {
        try session.execute(
            "UPDATE saved_proofs SET attempts = attempts + 1, due_at = ?, detail = ? WHERE sequence = ?",
            [.instant(due), .text(detail), .integer(sequence)])
    }

    public func remove(_ sequence: Int64) throws {
        try session.execute("DELETE FROM saved_proofs WHERE sequence = ?", [.integer(sequence)])
    }

    public func count() throws -> Int64 {
        try session.first("SELECT count(*) FROM saved_proofs", []) { $0.integer(0) } ?? 0
    }

    /// When the oldest of them came.
    public func oldest() throws -> Instant? {
        try session.first("SELECT received_at FROM saved_proofs ORDER BY sequence LIMIT 1", []) { $0.instant(0) }
    }
}
