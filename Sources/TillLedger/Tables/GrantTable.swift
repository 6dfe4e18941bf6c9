import TillBilling
import TillSQL

/// `grants`: one for each transaction, enforced by the database: a transaction has one row, whose row id is the grant's
/// key. Never edited.
public struct GrantTable {
    private static let inserting: SQL = """
        INSERT INTO grants (transaction_row_id, id, order_row_id, customer_id, entitlement, at, catalog_version, \
        decision, caller_key) VALUES (\(marks: 9))
        """

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// - Parameters:
    ///   - catalogVersion: the catalogue that defines what it grants.
    ///   - customer: the number of the grant's user, if it is known.
    ///   - decision: the decision that made it, unless `evidence` has it.
    func insert(
        _ grant: Grant, transaction rowID: Int64, orderRowID: Int64, catalogVersion: Int64? = nil,
        customer: Int64? = nil, decision: GrantDecision? = nil
    ) throws {
        try connection.write(
            Self.inserting,
            [
                .integer(rowID), .id(grant.id), .integer(orderRowID),
                .optional(try customer ?? CustomerTable(connection).number(of: grant.userID)),
                .optional(grant.entitlement), .instant(grant.at), .optional(catalogVersion),
                .optional(decision?.number), .optional(decision?.callerKey),
            ])
    }

    /// Those periods of a chain whose grants posted points: one statement, because chains may be long.
    func withPoints(inChain original: TransactionID, of environment: StoreEnvironment) throws -> Set<Int64> {
        Set(
            try connection.query(
                """
                SELECT DISTINCT p.grant_row_id FROM subscriptions s CROSS JOIN subscription_periods l ON \
                l.subscription_row_id = s.row_id CROSS JOIN postings p ON p.grant_row_id = l.transaction_row_id WHERE \
                s.environment = ?1 AND s.original_id = ?2 AND p.kind = 'purchase'
                """, [environment.column, .text(original.text)]
            ) { $0.integer("grant_row_id") })
    }

    /// The grant for a transaction, with the points it posted.
    public func find(transaction rowID: Int64) throws -> Grant? {
        let points = try connection.query(
            """
            SELECT currency, amount FROM postings WHERE grant_row_id = ?1 AND kind = 'purchase' ORDER BY currency
            """, [.integer(rowID)]
        ) { row in GrantedPoints(currency: row.text("currency"), amount: row.integer("amount")) }
        return try connection.first(
            """
            SELECT g.id AS grant_id, t.environment, t.id, o.id AS order_id, \(user: "g.customer_id") AS user_id, \
            t.product, t.quantity, g.entitlement, g.at FROM grants g JOIN transactions t ON t.row_id = \
            g.transaction_row_id JOIN orders o ON o.row_id = g.order_row_id WHERE g.transaction_row_id = ?1
            """, [.integer(rowID)]
        ) { row in
            Grant(
                id: try row.uniqueID("grant_id"), environment: try row.environment("environment"),
                transactionID: TransactionID(row.text("id")),
                orderID: try row.uniqueID("order_id"), userID: UserID(row.text("user_id")),
                productID: ProductID(row.text("product")),
                quantity: Int(row.integer("quantity")), points: points, entitlement: row.optionalText("entitlement"),
                at: row.instant("at"))
        }
    }
}
