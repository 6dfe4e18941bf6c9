import TillBilling
import TillSQL

/// `waiting_proofs` and `waiting_receipts`: purchases in verified receipts about which Apple has yet to be asked,
/// because a receipt does not name the customer who paid (DESIGN §1). A row is deleted after its transaction is
/// processed.
public struct WaitingProofTable {
    private static let columns: Columns = """
        environment, transaction_id, caller, named_user, claimed_order, received_at, attempts, due_at, detail, device, \
        network, is_recorded, phone
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// The sender of a receipt, named as in evidence: `user:anna`, `key:backend`.
    public struct Submitter: Sendable, Hashable {
        public let name: String
        /// The user that a backend named.
        public let namedUser: String?
        public let claimedOrder: OrderID?
        /// The device that submitted it, as orders name it.
        public let device: DeviceID?
        /// The phone that submitted it, if it was named beside that device.
        public let phone: DeviceID?
        /// The client network that submitted it, used to alternate between callers; nil for a backend's.
        public let network: String?

        public init(
            name: String, namedUser: String?, claimedOrder: OrderID?, device: DeviceID? = nil, phone: DeviceID? = nil,
            network: String? = nil
        ) {
            self.phone = phone
            self.name = name
            self.namedUser = namedUser
            self.claimedOrder = claimedOrder
            self.device = device
            self.network = network
        }
    }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let environment: StoreEnvironment
        public let transactionID: TransactionID
        public let submitter: Submitter
        /// The stored receipt, which several rows may share.
        let receiptRowID: Int64
        public let receivedAt: Instant
        /// How many requests to Apple failed.
        public let attempts: Int64
        public let dueAt: Instant
        /// Why it still waits; for operators, in English.
        public let detail: String
        /// Whether the ledger has processed the claims beside the receipt, so that only Apple's copy is awaited.
        public let isRecorded: Bool
    }

    /// The maximum number of rows for one purchase and one caller, each with a different order id. Apple is asked once
    /// for all of them, and ordinary apps send one or two.
    public static let maximumVariants: Int64 = 8
    /// The maximum number of rows for one purchase and all callers together, saved or waiting.
    public static let maximumPerCaller: Int64 = 64

    /// The `detail` of a row whose receipt counts as malformed: a fresh receipt takes its place.
    static let needsAnotherReceipt = "Apple has called the receipt malformed for a day; a fresh one is needed"

    /// Stores the receipt, once for all its purchases, and a row for one of them. Storing the same row again changes
    /// nothing, except that a fresh receipt replaces one that counts as malformed.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the receipt.
    ///   - isBounded: whether the limits `maximumVariants` for this caller and `maximumPerCaller` for all callers
    ///     apply; a row beyond them is not stored.
    public func insert(
        _ id: TransactionID, in environment: StoreEnvironment, by submitter: Submitter, receipt: [UInt8],
        digest: [UInt8],
        at now: Instant, due: Instant, detail: String, isBounded: Bool = true
    ) throws {
        let existing = try connection.first(
            """
            SELECT row_id, \(Self.columns), receipt_row_id FROM waiting_proofs WHERE environment = ?1 \
            AND transaction_id = ?2 AND caller = ?3 AND claimed_order = ?4
            """,
            [
                environment.column, .text(id.text), .text(submitter.name), .blob(submitter.claimedOrder?.bytes ?? []),
            ], Self.read)
        // Checked before the receipt is stored: a receipt without a row would never be deleted.
        if let existing {
            guard existing.detail == Self.needsAnotherReceipt else { return }
            return try replace(existing, with: try store(receipt, digest), at: now, due: due, detail: detail)
        }
        guard try !isBounded || hasSpace(for: id, in: environment, by: submitter.name) else { return }
        let kept = try store(receipt, digest)
        _ = try connection.insertIfNew(
            """
            INSERT INTO waiting_proofs (\(Self.columns), receipt_row_id) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9, ?10, 0, ?11, ?12) \
            ON CONFLICT (environment, transaction_id, caller, claimed_order) DO NOTHING
            """,
            [
                environment.column, .text(id.text), .text(submitter.name), .optional(submitter.namedUser),
                .blob(submitter.claimedOrder?.bytes ?? []), .instant(now), .instant(due), .text(detail),
                .optional(submitter.device?.text), .text(submitter.network ?? ""),
                .optional(submitter.phone?.text), .integer(kept),
            ])
    }

    private func store(_ receipt: [UInt8], _ digest: [UInt8]) throws -> Int64 {
        let known = try connection.first("SELECT row_id FROM waiting_receipts WHERE digest = ?1", [.blob(digest)]) {
            $0.integer("row_id")
        }
        return try known
            ?? connection.insert(
                "INSERT INTO waiting_receipts (digest, body) VALUES (?1, ?2)", [.blob(digest), .blob(receipt)])
    }

    private func replace(
        _ row: Stored, with receipt: Int64, at now: Instant, due: Instant, detail: String
    ) throws {
        guard receipt != row.receiptRowID else { return }
        try connection.write(
            """
            UPDATE waiting_proofs SET receipt_row_id = ?1, received_at = ?2, due_at = ?3, detail = ?4, attempts = 0 \
            WHERE row_id = ?5
            """, [.integer(receipt), .instant(now), .instant(due), .text(detail), .integer(row.rowID)])
        try removeUnused(row.receiptRowID)
    }

    /// The oldest row with this receipt, of any caller.
    func find(_ id: TransactionID, in environment: StoreEnvironment, receipt digest: [UInt8]) throws -> Stored? {
        try connection.first(
            """
            SELECT w.row_id, \(Self.columns, of: "w"), w.receipt_row_id FROM waiting_proofs w JOIN waiting_receipts r \
            ON r.row_id = w.receipt_row_id WHERE w.environment = ?1 AND w.transaction_id = ?2 AND r.digest = ?3 \
            ORDER BY w.received_at, w.row_id LIMIT 1
            """, [environment.column, .text(id.text), .blob(digest)], Self.read)
    }

    /// Whether one more row may be stored. Rows in `saved_proofs` count too, because they may move here.
    func hasSpace(for id: TransactionID, in environment: StoreEnvironment, by caller: String) throws -> Bool {
        let (all, own) =
            try connection.first(
                """
                SELECT count(*) AS variants, count(*) FILTER (WHERE caller = ?1) AS own FROM (SELECT caller \
                FROM saved_proofs WHERE environment = ?2 AND transaction_id = ?3 UNION ALL SELECT caller \
                FROM waiting_proofs WHERE environment = ?2 AND transaction_id = ?3) AS kept
                """, [.text(caller), environment.column, .text(id.text)]
            ) { ($0.integer("variants"), $0.integer("own")) } ?? (0, 0)
        return own < Self.maximumVariants && all < Self.maximumPerCaller
    }

    /// The due rows of an environment, alternating as in `SavedProofTable.due`.
    public func due(in environment: StoreEnvironment, at now: Instant, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT w.row_id, \(Self.columns, of: "w"), w.receipt_row_id FROM (SELECT row_id, due_at, \
            CASE WHEN own > row_number() OVER at_network THEN own ELSE row_number() OVER at_network END AS turn \
            FROM (SELECT row_id, due_at, network, CASE WHEN of_caller > of_transaction THEN of_caller \
            ELSE of_transaction END AS own FROM (SELECT row_id, due_at, network, row_number() OVER \
            (PARTITION BY caller, named_user ORDER BY due_at, row_id) AS of_caller, row_number() OVER \
            (PARTITION BY transaction_id ORDER BY due_at, row_id) AS of_transaction \
            FROM (SELECT row_id, due_at, caller, named_user, transaction_id, network FROM waiting_proofs \
            WHERE environment = ?1 AND due_at <= ?2 ORDER BY due_at, row_id \
            LIMIT 1000) AS overdue) AS numbered) AS ranked WINDOW at_network AS (PARTITION BY network, \
            CASE WHEN network = '' THEN row_id END ORDER BY own, due_at, row_id) ORDER BY turn, due_at, row_id \
            LIMIT ?3) d JOIN waiting_proofs w ON w.row_id = d.row_id ORDER BY d.turn, d.due_at, d.row_id
            """, [environment.column, .instant(now), .integer(Int64(limit))], Self.read)
    }

    /// All rows of one purchase: first those whose claims the ledger has not processed, each group oldest first.
    public func list(_ id: TransactionID, in environment: StoreEnvironment) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.columns), receipt_row_id FROM waiting_proofs WHERE environment = ?1 \
            AND transaction_id = ?2 ORDER BY is_recorded, row_id LIMIT 200
            """, [environment.column, .text(id.text)], Self.read)
    }

    public func receipt(of rowID: Int64) throws -> [UInt8]? {
        try connection.first(
            """
            SELECT r.body FROM waiting_proofs w JOIN waiting_receipts r ON r.row_id = w.receipt_row_id \
            WHERE w.row_id = ?1
            """, [.integer(rowID)]
        ) { $0.blob("body") }
    }

    /// Records a failed request to Apple.
    public func postpone(_ rowID: Int64, until due: Instant, detail: String) throws {
        try connection.write(
            "UPDATE waiting_proofs SET attempts = attempts + 1, due_at = ?1, detail = ?2 WHERE row_id = ?3",
            [.instant(due), .text(detail), .integer(rowID)])
    }

    /// Records that the ledger has processed the row's claims and that Apple does not know the purchase yet.
    public func markRecorded(_ rowID: Int64) throws {
        try connection.write("UPDATE waiting_proofs SET is_recorded = 1 WHERE row_id = ?1", [.integer(rowID)])
    }

    /// Sets one due time for all rows of a purchase whose claims are processed.
    public func postponeRecorded(
        _ id: TransactionID, in environment: StoreEnvironment, until due: Instant, detail: String
    ) throws {
        try connection.write(
            """
            UPDATE waiting_proofs SET due_at = ?1, detail = ?2 WHERE environment = ?3 AND transaction_id = ?4 \
            AND is_recorded = 1
            """,
            [.instant(due), .text(detail), environment.column, .text(id.text)])
    }

    /// Removes one row; other rows of the same purchase may stay.
    public func remove(_ rowID: Int64) throws {
        let receipt = try connection.first(
            "SELECT receipt_row_id FROM waiting_proofs WHERE row_id = ?1", [.integer(rowID)]
        ) { $0.integer("receipt_row_id") }
        try connection.write("DELETE FROM waiting_proofs WHERE row_id = ?1", [.integer(rowID)])
        if let receipt { try removeUnused(receipt) }
    }

    private func removeUnused(_ receipt: Int64) throws {
        try connection.write(
            """
            DELETE FROM waiting_receipts WHERE row_id = ?1 \
            AND NOT EXISTS (SELECT 1 FROM waiting_proofs WHERE receipt_row_id = ?1)
            """, [.integer(receipt)])
    }

    /// Removes all rows of a purchase after it was processed.
    ///
    /// - Returns: how many rows there were.
    @discardableResult
    public func remove(_ id: TransactionID, in environment: StoreEnvironment) throws -> Int {
        let receipts = try connection.query(
            "SELECT DISTINCT receipt_row_id FROM waiting_proofs WHERE environment = ?1 AND transaction_id = ?2",
            [environment.column, .text(id.text)]
        ) { $0.integer("receipt_row_id") }
        let count = try connection.execute(
            "DELETE FROM waiting_proofs WHERE environment = ?1 AND transaction_id = ?2",
            [environment.column, .text(id.text)])
        for receipt in receipts { try removeUnused(receipt) }
        return count
    }

    public func count() throws -> Int64 {
        try connection.first("SELECT count(*) AS count FROM waiting_proofs", []) { $0.integer("count") } ?? 0
    }

    /// How many wait for this reason, of the first thousand.
    package func count(waitingBecause detail: String) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) AS count FROM (SELECT detail FROM waiting_proofs ORDER BY row_id LIMIT 1000) AS waiting \
            WHERE detail = ?1
            """, [.text(detail)]
        ) { $0.integer("count") } ?? 0
    }

    /// When the oldest of them arrived.
    public func oldest() throws -> Instant? {
        try connection.first("SELECT received_at FROM waiting_proofs ORDER BY row_id LIMIT 1", []) {
            $0.instant("received_at")
        }
    }

    private static func read(_ row: any Row) throws -> Stored {
        let claimed = row.blob("claimed_order")
        return Stored(
            rowID: row.integer("row_id"), environment: try row.environment("environment"),
            transactionID: TransactionID(row.text("transaction_id")),
            submitter: Submitter(
                name: row.text("caller"), namedUser: row.optionalText("named_user"),
                claimedOrder: claimed.isEmpty ? nil : try row.uniqueID("claimed_order"),
                device: row.optionalText("device").map(DeviceID.init),
                phone: row.optionalText("phone").map(DeviceID.init),
                network: SavedProofTable.network(row.text("network"))),
            receiptRowID: row.integer("receipt_row_id"), receivedAt: row.instant("received_at"),
            attempts: row.integer("attempts"), dueAt: row.instant("due_at"), detail: row.text("detail"),
            isRecorded: row.integer("is_recorded") != 0)
    }
}
