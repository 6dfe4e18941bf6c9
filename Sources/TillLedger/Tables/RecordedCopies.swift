import TillBilling
import TillSQL

/// The newest signed copy of a transaction, out of the ledger: what an older one, and what comes later, is held
/// against.
public struct RecordedCopies {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Copy: Sendable, Hashable {
        public let sequence: Int64
        /// Without the token, if Apple signed one that names no order.
        public let transaction: PaidTransaction
    }

    /// How much is taken out of quarantine at once.
    private static let limit: Int64 = 1_000

    public func find(_ sequence: Int64) throws -> PaidTransaction? {
        try session.first(
            """
            SELECT t.sequence, t.id, t.original_id, t.product, t.quantity, t.environment, t.token, t.purchased_at, \
            t.signed_at, t.revoked_at, t.price, t.currency, p.kind, t.type, t.expires_at, t.is_renewal, \
            t.is_upgraded, t.is_shared, t.group_id, t.storefront, t.offer_type, t.offer_id, t.offer_discount, \
            t.revocation_type, t.revocation_percentage, t.ownership FROM transactions t \
            LEFT JOIN proofs p ON p.transaction_sequence = t.sequence WHERE t.sequence = ?
            """, [.integer(sequence)], Self.read
        )?.transaction
    }

    /// What of a chain is nobody's yet, oldest purchase first.
    public func waiting(inChain original: TransactionID, of environment: Environment) throws -> [Copy] {
        try session.query(
            """
            SELECT t.sequence, t.id, t.original_id, t.product, t.quantity, t.environment, t.token, t.purchased_at, \
            t.signed_at, t.revoked_at, t.price, t.currency, p.kind, t.type, t.expires_at, t.is_renewal, \
            t.is_upgraded, t.is_shared, t.group_id, t.storefront, t.offer_type, t.offer_id, t.offer_discount, \
            t.revocation_type, t.revocation_percentage, t.ownership FROM transactions t \
            LEFT JOIN proofs p ON p.transaction_sequence = t.sequence \
            WHERE t.order_sequence IS NULL AND t.original_id = ? AND +t.environment = ? \
            ORDER BY t.purchased_at, t.sequence LIMIT ?
            """, [.text(original.text), environment.column, .integer(Self.limit)], Self.read)
    }

    /// What was paid under an order and is nobody's yet, oldest purchase first.
    public func waiting(forOrder token: OrderID, of environment: Environment) throws -> [Copy] {
        try session.query(
            """
            SELECT t.sequence, t.id, t.original_id, t.product, t.quantity, t.environment, t.token, t.purchased_at, \
            t.signed_at, t.revoked_at, t.price, t.currency, p.kind, t.type, t.expires_at, t.is_renewal, \
            t.is_upgraded, t.is_shared, t.group_id, t.storefront, t.offer_type, t.offer_id, t.offer_discount, \
            t.revocation_type, t.revocation_percentage, t.ownership FROM transactions t \
            LEFT JOIN proofs p ON p.transaction_sequence = t.sequence \
            WHERE t.order_sequence IS NULL AND t.token = ? AND +t.environment = ? \
            ORDER BY t.purchased_at, t.sequence LIMIT ?
            """, [.id(token), environment.column, .integer(Self.limit)], Self.read)
    }

    /// Those without a type, which are from before there was a column for it, or of a type that nobody knew.
    public func withoutType(after sequence: Int64, limit: Int) throws -> [Copy] {
        try session.query(
            """
            SELECT t.sequence, t.id, t.original_id, t.product, t.quantity, t.environment, t.token, t.purchased_at, \
            t.signed_at, t.revoked_at, t.price, t.currency, p.kind, t.type, t.expires_at, t.is_renewal, \
            t.is_upgraded, t.is_shared, t.group_id, t.storefront, t.offer_type, t.offer_id, t.offer_discount, \
            t.revocation_type, t.revocation_percentage, t.ownership FROM transactions t \
            LEFT JOIN proofs p ON p.transaction_sequence = t.sequence \
            WHERE t.type IS NULL AND t.sequence > ? ORDER BY t.sequence LIMIT ?
            """, [.integer(sequence), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Copy {
        let signed = row.isNull(6) ? nil : try row.uniqueID(6)
        let isAbsent = signed?.namesNone == true
        let token: AppAccountToken? = isAbsent ? nil : signed.map { .order($0) }
        let transaction = PaidTransaction(
            id: TransactionID(row.text(1)), originalID: TransactionID(row.text(2)), productID: ProductID(row.text(3)),
            quantity: Int(row.integer(4)), environment: try row.environment(5), token: token,
            purchasedAt: row.instant(7), signedAt: row.instant(8), revokedAt: row.optionalInstant(9),
            isRenewal: row.integer(15) != 0, isFromReceipt: row.integer(12) == ProofTable.Kind.receipt.rawValue,
            price: row.money(10), terms: row.terms(from: 13), statesReason: row.integer(15) != 2)
        return Copy(sequence: row.integer(0), transaction: transaction)
    }
}
