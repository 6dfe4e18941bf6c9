import TillBilling

/// `grants`: one for each (environment, transaction), which the database itself holds to. Never edited.
public struct GrantTable {
    private let session: any Session
    public init(_ session: any Session) { self.session = session }

    public struct Stored: Sendable, Hashable {
        public let sequence: Int64
        public let grant: Grant
    }

    public func insert(_ grant: Grant, orderSequence: Int64) throws -> Int64 {
        try session.execute(
            """
            INSERT INTO grants (id, environment, transaction_id, order_sequence, user, product, quantity, entitlement, \
            at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .id(grant.id), grant.environment.column, .text(grant.transactionID.text), .integer(orderSequence),
                .text(grant.userID.text), .text(grant.productID.text), .integer(Int64(grant.quantity)),
                .optional(grant.entitlement), .instant(grant.at),
            ])
        return try session.lastInsertedRow()
    }

    /// The grant for a transaction, with the points it posted.
    public func find(_ id: TransactionID, in environment: Environment) throws -> Stored? {
        let found = try session.first(
            """
            SELECT g.sequence, g.id, g.user, g.product, g.quantity, g.entitlement, g.at, o.id FROM grants g \
            JOIN orders o ON o.sequence = g.order_sequence WHERE g.environment = ? AND g.transaction_id = ?
            """, [environment.column, .text(id.text)]
        ) { row in
            (
                sequence: row.integer(0), id: try row.uniqueID(1), user: UserID(row.text(2)),
                product: ProductID(row.text(3)), quantity: Int(row.integer(4)), entitlement: row.optionalText(5),
                at: row.instant(6), order: try row.uniqueID(7)
            )
        }
        guard let found else { return nil }
        let points = try session.query(
            """
            SELECT currency, amount FROM postings WHERE grant_sequence = ? AND kind = 'purchase' ORDER BY currency
            """, [.integer(found.sequence)]
        ) { row in GrantedPoints(currency: row.text(0), amount: row.integer(1)) }
        return Stored(
            sequence: found.sequence,
            grant: Grant(
                id: found.id, environment: environment, transactionID: id, orderID: found.order, userID: found.user,
                productID: found.product, quantity: found.quantity, points: points, entitlement: found.entitlement,
                at: found.at))
    }
}
