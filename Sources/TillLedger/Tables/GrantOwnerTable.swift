import TillBilling
import TillSQL

/// `grant_owners`: the current owner of a granted purchase. This is the only place for changes of owner: a grant
/// without a row belongs to the user in the grant itself.
public struct GrantOwnerTable {
    private static let chain: Columns = "environment, original_id"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// The grant with its current owner, and with the order that it is paid under now.
    public func present(_ grant: Grant, of rowID: Int64) throws -> Grant {
        let present = try connection.first(
            """
            SELECT \(user: "h.customer_id") AS user_id, o.id AS order_id FROM grant_owners h CROSS JOIN transactions t \
            ON t.row_id = h.grant_row_id LEFT JOIN orders o ON o.row_id = t.order_row_id \
            WHERE h.grant_row_id = ?1
            """, [.integer(rowID)]
        ) { row in
            (owner: UserID(row.text("user_id")), order: row.isNull("order_id") ? nil : try row.uniqueID("order_id"))
        }
        return present.map { grant.owned(by: $0.owner, under: $0.order) } ?? grant
    }

    /// The owners of those purchases of a chain that belong to another user than the one of their order.
    public func users(of original: TransactionID, in environment: StoreEnvironment) throws -> [Int64: UserID] {
        let found = try connection.query(
            """
            SELECT grant_row_id, \(user: "grant_owners.customer_id") AS user_id FROM grant_owners WHERE \
            environment = ?1 AND original_id = ?2 LIMIT 1000
            """,
            [environment.column, .text(original.text)]
        ) { (rowID: $0.integer("grant_row_id"), user: UserID($0.text("user_id"))) }
        return Dictionary(found.map { ($0.rowID, $0.user) }) { first, _ in first }
    }

    /// Leaves the grant without a recorded owner until it is claimed.
    public func remove(_ rowID: Int64) throws {
        try connection.write("DELETE FROM grant_owners WHERE grant_row_id = ?1", [.integer(rowID)])
    }

    /// Makes a user the owner.
    public func set(_ user: UserID, _ grant: OwnedGrant) throws {
        try connection.write(
            """
            INSERT INTO grant_owners (grant_row_id, \(Self.chain), customer_id) VALUES (?1, ?2, ?3, \(customer: 4)) \
            ON CONFLICT (grant_row_id) DO UPDATE SET customer_id = excluded.customer_id
            """,
            [
                .integer(grant.rowID), grant.environment.column, .text(grant.originalID.text), .text(user.text),
            ])
    }

    /// The owner of the newest transaction of a chain that was paid under an order.
    public func owner(
        of original: TransactionID, in environment: StoreEnvironment, orderRowID: Int64
    ) throws -> UserID? {
        try connection.first(
            """
            SELECT \(user: "coalesce(h.customer_id, g.customer_id)") AS user_id FROM transactions t CROSS JOIN grants \
            g ON g.transaction_row_id = t.row_id LEFT JOIN grant_owners h ON h.grant_row_id = t.row_id WHERE \
            t.order_row_id = ?1 AND +t.environment = ?2 AND t.original_id = ?3 ORDER BY t.row_id DESC LIMIT 1
            """, [.integer(orderRowID), environment.column, .text(original.text)]
        ) { UserID($0.text("user_id")) }
    }

    /// The owner of the first transaction of a chain; if it has none yet or was never seen, the owner of the newest
    /// one.
    public func owner(of original: TransactionID, in environment: StoreEnvironment) throws -> UserID? {
        let first = try connection.first(
            """
            SELECT \(user: "coalesce(h.customer_id, g.customer_id)") AS user_id FROM transactions t CROSS JOIN grants \
            g ON g.transaction_row_id = t.row_id LEFT JOIN grant_owners h ON h.grant_row_id = t.row_id WHERE \
            t.environment = ?1 AND t.id = ?2 AND t.state <> 2
            """, [environment.column, .text(original.text)]
        ) { UserID($0.text("user_id")) }
        return try first ?? newest(of: original, in: environment)?.user ?? newestPeriod(of: original, in: environment)
    }

    /// Most grants have no row here, so a chain whose first transaction is missing is found by its periods.
    private func newestPeriod(of original: TransactionID, in environment: StoreEnvironment) throws -> UserID? {
        try connection.first(
            """
            SELECT \(user: "g.customer_id") AS user_id FROM subscriptions s CROSS JOIN subscription_periods p \
            ON p.subscription_row_id = s.row_id CROSS JOIN transactions t ON t.row_id = p.transaction_row_id \
            CROSS JOIN grants g ON g.transaction_row_id = t.row_id WHERE s.environment = ?1 AND s.original_id = ?2 \
            AND t.state <> 2 ORDER BY t.purchased_at DESC, t.row_id DESC LIMIT 1
            """, [environment.column, .text(original.text)]
        ) { UserID($0.text("user_id")) }
    }

