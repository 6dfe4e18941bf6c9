import TillBilling
import TillSQL

/// `transactions`: the payments that Apple signed, and how the ledger decided them.
public struct TransactionTable {
    /// The signed data without the terms.
    static let signed: Columns = """
        id, original_id, product, quantity, environment, purchased_at, signed_at, revoked_at, price, currency
        """
    /// In the order of `PaidTransaction.termsColumns`.
    static let terms: Columns = """
        type, expires_at, is_renewal, is_upgraded, group_id, storefront, offer_type, offer_id, \
        offer_discount, revocation_type, revocation_percentage, ownership_type
        """
    /// The ledger's decision.
    private static let processed: Columns = "state, quarantine, order_sequence, received_at"

    let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let environment: Environment
        public let id: TransactionID
        public let originalID: TransactionID
        public let productID: ProductID
        public let quantity: Int
        public let purchasedAt: Instant
        public let signedAt: Instant
        public let revokedAt: Instant?
        public let price: Money?
        public let state: RecordedTransaction.State
        public let quarantine: QuarantineReason?
        public let orderSequence: Int64?
        public let receivedAt: Instant
    }

    /// Records a transaction seen for the first time; returns its row id.
    public func insert(
        _ transaction: PaidTransaction, state: RecordedTransaction.State, quarantine: QuarantineReason?,
        orderSequence: Int64?, at: Instant
    ) throws -> Int64 {
        let sequence = try session.drawID(of: "transactions")
        try session.execute(
            """
            INSERT INTO transactions (sequence, \(Self.signed), \(Self.processed), token, \(Self.terms), \
            app_transaction) VALUES (\(marks: 29))
            """,
            [
                .integer(sequence), .text(transaction.id.text), .text(transaction.originalID.text),
                .text(transaction.productID.text), .integer(Int64(transaction.quantity)),
                transaction.environment.column,
                .instant(transaction.purchasedAt), .instant(transaction.signedAt),
                .optional(transaction.revokedAt?.milliseconds), .optional(transaction.signedPrice?.milliunits),
                .optional(transaction.signedPrice?.currency.text), .integer(Int64(state.rawValue)),
                .optional(quarantine?.rawValue), .optional(orderSequence), .instant(at), transaction.tokenColumn,
            ] + transaction.termsColumns + [.optional(transaction.appTransactionID)])
        return sequence
    }

    /// Stores the signed data of a newer copy of a known transaction.
    public func update(_ sequence: Int64, to newer: PaidTransaction) throws {
        try session.execute(
            """
            UPDATE transactions SET type = ?1, expires_at = ?2, is_renewal = ?3, is_upgraded = ?4, \
            group_id = ?5, storefront = ?6, offer_type = ?7, offer_id = ?8, offer_discount = ?9, revocation_type \
            = ?10, revocation_percentage = ?11, ownership_type = ?12, token = ?13, price = ?14, currency = ?15, \
            app_transaction = coalesce(?16, app_transaction) WHERE sequence = ?17
            """,
            newer.termsColumns + [
                newer.tokenColumn, .optional(newer.signedPrice?.milliunits),
                .optional(newer.signedPrice?.currency.text),
                .optional(newer.appTransactionID), .integer(sequence),
            ])
    }

    /// Changes the state of a known transaction.
    public func update(
        _ sequence: Int64, state: RecordedTransaction.State, quarantine: QuarantineReason?, orderSequence: Int64?,
        signedAt: Instant, revokedAt: Instant?
    ) throws {
        try session.execute(
            """
            UPDATE transactions SET state = ?1, quarantine = ?2, order_sequence = ?3, signed_at = ?4, revoked_at = ?5 \
            WHERE sequence = ?6
            """,
            [
                .integer(Int64(state.rawValue)), .optional(quarantine?.rawValue), .optional(orderSequence),
                .instant(signedAt), .optional(revokedAt?.milliseconds), .integer(sequence),
            ])
    }

    /// Links a known transaction to the order that it was paid under; nil: the order is unknown.
    public func link(_ sequence: Int64, toOrder orderSequence: Int64?) throws {
        try session.execute(
            "UPDATE transactions SET order_sequence = ?1 WHERE sequence = ?2",
            [.optional(orderSequence), .integer(sequence)])
    }

    public func find(_ id: TransactionID, in environment: Environment) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, \(Self.signed), \(Self.processed) FROM transactions WHERE environment = ?1 AND id = ?2
            """, [environment.column, .text(id.text)], Self.read)
    }

    public func find(sequence: Int64) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, \(Self.signed), \(Self.processed) FROM transactions WHERE sequence = ?1
            """, [.integer(sequence)], Self.read)
    }

    public func list(orderSequence: Int64) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, \(Self.signed), \(Self.processed) FROM transactions WHERE order_sequence = ?1 \
            ORDER BY sequence LIMIT 100
            """, [.integer(orderSequence)], Self.read)
    }

    /// The newest transactions of one chain (a subscription's first period, its renewals, its resumptions) among the
    /// orders of the user who owns the order: in the order itself, where renewals are, and in the user's 500 newest
    /// orders.
    ///
    /// The plus signs keep SQLite on the index by order; an index on the environment would read the whole table.
    public func chain(
        of original: TransactionID, in environment: Environment, orderSequence: Int64, limit: Int
    ) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, \(Self.signed), \(Self.processed) FROM transactions WHERE order_sequence IN (SELECT ?1 \
            UNION ALL SELECT sequence FROM (SELECT sequence FROM orders WHERE customer_id = (SELECT customer_id FROM \
            orders WHERE sequence = ?1) ORDER BY sequence DESC LIMIT 500) AS newest) AND +environment = ?2 AND \
            original_id = ?3 ORDER BY +sequence DESC LIMIT ?4
            """, [.integer(orderSequence), environment.column, .text(original.text), .integer(Int64(limit))],
            Self.read)
    }

    /// Purchases in quarantine, oldest first.
    public func quarantined(limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, \(Self.signed), \(Self.processed) FROM transactions WHERE state = 2 AND state <> 1 \
            ORDER BY sequence LIMIT ?1
            """, [.integer(Int64(limit))], Self.read)
    }

    /// Purchases in quarantine, newest first, from before a row id.
    public func quarantined(before sequence: Int64, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, \(Self.signed), \(Self.processed) FROM transactions WHERE state = 2 AND state <> 1 \
            AND sequence < ?1 ORDER BY sequence DESC LIMIT ?2
            """, [.integer(sequence), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = RecordedTransaction.State(rawValue: Int(row.integer("state"))) else {
            throw row.unreadable("a transaction's state")
        }
        return Stored(
            sequence: row.integer("sequence"), environment: try row.environment("environment"),
            id: TransactionID(row.text("id")),
            originalID: TransactionID(row.text("original_id")), productID: ProductID(row.text("product")),
            quantity: Int(row.integer("quantity")),
            purchasedAt: row.instant("purchased_at"), signedAt: row.instant("signed_at"),
            revokedAt: row.optionalInstant("revoked_at"), price: row.signedPrice()?.money,
            state: state, quarantine: row.optionalText("quarantine").flatMap(QuarantineReason.init(rawValue:)),
            orderSequence: row.optionalInteger("order_sequence"), receivedAt: row.instant("received_at"))
    }
}
