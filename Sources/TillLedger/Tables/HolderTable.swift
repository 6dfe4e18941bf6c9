import TillBilling
import TillSQL

/// `holders`: the current owner of a granted purchase. This is the only place for changes of owner: a grant without a
/// row belongs to the user in the grant itself.
public struct HolderTable {
    private static let chain: Columns = "environment, original_id"

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    /// The grant with its current owner, and with the order that it is paid under now.
    public func present(_ grant: Grant, of sequence: Int64) throws -> Grant {
        let present = try session.first(
            """
            SELECT \(user: "h.customer_id") AS user_id, o.id AS order_id FROM holders h CROSS JOIN transactions t \
            ON t.sequence = h.grant_sequence LEFT JOIN orders o ON o.sequence = t.order_sequence \
            WHERE h.grant_sequence = ?1
            """, [.integer(sequence)]
        ) { row in
            (holder: UserID(row.text("user_id")), order: row.isNull("order_id") ? nil : try row.uniqueID("order_id"))
        }
        return present.map { grant.held(by: $0.holder, under: $0.order) } ?? grant
    }

    /// The owners of those purchases of a chain that belong to another user than the one of their order.
    public func users(of original: TransactionID, in environment: Environment) throws -> [Int64: UserID] {
        let found = try session.query(
            """
            SELECT grant_sequence, \(user: "holders.customer_id") AS user_id FROM holders WHERE environment = ?1 AND \
            original_id = ?2 LIMIT 1000
            """,
            [environment.column, .text(original.text)]
        ) { (sequence: $0.integer("grant_sequence"), user: UserID($0.text("user_id"))) }
        return Dictionary(found.map { ($0.sequence, $0.user) }) { first, _ in first }
    }

    /// Leaves the grant without a recorded owner until it is claimed.
    public func remove(_ sequence: Int64) throws {
        try session.execute("DELETE FROM holders WHERE grant_sequence = ?1", [.integer(sequence)])
    }

    /// Makes a user the owner.
    public func set(_ user: UserID, _ grant: HeldGrant) throws {
        try session.execute(
            """
            INSERT INTO holders (grant_sequence, \(Self.chain), customer_id) VALUES (?1, ?2, ?3, \(customer: 4)) \
            ON CONFLICT (grant_sequence) DO UPDATE SET customer_id = excluded.customer_id
            """,
            [
                .integer(grant.sequence), grant.environment.column, .text(grant.originalID.text), .text(user.text),
            ])
    }

    /// The owner of the newest transaction of a chain that was paid under an order.
    public func holder(
        of original: TransactionID, in environment: Environment, orderSequence: Int64
    ) throws -> UserID? {
        try session.first(
            """
            SELECT \(user: "coalesce(h.customer_id, g.customer_id)") AS user_id FROM transactions t CROSS JOIN grants \
            g ON g.transaction_sequence = t.sequence LEFT JOIN holders h ON h.grant_sequence = t.sequence WHERE \
            t.order_sequence = ?1 AND +t.environment = ?2 AND t.original_id = ?3 ORDER BY t.sequence DESC LIMIT 1
            """, [.integer(orderSequence), environment.column, .text(original.text)]
        ) { UserID($0.text("user_id")) }
    }

    /// The owner of the first transaction of a chain; if it has none yet or was never seen, the owner of the newest
    /// one.
    public func holder(of original: TransactionID, in environment: Environment) throws -> UserID? {
        let first = try session.first(
            """
            SELECT \(user: "coalesce(h.customer_id, g.customer_id)") AS user_id FROM transactions t CROSS JOIN grants \
            g ON g.transaction_sequence = t.sequence LEFT JOIN holders h ON h.grant_sequence = t.sequence WHERE \
            t.environment = ?1 AND t.id = ?2 AND t.state <> 2
            """, [environment.column, .text(original.text)]
        ) { UserID($0.text("user_id")) }
        return try first ?? newest(of: original, in: environment)?.user ?? newestPeriod(of: original, in: environment)
    }

    /// Most grants have no row here, so a chain whose first transaction is missing is found by its periods.
    private func newestPeriod(of original: TransactionID, in environment: Environment) throws -> UserID? {
        try session.first(
            """
            SELECT \(user: "g.customer_id") AS user_id FROM subscriptions s CROSS JOIN subscription_periods p \
            ON p.subscription_sequence = s.sequence CROSS JOIN transactions t ON t.sequence = p.transaction_sequence \
            CROSS JOIN grants g ON g.transaction_sequence = t.sequence WHERE s.environment = ?1 AND s.original_id = ?2 \
            AND t.state <> 2 ORDER BY t.purchased_at DESC, t.sequence DESC LIMIT 1
            """, [environment.column, .text(original.text)]
        ) { UserID($0.text("user_id")) }
    }

