import TillBilling
import TillSQL

/// The granted purchases that a user owns, regardless of who paid: orders, transactions, grants and ownership, read
/// together. It has no table of its own.
public struct GrantedPurchases {
    private static let columns: Columns = """
        t.row_id, t.id, t.original_id, t.product, t.quantity, t.purchased_at, t.price, t.currency, t.offer_type, \
        g.entitlement, o.product AS order_product, o.quantity AS order_quantity, o.device, \
        CASE WHEN o.previewed_at IS NULL OR o.status IN (3, 4) OR EXISTS (SELECT 1 FROM order_moves m \
        WHERE m.order_row_id = o.row_id AND m.status IN (3, 4)) THEN NULL ELSE o.previewed_at END AS previewed_at, \
        o.catalog_version
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Entry: Sendable, Hashable {
        /// The row id of the transaction.
        public let rowID: Int64
        public let id: TransactionID
        public let originalID: TransactionID
        public let productID: ProductID
        public let quantity: Int
        public let purchasedAt: Instant
        /// The price that Apple signed, for the whole quantity.
        public let price: Money?
        /// Whether Apple signed that the price comes from an offer.
        public let isOffer: Bool
        public let entitlement: String?
        public let order: OrderLine
    }

    /// The order that the purchase paid; for a renewal, the order of the subscription. Its price is only a label and
    /// affects nothing.
    public struct OrderLine: Sendable, Hashable {
        public let productID: ProductID
        public let quantity: Int
        public let deviceID: DeviceID?
        /// The time of the preview that opened the order; also nil if the order was cancelled or closed before it was
        /// paid.
        public let previewedAt: Instant?
        /// The catalogue that its buyer saw.
        public let catalogVersion: Int64?
    }

    /// The purchases accepted by `isWanted` among the newest `limit`, without revoked ones. Sorted by purchase time,
    /// then by id.
    ///
    /// The plus signs keep SQLite on the indices by user and by order; an index on the environment would read the whole
    /// table.
    public func list(
        user: UserID, environment: StoreEnvironment, limit: Int,
        where isWanted: (ProductID, _ entitlement: String?) -> Bool
    ) throws -> [Entry] {
        try connection.query(
            """
            SELECT \(Self.columns) FROM orders o CROSS JOIN transactions t ON t.order_row_id = o.row_id CROSS JOIN \
            grants g ON g.transaction_row_id = t.row_id WHERE o.customer_id = \(customer: 1) AND +t.environment = \
            ?2 AND +t.state = 1 AND NOT EXISTS (SELECT 1 FROM grant_owners h WHERE h.grant_row_id = t.row_id AND \
            h.customer_id <> \(customer: 1)) UNION ALL SELECT \(Self.columns) FROM grant_owners h CROSS JOIN \
            transactions t ON t.row_id = h.grant_row_id CROSS JOIN grants g ON g.transaction_row_id = t.row_id \
            CROSS JOIN orders o ON o.row_id = t.order_row_id WHERE h.customer_id = \(customer: 1) AND \
            +h.environment = ?2 AND +t.state = 1 AND o.customer_id <> \(customer: 1) ORDER BY 1 DESC LIMIT ?3
            """, [.text(user.text), environment.column, .integer(Int64(limit))]
        ) { row in isWanted(ProductID(row.text("product")), row.optionalText("entitlement")) ? Self.read(row) : nil }
        .compactMap { $0 }
        .sorted { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
    }

    private static func read(_ row: any Row) -> Entry {
        Entry(
            rowID: row.integer("row_id"), id: TransactionID(row.text("id")),
            originalID: TransactionID(row.text("original_id")),
            productID: ProductID(row.text("product")), quantity: Int(row.integer("quantity")),
            purchasedAt: row.instant("purchased_at"),
            price: row.signedPrice()?.money, isOffer: !row.isNull("offer_type"),
            entitlement: row.optionalText("entitlement"),
            order: OrderLine(
                productID: ProductID(row.text("order_product")), quantity: Int(row.integer("order_quantity")),
                deviceID: row.optionalText("device").map(DeviceID.init),
                previewedAt: row.optionalInstant("previewed_at"),
                catalogVersion: row.optionalInteger("catalog_version")))
    }
}
