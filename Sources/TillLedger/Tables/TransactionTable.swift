import TillBilling
import TillSQL

/// `transactions`: what Apple said was paid, and what became of it.
public struct TransactionTable {
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

    /// Records a transaction seen for the first time; returns its sequence.
    public func insert(
        _ transaction: PaidTransaction, state: RecordedTransaction.State, quarantine: QuarantineReason?,
        orderSequence: Int64?, at: Instant
    ) throws -> Int64 {
        try session.insert(
            """
            INSERT INTO transactions (environment, id, original_id, product, quantity, token, purchased_at, signed_at, \
            revoked_at, price, currency, state, quarantine, order_sequence, received_at, type, expires_at, \
            is_renewal, is_upgraded, is_shared, group_id, storefront, offer_type, offer_id, offer_discount, \
            revocation_type, revocation_percentage, ownership, app_transaction) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                transaction.environment.column, .text(transaction.id.text), .text(transaction.originalID.text),
                .text(transaction.productID.text), .integer(Int64(transaction.quantity)),
                transaction.tokenColumn,
                .instant(transaction.purchasedAt), .instant(transaction.signedAt),
                .optional(transaction.revokedAt?.milliseconds), .optional(transaction.price?.amount),
                .optional(transaction.price?.currency.text), .integer(Int64(state.rawValue)),
                .optional(quarantine?.rawValue), .optional(orderSequence), .instant(at),
            ] + transaction.termsColumns + [.optional(transaction.appTransactionID)])
    }

    /// What a newer copy of a known transaction says of it.
    public func update(_ sequence: Int64, to newer: PaidTransaction) throws {
        try session.execute(
            """
            UPDATE transactions SET type = ?, expires_at = ?, is_renewal = ?, is_upgraded = ?, is_shared = ?, \
            group_id = ?, storefront = ?, offer_type = ?, offer_id = ?, offer_discount = ?, revocation_type = ?, \
            revocation_percentage = ?, ownership = ?, token = ?, price = ?, currency = ?, \
            app_transaction = coalesce(?, app_transaction) WHERE sequence = ?
            """,
            newer.termsColumns + [
                newer.tokenColumn, .optional(newer.price?.amount), .optional(newer.price?.currency.text),
                .optional(newer.appTransactionID), .integer(sequence),
            ])
    }

    /// Puts a known transaction into a new state.
    public func update(
        _ sequence: Int64, state: RecordedTransaction.State, quarantine: QuarantineReason?, orderSequence: Int64?,
        signedAt: Instant, revokedAt: Instant?
    ) throws {
        try session.execute(
            """
            UPDATE transactions SET state = ?, quarantine = ?, order_sequence = ?, signed_at = ?, revoked_at = ? \
            WHERE sequence = ?
            """,
            [
                .integer(Int64(state.rawValue)), .optional(quarantine?.rawValue), .optional(orderSequence),
                .instant(signedAt), .optional(revokedAt?.milliseconds), .integer(sequence),
            ])
    }

    /// Says whose order a known transaction was paid under; nil: nobody knows.
    public func link(_ sequence: Int64, toOrder orderSequence: Int64?) throws {
        try session.execute(
            "UPDATE transactions SET order_sequence = ? WHERE sequence = ?",
            [.optional(orderSequence), .integer(sequence)])
    }

    public func find(_ id: TransactionID, in environment: Environment) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, environment, id, original_id, product, quantity, purchased_at, signed_at, revoked_at, \
            price, currency, state, quarantine, order_sequence, received_at FROM transactions \
            WHERE environment = ? AND id = ?
            """, [environment.column, .text(id.text)], Self.read)
    }

    public func find(sequence: Int64) throws -> Stored? {
        try session.first(
            """
            SELECT sequence, environment, id, original_id, product, quantity, purchased_at, signed_at, revoked_at, \
            price, currency, state, quarantine, order_sequence, received_at FROM transactions WHERE sequence = ?
            """, [.integer(sequence)], Self.read)
    }

    public func list(orderSequence: Int64) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, environment, id, original_id, product, quantity, purchased_at, signed_at, revoked_at, \
            price, currency, state, quarantine, order_sequence, received_at FROM transactions \
            WHERE order_sequence = ? ORDER BY sequence LIMIT 100
            """, [.integer(orderSequence)], Self.read)
    }

    /// The newest transactions of one chain (a subscription's first period, its renewals, its resumptions) in the books
    /// of the user whose order that is: in the order itself, where renewals are, and in their 500 newest ones.
    ///
    /// The plus signs keep SQLite to the index by order: by environment it would read the whole table.
    public func chain(
        of original: TransactionID, in environment: Environment, orderSequence: Int64, limit: Int
    ) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, environment, id, original_id, product, quantity, purchased_at, signed_at, revoked_at, \
            price, currency, state, quarantine, order_sequence, received_at FROM transactions \
            WHERE order_sequence IN (SELECT ?1 UNION ALL SELECT sequence FROM (SELECT sequence FROM orders \
            WHERE user = (SELECT user FROM orders WHERE sequence = ?1) ORDER BY sequence DESC LIMIT 500)) \
            AND +environment = ?2 AND original_id = ?3 ORDER BY +sequence DESC LIMIT ?4
            """, [.integer(orderSequence), environment.column, .text(original.text), .integer(Int64(limit))],
            Self.read)
    }

    /// Paid, but nobody's yet; oldest first.
    public func quarantined(limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, environment, id, original_id, product, quantity, purchased_at, signed_at, revoked_at, \
            price, currency, state, quarantine, order_sequence, received_at FROM transactions \
            WHERE state = 2 AND state <> 1 ORDER BY sequence LIMIT ?
            """, [.integer(Int64(limit))], Self.read)
    }

    /// Paid, but nobody's yet; newest first, from before a sequence.
    public func quarantined(before sequence: Int64, limit: Int) throws -> [Stored] {
        try session.query(
            """
            SELECT sequence, environment, id, original_id, product, quantity, purchased_at, signed_at, revoked_at, \
            price, currency, state, quarantine, order_sequence, received_at FROM transactions \
            WHERE state = 2 AND state <> 1 AND sequence < ? ORDER BY sequence DESC LIMIT ?
            """, [.integer(sequence), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = RecordedTransaction.State(rawValue: Int(row.integer(11))) else {
            throw row.unreadable("a transaction's state")
        }
        let price =
            row.isNull(9) || row.isNull(10) ? nil : Money(amount: row.integer(9), currency: Currency(row.text(10)))
        return Stored(
            sequence: row.integer(0), environment: try row.environment(1), id: TransactionID(row.text(2)),
            originalID: TransactionID(row.text(3)), productID: ProductID(row.text(4)), quantity: Int(row.integer(5)),
            purchasedAt: row.instant(6), signedAt: row.instant(7), revokedAt: row.optionalInstant(8), price: price,
            state: state, quarantine: row.optionalText(12).flatMap(QuarantineReason.init(rawValue:)),
            orderSequence: row.isNull(13) ? nil : row.integer(13), receivedAt: row.instant(14))
    }
}
