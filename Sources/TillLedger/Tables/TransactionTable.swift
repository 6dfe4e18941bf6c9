import TillBilling
import TillSQL

/// `transactions`: the payments that Apple signed, and how the ledger decided them.
public struct TransactionTable {
    /// The signed data without the terms.
    static let signed: Columns = """
        id, original_id, product, quantity, environment, purchased_at, signed_at, revoked_at, price, currency
        """
    /// In the order of `PaidTransaction.termsColumns`.
    static let terms: Columns = """
        type, expires_at, is_renewal, is_upgraded, group_id, storefront, offer_type, offer_id, \
        offer_discount, revocation_type, revocation_percentage, ownership_type
        """
    /// The ledger's decision.
    private static let processed: Columns = "state, quarantine, order_row_id, received_at"

    // Statements of every purchase, whose texts are put together once.
    private static let inserting: SQL = """
        INSERT INTO transactions (row_id, \(signed), \(processed), token, \(terms), app_transaction) \
        VALUES (\(marks: 29))
        """
    private static let findingByID: SQL = """
        SELECT row_id, \(signed), \(processed) FROM transactions WHERE environment = ?1 AND id = ?2
        """

    private static let findingByRow: SQL = """
        SELECT row_id, \(signed), \(processed) FROM transactions WHERE row_id IN (\(marks: 32))
        """

    let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Stored: Sendable, Hashable {
        public let rowID: Int64
        public let environment: StoreEnvironment
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
        public let orderRowID: Int64?
        public let receivedAt: Instant
    }

    /// Records a transaction seen for the first time; returns its row id.
    public func insert(
        _ transaction: PaidTransaction, state: RecordedTransaction.State, quarantine: QuarantineReason?,
        orderRowID: Int64?, at: Instant
    ) throws -> Int64 {
        let rowID = try connection.drawID(of: "transactions")
        let price = transaction.signedPrice
        var values: [SQLValue] = []
        values.reserveCapacity(29)
        values += [
            .integer(rowID), .text(transaction.id.text), .text(transaction.originalID.text),
            .text(transaction.productID.text), .integer(Int64(transaction.quantity)),
            transaction.environment.column,
            .instant(transaction.purchasedAt), .instant(transaction.signedAt),
            .optional(transaction.revokedAt?.milliseconds), .optional(price?.milliunits),
            .optional(price?.currency.text), .integer(Int64(state.rawValue)),
            .optional(quarantine?.rawValue), .optional(orderRowID), .instant(at), transaction.tokenColumn,
        ]
        values += transaction.termsColumns
        values.append(.optional(transaction.appTransactionID))
        try connection.write(Self.inserting, values)
        if let orderRowID, transaction.terms.type != .consumable || state == .revoked {
            try PurchasesWithRights(connection)?.add(rowID, orderRowID: orderRowID)
        }
        return rowID
    }

    /// The token that Apple signed; nil if there is none, or it can't be read.
    public func signedToken(of rowID: Int64) throws -> UniqueID? {
        try connection.first(
            "SELECT token FROM transactions WHERE row_id = ?1 AND token IS NOT NULL", [.integer(rowID)]
        ) { try $0.uniqueID("token") }
    }

    /// Stores the signed data of a newer copy of a known transaction.
    public func update(_ rowID: Int64, to newer: PaidTransaction) throws {
        try connection.write(
            """
            UPDATE transactions SET type = ?1, expires_at = ?2, is_renewal = ?3, is_upgraded = ?4, \
            group_id = ?5, storefront = ?6, offer_type = ?7, offer_id = ?8, offer_discount = ?9, revocation_type \
            = ?10, revocation_percentage = ?11, ownership_type = ?12, token = ?13, price = ?14, currency = ?15, \
            app_transaction = coalesce(?16, app_transaction) WHERE row_id = ?17
            """,
            newer.termsColumns + [
                newer.tokenColumn, .optional(newer.signedPrice?.milliunits),
                .optional(newer.signedPrice?.currency.text),
                .optional(newer.appTransactionID), .integer(rowID),
            ])
    }

    /// Changes the state of a known transaction.
    public func update(
        _ rowID: Int64, state: RecordedTransaction.State, quarantine: QuarantineReason?, orderRowID: Int64?,
        signedAt: Instant, revokedAt: Instant?
    ) throws {
        try connection.write(
            """
            UPDATE transactions SET state = ?1, quarantine = ?2, order_row_id = ?3, signed_at = ?4, revoked_at = ?5 \
            WHERE row_id = ?6
            """,
            [
                .integer(Int64(state.rawValue)), .optional(quarantine?.rawValue), .optional(orderRowID),
                .instant(signedAt), .optional(revokedAt?.milliseconds), .integer(rowID),
            ])
    }

