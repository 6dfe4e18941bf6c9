import TillBilling
import TillSQL

/// The purchases that a user owns, revoked ones included: orders, transactions and grants, read together. It has no
/// table of its own.
public struct PurchaseHistory {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        /// The row id of the transaction.
        public let sequence: Int64
        public let originalID: TransactionID
        /// The signed period; only a subscription's period has an end.
        public let period: PaidPeriod
        public let quantity: Int
        public let isRevoked: Bool
        /// The entitlement as granted.
        public let entitlement: String?
        public let deviceID: DeviceID?
    }

    /// The newest `limit` purchases, sorted by purchase time; purchases in quarantine are not included. Purchases now
    /// owned by another user are omitted, and purchases transferred to this user are included.
    ///
    /// The query reads the index of the user's orders and then, for each transaction, the rows of its order, its grant
    /// and its owner by row id: a thousand renewals take about 3 ms. The plus signs keep SQLite on those indices; an
    /// index on the environment would read the whole table.
    public func list(of user: UserID, in environment: Environment, limit: Int) throws -> [Entry] {
        try session.query(
            """
            SELECT t.sequence, t.state, g.entitlement, o.device, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM ( SELECT t.sequence AS sequence FROM orders o CROSS JOIN \
            transactions t ON t.order_sequence = o.sequence LEFT JOIN holders h ON h.grant_sequence = t.sequence WHERE \
            o.customer_id = \(customer: 1) AND +t.environment = ?2 AND +t.state <> 2 AND (h.customer_id IS NULL OR \
            h.customer_id = \(customer: 1)) UNION SELECT grant_sequence FROM holders WHERE customer_id = \
            \(customer: 1) AND +environment = ?2 ORDER BY 1 DESC LIMIT ?3) AS held CROSS JOIN transactions t ON \
            t.sequence = held.sequence LEFT JOIN orders o ON o.sequence = t.order_sequence LEFT JOIN grants g ON \
            g.transaction_sequence = t.sequence
            """, [.text(user.text), environment.column, .integer(Int64(limit))]
        ) { row in
            Entry(
                sequence: row.integer("sequence"), originalID: TransactionID(row.text("original_id")),
                period: row.paidPeriod(),
                quantity: Int(row.integer("quantity")), isRevoked: row.integer("state") == 3,
                entitlement: row.optionalText("entitlement"),
                deviceID: row.optionalText("device").map(DeviceID.init))
        }
        .sorted { ($0.period.purchasedAt, $0.period.transactionID) < ($1.period.purchasedAt, $1.period.transactionID) }
    }
}

extension Row {
    /// Reads the columns `TransactionTable.signed` and `TransactionTable.terms`.
    func paidPeriod() -> PaidPeriod {
        let renewal = integer("is_renewal")
        return PaidPeriod(
            transactionID: TransactionID(text("id")), productID: ProductID(text("product")),
            purchasedAt: instant("purchased_at"), signedAt: instant("signed_at"),
            revokedAt: optionalInstant("revoked_at"), isRenewal: renewal != 0, statesReason: renewal != 2,
            price: signedPrice()?.money, terms: terms())
    }

    func money(_ amount: StaticString, _ currency: StaticString) -> Money? {
        isNull(amount) || isNull(currency) ? nil : Money(amount: integer(amount), currency: Currency(text(currency)))
    }
}
