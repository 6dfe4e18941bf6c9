import TillBilling
import TillSQL

/// The newest signed copy of a transaction, as recorded in the ledger. New copies are compared with it.
public struct RecordedCopies {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Copy: Sendable, Hashable {
        public let rowID: Int64
        /// Without the token, if Apple signed one that stands for none (`isNilOrMaximum`).
        public let transaction: PaidTransaction
    }

    /// How many rows are taken out of quarantine at once.
    private static let limit: Int64 = 1_000

    public func find(_ rowID: Int64) throws -> PaidTransaction? {
        try connection.first(
            """
            SELECT t.row_id, t.token, p.kind, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM transactions t LEFT JOIN proofs p \
            ON p.transaction_row_id = t.row_id WHERE t.row_id = ?1
            """, [.integer(rowID)], Self.read
        )?.transaction
    }

    /// Some transactions, by their row ids. What an undone import recorded has no environment any more.
    func list(_ slice: AuditSlice) throws -> [Copy] {
        try connection.query(
            """
            SELECT t.row_id, t.token, p.kind, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM transactions t LEFT JOIN proofs p \
            ON p.transaction_row_id = t.row_id WHERE t.row_id > ?1 AND t.row_id <= ?2 AND \
            t.environment > 0 ORDER BY t.row_id
            """, slice.values, Self.read)
    }

    /// The transactions of a chain without an order, oldest purchase first.
    public func waiting(inChain original: TransactionID, of environment: StoreEnvironment) throws -> [Copy] {
        try connection.query(Self.findingWaiting(inChain: original, of: environment), Self.read)
    }

    static func findingWaiting(inChain original: TransactionID, of environment: StoreEnvironment) -> Statement {
        Statement(
            """
            SELECT t.row_id, t.token, p.kind, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM transactions t LEFT JOIN proofs p \
            ON p.transaction_row_id = t.row_id WHERE t.order_row_id IS NULL AND t.original_id = ?1 \
            AND +t.environment = ?2 ORDER BY t.purchased_at, t.row_id LIMIT ?3
            """, [.text(original.text), environment.column, .integer(Self.limit)])
    }

    /// The transactions with this token and without an order, oldest purchase first.
    public func waiting(forOrder token: OrderID, of environment: StoreEnvironment) throws -> [Copy] {
        try connection.query(Self.findingWaiting(forOrder: token, of: environment), Self.read)
    }

    static func findingWaiting(forOrder token: OrderID, of environment: StoreEnvironment) -> Statement {
        Statement(
            """
            SELECT t.row_id, t.token, p.kind, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM transactions t LEFT JOIN proofs p \
            ON p.transaction_row_id = t.row_id WHERE t.order_row_id IS NULL AND t.token = ?1 \
            AND +t.environment = ?2 ORDER BY t.purchased_at, t.row_id LIMIT ?3
            """, [.id(token), environment.column, .integer(Self.limit)])
    }

    /// Whether anything waits for a purchase: in its chain, for the order of its token, or a grant that the token
    /// contests. One query without an order, because nearly always nothing does.
    static func findingAwaiting(
        _ original: TransactionID, _ token: OrderID?, in environment: StoreEnvironment
    ) -> Statement {
        Statement(
            """
            SELECT CASE WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.order_row_id IS NULL AND t.original_id = ?1 \
            AND +t.environment = ?2) OR EXISTS (SELECT 1 FROM transactions t WHERE t.order_row_id IS NULL AND \
            t.token = ?3 AND +t.environment = ?2) OR EXISTS (SELECT 1 FROM ownership_basis b WHERE \
            b.contested_token = ?3 AND b.contested_token IS NOT NULL AND +b.environment = ?2) THEN 1 ELSE 0 END \
            AS awaited
            """, [.text(original.text), environment.column, token.map { .id($0) } ?? .null])
    }

    private static func read(_ row: any Row) throws -> Copy {
        let signed = row.isNull("token") ? nil : try row.uniqueID("token")
        let isAbsent = signed?.isNilOrMaximum == true
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
        return Copy(rowID: row.integer("row_id"), transaction: transaction)
    }
}
