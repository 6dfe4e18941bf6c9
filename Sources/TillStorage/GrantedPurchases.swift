import TillBilling

/// What a user has of what was granted, whoever paid for it: orders, transactions, grants and holders, read together.
/// No table of its own.
public struct GrantedPurchases {
    private let session: any Session
    public init(_ session: any Session) { self.session = session }

    public struct Entry: Sendable, Hashable {
        /// Of the transaction.
        public let sequence: Int64
        public let id: TransactionID
        public let originalID: TransactionID
        public let productID: ProductID
        public let quantity: Int
        public let purchasedAt: Instant
        /// As Apple signed it, for the whole quantity.
        public let price: Money?
        public let entitlement: String?
        public let order: OrderLine
    }

    /// What the order said that was paid. For a renewal, the order of the subscription.
    public struct OrderLine: Sendable, Hashable {
        public let productID: ProductID
        public let quantity: Int
        /// The list price then, for the whole quantity.
        public let price: Money
        public let deviceID: DeviceID?
        /// The moment of the preview it was opened on.
        public let previewedAt: Instant?
    }

    /// The newest of them that are wanted, out of the newest `limit`; what was taken back is not among them. Oldest
    /// purchase first, and of two at one moment the one with the smaller id.
    ///
    /// The plus signs keep SQLite to the indices by user and by order: by environment it would read the whole table.
    public func list(
        user: UserID, environment: Environment, limit: Int, where isWanted: (ProductID, _ entitlement: String?) -> Bool
    ) throws -> [Entry] {
        try session.query(
            """
            SELECT t.sequence, t.id, t.original_id, t.product, t.quantity, t.purchased_at, t.price, t.currency, \
            g.entitlement, o.product, coalesce(o.large_quantity, o.quantity), o.price, o.currency, \
            o.device, o.previewed_at \
            FROM orders o CROSS JOIN transactions t ON t.order_sequence = o.sequence \
            CROSS JOIN grants g ON g.transaction_sequence = t.sequence \
            WHERE o.user = ?1 AND +t.environment = ?2 AND +t.state = 1 AND NOT EXISTS (SELECT 1 FROM holders h \
            WHERE h.grant_sequence = t.sequence AND h.user <> ?1) \
            UNION ALL \
            SELECT t.sequence, t.id, t.original_id, t.product, t.quantity, t.purchased_at, t.price, t.currency, \
            g.entitlement, o.product, coalesce(o.large_quantity, o.quantity), o.price, o.currency, \
            o.device, o.previewed_at \
            FROM holders h CROSS JOIN transactions t ON t.sequence = h.grant_sequence \
            CROSS JOIN grants g ON g.transaction_sequence = t.sequence \
            CROSS JOIN orders o ON o.sequence = t.order_sequence \
            WHERE h.user = ?1 AND +h.environment = ?2 AND +t.state = 1 AND o.user <> ?1 \
            ORDER BY 1 DESC LIMIT ?3
            """, [.text(user.text), environment.column, .integer(Int64(limit))]
        ) { row in isWanted(ProductID(row.text(3)), row.optionalText(8)) ? Self.read(row) : nil }
        .compactMap { $0 }
        .sorted { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
    }

    private static func read(_ row: any Row) -> Entry {
        let price =
            row.isNull(6) || row.isNull(7) ? nil : Money(amount: row.integer(6), currency: Currency(row.text(7)))
        return Entry(
            sequence: row.integer(0), id: TransactionID(row.text(1)), originalID: TransactionID(row.text(2)),
            productID: ProductID(row.text(3)), quantity: Int(row.integer(4)), purchasedAt: row.instant(5), price: price,
            entitlement: row.optionalText(8),
            order: OrderLine(
                productID: ProductID(row.text(9)), quantity: Int(row.integer(10)),
                price: Money(amount: row.integer(11), currency: Currency(row.text(12))),
                deviceID: row.optionalText(13).map(DeviceID.init), previewedAt: row.isNull(14) ? nil : row.instant(14)))
    }
}