    /// The order of the newest transaction of a chain that has a row here. It finds a chain whose first transaction was
    /// never seen.
    public func order(of original: TransactionID, in environment: StoreEnvironment) throws -> Int64? {
        try newest(of: original, in: environment)?.order
    }

    private func newest(
        of original: TransactionID, in environment: StoreEnvironment
    ) throws -> (user: UserID, order: Int64)? {
        try connection.first(
            """
            SELECT \(user: "h.customer_id") AS user_id, coalesce(t.order_row_id, g.order_row_id) AS order_row_id \
            FROM grant_owners h CROSS JOIN grants g ON g.transaction_row_id = h.grant_row_id CROSS JOIN transactions t \
            ON t.row_id = h.grant_row_id WHERE h.environment = ?1 AND h.original_id = ?2 ORDER BY h.grant_row_id \
            DESC LIMIT 1
            """, [environment.column, .text(original.text)]
        ) { (UserID($0.text("user_id")), $0.integer("order_row_id")) }
    }

    // MARK: All grants of a user

    /// Every grant that a user owns, in both environments.
    public func all(of user: UserID) throws -> [OwnedGrant] {
        try connection.query(
            """
            SELECT t.row_id, \(Self.chain, of: "t") FROM orders o CROSS JOIN transactions t ON t.order_row_id = \
            o.row_id CROSS JOIN grants g ON g.transaction_row_id = t.row_id LEFT JOIN grant_owners h ON \
            h.grant_row_id = t.row_id WHERE o.customer_id = \(customer: 1) AND h.customer_id IS NULL UNION ALL \
            SELECT grant_row_id, \(Self.chain) FROM grant_owners WHERE customer_id = \(customer: 1) ORDER BY 1
            """, [.text(user.text)], Self.read)
    }

    /// The grants of one chain that a user owns.
    public func chain(
        of original: TransactionID, in environment: StoreEnvironment, ownedBy user: UserID
    ) throws -> [OwnedGrant] {
        try connection.query(
            """
            SELECT t.row_id, \(Self.chain, of: "t") FROM orders o CROSS JOIN transactions t ON t.order_row_id = \
            o.row_id CROSS JOIN grants g ON g.transaction_row_id = t.row_id LEFT JOIN grant_owners h ON \
            h.grant_row_id = t.row_id WHERE o.customer_id = \(customer: 1) AND h.customer_id IS NULL AND \
            +t.environment = ?2 AND t.original_id = ?3 UNION ALL SELECT grant_row_id, environment, original_id FROM \
            grant_owners WHERE +customer_id = \(customer: 1) AND environment = ?2 AND original_id = ?3 ORDER BY 1
            """, [.text(user.text), environment.column, .text(original.text)], Self.read)
    }

    /// The grants that a transfer moved and that still belong to its receiver; for a guest's merge also what was paid
    /// under the guest's orders since.
    public func stillMoved(by transfer: TransferTable.Stored) throws -> [OwnedGrant] {
        try connection.query(
            """
            SELECT h.grant_row_id AS row_id, \(Self.chain, of: "h") FROM transfer_items i CROSS JOIN grant_owners h ON \
            h.grant_row_id = i.grant_row_id WHERE i.transfer_row_id = ?1 AND h.customer_id = \(customer: 2) \
            UNION SELECT h.grant_row_id, \(Self.chain, of: "h") FROM orders o CROSS JOIN transactions t ON \
            t.order_row_id = o.row_id CROSS JOIN grant_owners h ON h.grant_row_id = t.row_id WHERE ?3 = 1 AND \
            o.customer_id = \(customer: 4) AND h.customer_id = \(customer: 2) AND NOT EXISTS (SELECT 1 FROM \
            transfer_items i WHERE i.grant_row_id = h.grant_row_id AND i.transfer_row_id <> ?1) ORDER BY 1
            """,
            [
                .integer(transfer.rowID), .text(transfer.transfer.to.text),
                .flag(transfer.transfer.kind == .guestMerge), .text(transfer.transfer.from.text),
            ], Self.read)
    }

    /// The points that a grant put into a user's wallet, moved ones included, less what was revoked.
    public func points(of grant: OwnedGrant, in user: UserID) throws -> [MovedPoints] {
        try connection.query(
            """
            SELECT currency, CAST(sum(amount) AS BIGINT) AS points FROM postings WHERE customer_id = \(customer: 1) \
            AND grant_row_id = ?2 GROUP BY currency HAVING sum(amount) <> 0 ORDER BY currency
            """, [.text(user.text), .integer(grant.rowID)]
        ) { row in
            MovedPoints(
                environment: grant.environment, currency: row.text("currency"), amount: row.integer("points"),
                grant: grant.rowID)
        }
    }

    private static func read(_ row: any Row) throws -> OwnedGrant {
        OwnedGrant(
            rowID: row.integer("row_id"), environment: try row.environment("environment"),
            originalID: TransactionID(row.text("original_id")))
    }
}
