import TillBilling

/// `waiting_proofs` and `waiting_receipts`: purchases in genuine receipts that Apple has still to be asked about,
/// because a receipt does not say for whom it was paid (DESIGN §1). A row goes when its transaction is settled.
public struct WaitingProofTable {
    private let session: any Session
    public init(_ session: any Session) { self.session = session }

    /// Who brought a receipt, in the words that evidence uses: `user:anna`, `key:backend`.
    public struct Bearer: Sendable, Hashable {
        public let name: String
        /// The user that a backend named.
        public let namedUser: String?
        public let claimedOrder: OrderID?
        /// The device it came from, as orders name it.
        public let device: DeviceID?

        public init(name: String, namedUser: String?, claimedOrder: OrderID?, device: DeviceID? = nil) {
            self.name = name
            self.namedUser = namedUser
            self.claimedOrder = claimedOrder
            self.device = device
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
    }

    /// Stores the receipt, once for all its purchases, and the question about one of them. The same question again
    /// changes nothing.
    ///
    /// - Parameter digest: SHA-256 of the receipt.
    public func insert(
        _ id: TransactionID, in environment: Environment, by bearer: Bearer, receipt: [UInt8], digest: [UInt8],
        at now: Instant, due: Instant, detail: String
    ) throws {
        let known = try session.first("SELECT sequence FROM waiting_receipts WHERE digest = ?", [.blob(digest)]) {
            $0.integer(0)
        }
        let kept =
            try known
            ?? session.insert(
                "INSERT INTO waiting_receipts (digest, body) VALUES (?, ?)", [.blob(digest), .blob(receipt)])
        _ = try session.insertIfNew(
            """
            INSERT INTO waiting_proofs (environment, transaction_id, caller, named_user, claimed_order, \
            receipt_sequence, received_at, attempts, due_at, detail, device) \
            VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?) \
            ON CONFLICT (environment, transaction_id, caller, claimed_order) DO NOTHING
            """,
            [
                environment.column, .text(id.text), .text(bearer.name), .optional(bearer.namedUser),
                .blob(bearer.claimedOrder?.bytes ?? []), .integer(kept), .instant(now), .instant(due), .text(detail),
                .optional(bearer.device?.text),
            ])
    }

    /// Those whose time has come, the longest overdue first.
    public func due(at now: Instant, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, environment, transaction_id, caller, named_user, claimed_order, received_at, attempts, \
            due_at, detail, device FROM waiting_proofs WHERE due_at <= ? ORDER BY due_at, sequence LIMIT ?
            """, [.instant(now), .integer(Int64(limit))], Self.read)
    }

    public func receipt(of sequence: Int64) throws -> [UInt8]? {
        try session.first(
            """
            SELECT r.body FROM waiting_proofs w JOIN waiting_receipts r ON r.sequence = w.receipt_sequence \
            WHERE w.sequence = ?
            """, [.integer(sequence)]
        ) { $0.blob(0) }
    }

    /// Apple was asked in vain.
    public func postpone(_ sequence: Int64, until due: Instant, detail: String) throws {
        try session.execute(
            "UPDATE waiting_proofs SET attempts = attempts + 1, due_at = ?, detail = ? WHERE sequence = ?",
            [.instant(due), .text(detail), .integer(sequence)])
    }

    /// The purchase is settled: nobody needs to ask about it any more, whoever brought it.
    public func remove(_ id: TransactionID, in environment: Environment) throws {
        let receipts = try session.query(
            "SELECT DISTINCT receipt_sequence FROM waiting_proofs WHERE environment = ? AND transaction_id = ?",
            [environment.column, .text(id.text)]
        ) { $0.integer(0) }
        try session.execute(
            "DELETE FROM waiting_proofs WHERE environment = ? AND transaction_id = ?",
            [environment.column, .text(id.text)])
        for receipt in receipts {
            try session.execute(
                """
                DELETE FROM waiting_receipts WHERE sequence = ?1 \
                AND NOT EXISTS (SELECT 1 FROM waiting_proofs WHERE receipt_sequence = ?1)
                """, [.integer(receipt)])
        }
    }

    public func count() throws -> Int64 {
        try session.first("SELECT count(*) FROM waiting_proofs", []) { $0.integer(0) } ?? 0
    }

    private static func read(_ row: any Row) throws -> Stored {
        let claimed = row.blob(5)
        return Stored(
            sequence: row.integer(0), environment: try row.environment(1), transactionID: TransactionID(row.text(2)),
            bearer: Bearer(
                name: row.text(3), namedUser: row.optionalText(4),
                claimedOrder: claimed.isEmpty ? nil : try row.uniqueID(5),
                device: row.optionalText(10).map(DeviceID.init)),
            receivedAt: row.instant(6), attempts: row.integer(7), dueAt: row.instant(8), detail: row.text(9))
    }
}