    /// Links a known transaction to the order that it was paid under; nil: the order is unknown.
    public func link(_ rowID: Int64, toOrder orderRowID: Int64?) throws {
        try connection.write(
            "UPDATE transactions SET order_row_id = ?1 WHERE row_id = ?2",
            [.optional(orderRowID), .integer(rowID)])
    }

    public func find(_ id: TransactionID, in environment: StoreEnvironment) throws -> Stored? {
        try connection.first(Self.finding(id, in: environment), Self.read)
    }

    static func finding(_ id: TransactionID, in environment: StoreEnvironment) -> Statement {
        Statement(findingByID, [environment.column, .text(id.text)])
    }

    /// What Apple charged for an order: the price that it signed for the order's transaction.
    public func price(of order: Order) throws -> Money? {
        guard let id = order.transactionID, let environment = order.environment else { return nil }
        return try find(id, in: environment)?.price
    }

    public func find(rowID: Int64) throws -> Stored? {
        try connection.first(
            """
            SELECT row_id, \(Self.signed), \(Self.processed) FROM transactions WHERE row_id = ?1
            """, [.integer(rowID)], Self.read)
    }

    func find(_ ids: [Int64]) throws -> [Stored] {
        try Self.finding(ids).flatMap { try connection.query($0, Self.read) }
    }

    static func finding(_ ids: [Int64]) -> [Statement] { IDLists.statements(findingByRow, ids) }

    public func list(orderRowID: Int64) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.signed), \(Self.processed) FROM transactions WHERE order_row_id = ?1 \
            ORDER BY row_id LIMIT 100
            """, [.integer(orderRowID)], Self.read)
    }

    /// The newest transactions of one chain (a subscription's first period, its renewals, its resumptions) among the
    /// orders of the user who owns the order: in the order itself, where renewals are, and in the user's 500 newest
    /// orders.
    ///
    /// The plus signs keep SQLite on the index by order; an index on the environment would read the whole table.
    public func chain(
        of original: TransactionID, in environment: StoreEnvironment, orderRowID: Int64, limit: Int
    ) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.signed), \(Self.processed) FROM transactions WHERE order_row_id IN (SELECT ?1 \
            UNION ALL SELECT row_id FROM (SELECT row_id FROM orders WHERE customer_id = (SELECT customer_id FROM \
            orders WHERE row_id = ?1) ORDER BY row_id DESC LIMIT 500) AS newest) AND +environment = ?2 AND \
            original_id = ?3 ORDER BY +row_id DESC LIMIT ?4
            """, [.integer(orderRowID), environment.column, .text(original.text), .integer(Int64(limit))],
            Self.read)
    }

    /// Purchases in quarantine, oldest first.
    public func quarantined(limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.signed), \(Self.processed) FROM transactions WHERE state = 2 AND state <> 1 \
            ORDER BY row_id LIMIT ?1
            """, [.integer(Int64(limit))], Self.read)
    }

    /// Purchases in quarantine, newest first, from before a row id.
    public func quarantined(before rowID: Int64, limit: Int) throws -> [Stored] {
        try connection.query(
            """
            SELECT row_id, \(Self.signed), \(Self.processed) FROM transactions WHERE state = 2 AND state <> 1 \
            AND row_id < ?1 ORDER BY row_id DESC LIMIT ?2
            """, [.integer(rowID), .integer(Int64(limit))], Self.read)
    }

    private static func read(_ row: any Row) throws -> Stored {
        guard let state = RecordedTransaction.State(rawValue: Int(row.integer("state"))) else {
            throw row.unreadable("a transaction's state")
        }
        return Stored(
            rowID: row.integer("row_id"), environment: try row.environment("environment"),
            id: TransactionID(row.text("id")),
            originalID: TransactionID(row.text("original_id")), productID: ProductID(row.text("product")),
            quantity: Int(row.integer("quantity")),
            purchasedAt: row.instant("purchased_at"), signedAt: row.instant("signed_at"),
            revokedAt: row.optionalInstant("revoked_at"), price: row.signedPrice()?.money,
            state: state, quarantine: row.optionalText("quarantine").flatMap(QuarantineReason.init(rawValue:)),
            orderRowID: row.optionalInteger("order_row_id"), receivedAt: row.instant("received_at"))
    }
}
