import TillBilling
import TillSQL

/// The newest signed copy of a transaction, as recorded in the ledger. New copies are compared with it.
public struct RecordedCopies {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Copy: Sendable, Hashable {
        public let sequence: Int64
        /// Without the token, if Apple signed one that stands for none (`namesNone`).
        public let transaction: PaidTransaction
    }

    /// How many rows are taken out of quarantine at once.
    private static let limit: Int64 = 1_000

    public func find(_ sequence: Int64) throws -> PaidTransaction? {
        try session.first(
            """
            SELECT t.sequence, t.token, p.kind, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM transactions t LEFT JOIN proofs p \
            ON p.transaction_sequence = t.sequence WHERE t.sequence = ?1
            """, [.integer(sequence)], Self.read
        )?.transaction
    }

    /// The transactions of a chain without an order, oldest purchase first.
    public func waiting(inChain original: TransactionID, of environment: Environment) throws -> [Copy] {
        try session.query(
            """
            SELECT t.sequence, t.token, p.kind, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM transactions t LEFT JOIN proofs p \
            ON p.transaction_sequence = t.sequence WHERE t.order_sequence IS NULL AND t.original_id = ?1 \
            AND +t.environment = ?2 ORDER BY t.purchased_at, t.sequence LIMIT ?3
            """, [.text(original.text), environment.column, .integer(Self.limit)], Self.read)
    }

    /// The transactions with this token and without an order, oldest purchase first.
    public func waiting(forOrder token: OrderID, of environment: Environment) throws -> [Copy] {
        try session.query(
            """
            SELECT t.sequence, t.token, p.kind, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM transactions t LEFT JOIN proofs p \
            ON p.transaction_sequence = t.sequence WHERE t.order_sequence IS NULL AND t.token = ?1 \
            AND +t.environment = ?2 ORDER BY t.purchased_at, t.sequence LIMIT ?3
            """, [.id(token), environment.column, .integer(Self.limit)], Self.read)
    }

    private static func read(_ row: any Row) throws -> Copy {
        let signed = row.isNull("token") ? nil : try row.uniqueID("token")
        let isAbsent = signed?.namesNone == true
        let token: AppAccountToken? = isAbsent ? nil : signed.map { .order($0) }
        let transaction = PaidTransaction(
            id: TransactionID(row.text("id")), originalID: TransactionID(row.text("original_id")),
            productID: ProductID(row.text("product")),
            quantity: Int(row.integer("quantity")), environment: try row.environment("environment"), token: token,
            purchasedAt: row.instant("purchased_at"), signedAt: row.instant("signed_at"),
            revokedAt: row.optionalInstant("revoked_at"),
            isRenewal: row.integer("is_renewal") != 0,
            isFromReceipt: row.integer("kind") == ProofTable.Kind.receipt.rawValue,
            price: row.signedPrice(), terms: row.terms(), statesReason: row.integer("is_renewal") != 2)
        return Copy(sequence: row.integer("sequence"), transaction: transaction)
    }
}
