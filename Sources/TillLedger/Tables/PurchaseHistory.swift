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
            SELECT t.sequence, t.original_id, t.quantity, t.state, g.entitlement, o.device, t.id, t.product, \
            t.purchased_at, t.signed_at, t.revoked_at, t.is_renewal, t.price, t.currency, t.type, t.expires_at, \
            t.is_renewal, t.is_upgraded, t.is_shared, t.group_id, t.storefront, t.offer_type, t.offer_id, \
            t.offer_discount, t.revocation_type, t.revocation_percentage, t.ownership FROM ( \
            SELECT t.sequence AS sequence FROM orders o \
            CROSS JOIN transactions t ON t.order_sequence = o.sequence \
            LEFT JOIN holders h ON h.grant_sequence = t.sequence \
            WHERE o.user = ?1 AND +t.environment = ?2 AND +t.state <> 2 AND (h.user IS NULL OR h.user = ?1) \
            UNION SELECT grant_sequence FROM holders WHERE user = ?1 AND +environment = ?2 \
            ORDER BY 1 DESC LIMIT ?3) AS held \
            CROSS JOIN transactions t ON t.sequence = held.sequence \
            LEFT JOIN orders o ON o.sequence = t.order_sequence \
            LEFT JOIN grants g ON g.transaction_sequence = t.sequence
            """, [.text(user.text), environment.column, .integer(Int64(limit))]
        ) { row in
            Entry(
                sequence: row.integer(0), originalID: TransactionID(row.text(1)), period: row.paidPeriod(from: 6),
                quantity: Int(row.integer(2)), isRevoked: row.integer(3) == 3, entitlement: row.optionalText(4),
                deviceID: row.optionalText(5).map(DeviceID.init))
        }
        .sorted { ($0.period.purchasedAt, $0.period.transactionID) < ($1.period.purchasedAt, $1.period.transactionID) }
    }
}

extension Row {
    /// Twenty-one columns from `first`: id, product, purchased_at, signed_at, revoked_at, is_renewal, price, currency,
    /// and then those of the terms.
    func paidPeriod(from first: Int) -> PaidPeriod {
        PaidPeriod(
            transactionID: TransactionID(text(first)), productID: ProductID(text(first + 1)),
            purchasedAt: instant(first + 2), signedAt: instant(first + 3), revokedAt: optionalInstant(first + 4),
            isRenewal: integer(first + 5) != 0, statesReason: integer(first + 5) != 2, price: money(first + 6),
            terms: terms(from: first + 8))
    }

    func money(_ column: Int) -> Money? {
        isNull(column) || isNull(column + 1)
            ? nil : Money(amount: integer(column), currency: Currency(text(column + 1)))
    }
}
