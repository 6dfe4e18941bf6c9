import TillBilling
import TillSQL

/// The purchases that a user owns, revoked ones included: orders, transactions and grants, read together. It has no
/// table of its own.
public struct PurchaseHistory {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        /// The row id of the transaction.
        public let rowID: Int64
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
    public func list(of user: UserID, in environment: StoreEnvironment, limit: Int) throws -> [Entry] {
        try connection.query(
            """
            SELECT t.row_id, t.state, g.entitlement, o.device, \(TransactionTable.signed, of: "t"), \
            \(TransactionTable.terms, of: "t") FROM ( SELECT t.row_id AS row_id FROM orders o CROSS JOIN \
            transactions t ON t.order_row_id = o.row_id LEFT JOIN grant_owners h ON h.grant_row_id = t.row_id WHERE \
            o.customer_id = \(customer: 1) AND +t.environment = ?2 AND +t.state <> 2 AND (h.customer_id IS NULL OR \
            h.customer_id = \(customer: 1)) UNION SELECT grant_row_id FROM grant_owners WHERE customer_id = \
            \(customer: 1) AND +environment = ?2 ORDER BY 1 DESC LIMIT ?3) AS held CROSS JOIN transactions t ON \
            t.row_id = held.row_id LEFT JOIN orders o ON o.row_id = t.order_row_id LEFT JOIN grants g ON \
            g.transaction_row_id = t.row_id
            """, [.text(user.text), environment.column, .integer(Int64(limit))]
        ) { row in
            Entry(
                rowID: row.integer("row_id"), originalID: TransactionID(row.text("original_id")),
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