    /// The order of the newest transaction of a chain that has a row here. It finds a chain whose first transaction was
    /// never seen.
    public func order(of original: TransactionID, in environment: Environment) throws -> Int64? {
        try newest(of: original, in: environment)?.order
    }

    private func newest(
        of original: TransactionID, in environment: Environment
    ) throws -> (user: UserID, order: Int64)? {
        try session.first(
            """
            SELECT \(user: "h.customer_id") AS user_id, coalesce(t.order_sequence, g.order_sequence) AS order_sequence \
            FROM holders h CROSS JOIN grants g ON g.transaction_sequence = h.grant_sequence CROSS JOIN transactions t \
            ON t.sequence = h.grant_sequence WHERE h.environment = ?1 AND h.original_id = ?2 ORDER BY h.grant_sequence \
            DESC LIMIT 1
            """, [environment.column, .text(original.text)]
        ) { (UserID($0.text("user_id")), $0.integer("order_sequence")) }
    }

    // MARK: All grants of a user

    /// Every grant that a user owns, in both environments.
    public func all(of user: UserID) throws -> [HeldGrant] {
        try session.query(
            """
            SELECT t.sequence, \(Self.chain, of: "t") FROM orders o CROSS JOIN transactions t ON t.order_sequence = \
            o.sequence CROSS JOIN grants g ON g.transaction_sequence = t.sequence LEFT JOIN holders h ON \
            h.grant_sequence = t.sequence WHERE o.customer_id = \(customer: 1) AND h.customer_id IS NULL UNION ALL \
            SELECT grant_sequence, \(Self.chain) FROM holders WHERE customer_id = \(customer: 1) ORDER BY 1
            """, [.text(user.text)], Self.read)
    }

    /// The grants of one chain that a user owns.
    public func chain(
        of original: TransactionID, in environment: Environment, heldBy user: UserID
    ) throws -> [HeldGrant] {
        try session.query(
            """
            SELECT t.sequence, \(Self.chain, of: "t") FROM orders o CROSS JOIN transactions t ON t.order_sequence = \
            o.sequence CROSS JOIN grants g ON g.transaction_sequence = t.sequence LEFT JOIN holders h ON \
            h.grant_sequence = t.sequence WHERE o.customer_id = \(customer: 1) AND h.customer_id IS NULL AND \
            +t.environment = ?2 AND t.original_id = ?3 UNION ALL SELECT grant_sequence, environment, original_id FROM \
            holders WHERE +customer_id = \(customer: 1) AND environment = ?2 AND original_id = ?3 ORDER BY 1
            """, [.text(user.text), environment.column, .text(original.text)], Self.read)
    }

    /// The grants that a transfer moved and that still belong to its receiver; for a guest's merge also what was paid
    /// under the guest's orders since.
    public func stillMoved(by transfer: TransferTable.Stored) throws -> [HeldGrant] {
        try session.query(
            """
            SELECT h.grant_sequence AS sequence, \(Self.chain, of: "h") FROM transfer_items i CROSS JOIN holders h ON \
            h.grant_sequence = i.grant_sequence WHERE i.transfer_sequence = ?1 AND h.customer_id = \(customer: 2) \
            UNION SELECT h.grant_sequence, \(Self.chain, of: "h") FROM orders o CROSS JOIN transactions t ON \
            t.order_sequence = o.sequence CROSS JOIN holders h ON h.grant_sequence = t.sequence WHERE ?3 = 1 AND \
            o.customer_id = \(customer: 4) AND h.customer_id = \(customer: 2) AND NOT EXISTS (SELECT 1 FROM \
            transfer_items i WHERE i.grant_sequence = h.grant_sequence AND i.transfer_sequence <> ?1) ORDER BY 1
            """,
            [
                .integer(transfer.sequence), .text(transfer.transfer.to.text),
                .flag(transfer.transfer.kind == .guestMerge), .text(transfer.transfer.from.text),
            ], Self.read)
    }

    /// The points that a grant put into a user's wallet, less what was revoked. Points that a transfer moved there
    /// count only if `withMoved`.
    public func points(
        of grant: HeldGrant, in user: UserID, withMoved: Bool = true
    ) throws -> [MovedPoints] {
        try session.query(
            """
            SELECT currency, sum(amount) AS points FROM postings WHERE customer_id = \(customer: 1) AND grant_sequence \
            = ?2 AND (kind <> 'moved' OR ?3 = 1) GROUP BY currency HAVING sum(amount) <> 0 ORDER BY currency
            """, [.text(user.text), .integer(grant.sequence), .flag(withMoved)]
        ) { row in
            MovedPoints(
                environment: grant.environment, currency: row.text("currency"), amount: row.integer("points"),
                grant: grant.sequence)
        }
    }

    private static func read(_ row: any Row) throws -> HeldGrant {
        HeldGrant(
            sequence: row.integer("sequence"), environment: try row.environment("environment"),
            originalID: TransactionID(row.text("original_id")))
    }
}
