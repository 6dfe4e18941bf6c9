import TillBilling
import TillSQL

/// `waiting_proofs` and `waiting_receipts`: purchases in genuine receipts that Apple has still to be asked about,
/// because a receipt does not say for whom it was paid (DESIGN §1). A row goes when its transaction is settled.
public struct WaitingProofTable {
    private static let columns: Columns = """
        environment, transaction_id, caller, named_user, claimed_order, received_at, attempts, due_at, detail, device, \
        network, is_told
        """

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    /// Who brought a receipt, in the words that evidence uses: `user:anna`, `key:backend`.
    public struct Bearer: Sendable, Hashable {
        public let name: String
        /// The user that a backend named.
        public let namedUser: String?
        public let claimedOrder: OrderID?
        /// The device it came from, as orders name it.
        public let device: DeviceID?
        /// The address it came from, by which callers take turns; nil for what a backend brings.
        public let network: String?

        public init(
            name: String, namedUser: String?, claimedOrder: OrderID?, device: DeviceID? = nil, network: String? = nil
        ) {
            self.name = name
            self.namedUser = namedUser
            self.claimedOrder = claimedOrder
            self.device = device
            self.network = network
        }
    }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let environment: Environment
        public let transactionID: TransactionID
        public let bearer: Bearer
        public let receivedAt: Instant
        /// How often Apple has been asked in vain.
        public let attempts: Int64
        public let dueAt: Instant
        /// Why it still waits; for operators, in English.
        public let detail: String
        /// Whether the ledger has its own words already, and only Apple's copy is waited for.
        public let isTold: Bool
    }

    /// How many variants of one question a caller may have: a purchase with several order ids. Apple is asked once for
    /// all of them, and honest apps send one or two.
    public static let mostVariants: Int64 = 8
    /// How many variants of one question all callers together may have, saved or waiting.
    public static let mostOfOne: Int64 = 64

    /// Stores the receipt, once for all its purchases, and the question about one of them. The same question again
    /// changes nothing.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the receipt.
    ///   - isBounded: whether more than `mostVariants` of this caller, or `mostOfOne` of all, are not kept.
    public func insert(
        _ id: TransactionID, in environment: Environment, by bearer: Bearer, receipt: [UInt8], digest: [UInt8],
        at now: Instant, due: Instant, detail: String, isBounded: Bool = true
    ) throws {
        let isThere = try session.first(
            """
            SELECT 1 FROM waiting_proofs WHERE environment = ?1 AND transaction_id = ?2 AND caller = ?3 \
            AND claimed_order = ?4
            """,
            [
                environment.column, .text(id.text), .text(bearer.name), .blob(bearer.claimedOrder?.bytes ?? []),
            ]
        ) { _ in true }
        // Before the receipt is stored: one that no question refers to would stay for ever.
        guard isThere == nil else { return }
        guard try !isBounded || hasRoom(for: id, in: environment, by: bearer.name) else { return }
        let known = try session.first("SELECT sequence FROM waiting_receipts WHERE digest = ?1", [.blob(digest)]) {
            $0.integer("sequence")
        }
        let kept =
            try known
            ?? session.insert(
                "INSERT INTO waiting_receipts (digest, body) VALUES (?1, ?2)", [.blob(digest), .blob(receipt)])
        _ = try session.insertIfNew(
            """
            INSERT INTO waiting_proofs (\(Self.columns), receipt_sequence) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9, ?10, 0, ?11) \
            ON CONFLICT (environment, transaction_id, caller, claimed_order) DO NOTHING
            """,
            [
                environment.column, .text(id.text), .text(bearer.name), .optional(bearer.namedUser),
                .blob(bearer.claimedOrder?.bytes ?? []), .instant(now), .instant(due), .text(detail),
                .optional(bearer.device?.text), .text(bearer.network ?? ""), .integer(kept),
            ])
    }

    /// Whether one more variant may be kept, with those in `saved_proofs`: what is saved now waits here a moment later.
    func hasRoom(for id: TransactionID, in environment: Environment, by caller: String) throws -> Bool {
        let (all, own) =
            try session.first(
                """
                SELECT count(*) AS variants, count(*) FILTER (WHERE caller = ?1) AS own FROM (SELECT caller \
                FROM saved_proofs WHERE environment = ?2 AND transaction_id = ?3 UNION ALL SELECT caller \
                FROM waiting_proofs WHERE environment = ?2 AND transaction_id = ?3) AS kept
                """, [.text(caller), environment.column, .text(id.text)]
            ) { ($0.integer("variants"), $0.integer("own")) } ?? (0, 0)
        return own < Self.mostVariants && all < Self.mostOfOne
    }

    /// Those of an environment whose time has come, in turns as in `SavedProofTable.due`.
    public func due(in environment: Environment, at now: Instant, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT w.sequence, \(Self.columns, of: "w") FROM (SELECT sequence, due_at, \
            CASE WHEN own > row_number() OVER at_network THEN own ELSE row_number() OVER at_network END AS turn \
            FROM (SELECT sequence, due_at, network, CASE WHEN of_caller > of_transaction THEN of_caller \
            ELSE of_transaction END AS own FROM (SELECT sequence, due_at, network, row_number() OVER \
            (PARTITION BY caller, named_user ORDER BY due_at, sequence) AS of_caller, row_number() OVER \
            (PARTITION BY transaction_id ORDER BY due_at, sequence) AS of_transaction \
            FROM (SELECT sequence, due_at, caller, named_user, transaction_id, network FROM waiting_proofs \
            WHERE environment = ?1 AND due_at <= ?2 ORDER BY due_at, sequence \
            LIMIT 1000) AS overdue) AS numbered) AS ranked WINDOW at_network AS (PARTITION BY network, \
            CASE WHEN network = '' THEN sequence END ORDER BY own, due_at, sequence) ORDER BY turn, due_at, sequence \
            LIMIT ?3) d JOIN waiting_proofs w ON w.sequence = d.sequence ORDER BY d.turn, d.due_at, d.sequence
            """, [environment.column, .instant(now), .integer(Int64(limit))], Self.read)
    }

    /// All questions about one purchase: those whose words the ledger does not have yet first, of these the oldest.
    public func list(_ id: TransactionID, in environment: Environment) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, \(Self.columns) FROM waiting_proofs WHERE environment = ?1 AND transaction_id = ?2 \
            ORDER BY is_told, sequence LIMIT 200
            """, [environment.column, .text(id.text)], Self.read)
    }

    public func receipt(of sequence: Int64) throws -> [UInt8]? {
        try session.first(
            """
            SELECT r.body FROM waiting_proofs w JOIN waiting_receipts r ON r.sequence = w.receipt_sequence \
            WHERE w.sequence = ?1
            """, [.integer(sequence)]
        ) { $0.blob("body") }
    }

    /// Apple was asked in vain.
    public func postpone(_ sequence: Int64, until due: Instant, detail: String) throws {
        try session.execute(
            "UPDATE waiting_proofs SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE sequence = ?3",
            [.instant(due), .text(detail), .integer(sequence)])
    }

    /// The ledger has its words, and Apple does not know the purchase yet.
    public func markTold(_ sequence: Int64) throws {
        try session.execute("UPDATE waiting_proofs SET is_told = 1 WHERE sequence = ?1", [.integer(sequence)])
    }

    /// Those of a purchase whose words the ledger has are asked about again together.
    public func postponeTold(
        _ id: TransactionID, in environment: Environment, until due: Instant, detail: String
    ) throws {
        try session.execute(
            """
            UPDATE waiting_proofs SET due_at = ?1, detail = ?2 WHERE environment = ?3 AND transaction_id = ?4 \
            AND is_told = 1
            """,
            [.instant(due), .text(detail), environment.column, .text(id.text)])
    }

    /// This question is answered, and others about the same purchase may not be.
    public func remove(_ sequence: Int64) throws {
        let receipt = try session.first(
            "SELECT receipt_sequence FROM waiting_proofs WHERE sequence = ?1", [.integer(sequence)]
        ) { $0.integer("receipt_sequence") }
        try session.execute("DELETE FROM waiting_proofs WHERE sequence = ?1", [.integer(sequence)])
        if let receipt { try removeUnused(receipt) }
    }

    private func removeUnused(_ receipt: Int64) throws {
        try session.execute(
            """
            DELETE FROM waiting_receipts WHERE sequence = ?1 \
            AND NOT EXISTS (SELECT 1 FROM waiting_proofs WHERE receipt_sequence = ?1)
            """, [.integer(receipt)])
    }

    /// The purchase is settled: nobody needs to ask about it any more, whoever brought it.
    ///
    /// - Returns: how many questions there were.
    @discardableResult
    public func remove(_ id: TransactionID, in environment: Environment) throws -> Int {
        let receipts = try session.query(
            "SELECT DISTINCT receipt_sequence FROM waiting_proofs WHERE environment = ?1 AND transaction_id = ?2",
            [environment.column, .text(id.text)]
        ) { $0.integer("receipt_sequence") }
        let count = try session.execute(
            "DELETE FROM waiting_proofs WHERE environment = ?1 AND transaction_id = ?2",
            [environment.column, .text(id.text)])
        for receipt in receipts { try removeUnused(receipt) }
        return count
    }

    public func count() throws -> Int64 {
        try session.first("SELECT count(*) AS count FROM waiting_proofs", []) { $0.integer("count") } ?? 0
    }

    /// When the oldest of them came.
    public func oldest() throws -> Instant? {
        try session.first("SELECT received_at FROM waiting_proofs ORDER BY sequence LIMIT 1", []) {
            $0.instant("received_at")
        }
    }

    private static func read(_ row: any Row) throws -> Stored {
        let claimed = row.blob("claimed_order")
        return Stored(
            sequence: row.integer("sequence"), environment: try row.environment("environment"),
            transactionID: TransactionID(row.text("transaction_id")),
            bearer: Bearer(
                name: row.text("caller"), namedUser: row.optionalText("named_user"),
                claimedOrder: claimed.isEmpty ? nil : try row.uniqueID("claimed_order"),
                device: row.optionalText("device").map(DeviceID.init),
                network: SavedProofTable.network(row.text("network"))),
            receivedAt: row.instant("received_at"), attempts: row.integer("attempts"), dueAt: row.instant("due_at"),
            detail: row.text("detail"),
            isTold: row.integer("is_told") != 0)
    }
}
