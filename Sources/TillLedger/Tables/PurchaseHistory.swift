import TillBilling
import TillSQL

/// What somebody has paid for and holds, also what was taken back: orders, transactions and grants, read together. No
/// table of its own.
public struct PurchaseHistory {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        /// Of the transaction.
        public let sequence: Int64
        public let originalID: TransactionID
        /// What Apple signed of it, which for anything but a subscription has no end.
        public let period: PaidPeriod
        public let quantity: Int
        public let isRevoked: Bool
        /// As it was granted.
        public let entitlement: String?
        public let deviceID: DeviceID?
    }

    /// The newest `limit` of them, oldest purchase first; what is nobody's yet is not among them. What somebody else
    /// holds now is left out, and what was handed to this user is there.
    ///
    /// One look into the index of the user's orders, and for each transaction its row, its order's, its grant's and
    /// perhaps its holder's, all by their number: a thousand renewals are about 3 ms. The plus signs keep SQLite to
    /// those indices: by environment it would read the whole table.
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
    /// Of the columns `TransactionTable.signed` and `TransactionTable.terms`.
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
