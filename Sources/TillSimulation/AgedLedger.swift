import TillBilling
import TillLedger
import TillSQL

/// The history of a shop that has been open for years: recorded purchases, written directly into the tables in their
/// original order.
public struct AgedLedger: Sendable {
    private let product: ProductID
    private let points: Int64
    /// The value of the `environment` columns.
    private let environment: Int64

    /// Milliseconds from the first purchase to now.
    private static let age: Int64 = 5 * 365 * 86_400_000
    private static let portion: Int64 = 50_000
    /// Purchases per customer, all within one portion, because customers come and go.
    private static let purchasesOfUser: Int64 = 12
    /// Bytes of a proof without its header, which is the same for all.
    private static let proofBytes: Int64 = 900

    public init(product: ProductID, points: Int64, environment: StoreEnvironment) {
        self.product = product
        self.points = points
        self.environment = environment == .production ? 1 : 2
    }

    /// - Parameter now: the date of the last purchase.
    public func write(_ purchases: Int64, until now: Instant, in ledger: any Database) async throws {
        let pace = max(1, Self.age / purchases)
        for first in stride(from: 0, to: purchases, by: Int(Self.portion)) {
            let count = min(Self.portion, purchases - first)
            let end = now.milliseconds - (purchases - first - count) * pace
            try await ledger.write { connection in try write(count, until: end, pace, connection) }
        }
    }

    private func write(_ count: Int64, until end: Int64, _ pace: Int64, _ connection: any Connection) throws {
        let base =
            try connection.first(
                """
                SELECT max(o, t) AS newest FROM (SELECT coalesce(max(row_id), 0) o FROM orders), \
                (SELECT coalesce(max(row_id), 0) t FROM transactions)
                """, []
            ) { $0.integer("newest") } ?? 0
        try connection.execute(
            "CREATE TEMP TABLE past (number INTEGER PRIMARY KEY, at INTEGER, customer_id INTEGER, id TEXT)", [])
        let customers = max(1, count / Self.purchasesOfUser)
        try connection.execute(
            """
            INSERT INTO customers (user_id, first_seen, last_event) WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL \
            SELECT i + 1 FROM n WHERE i < ?2 - 1) SELECT 'old' || ?1 || '-' || i, ?3, ?4 / ?2 + 1 FROM n
            """, [.integer(base), .integer(customers), .integer(end), .integer(count)])
        try connection.execute(
            """
            INSERT INTO past WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) \
            SELECT ?1 + i, ?3 - (?2 - i) * ?4, \
            (SELECT customer_id FROM customers WHERE app_id = 1 AND user_id = 'old' || ?1 || '-' || (i % ?5)), \
            printf('1%014d', ?1 + i) FROM n
            """,
            [
                .integer(base), .integer(count), .integer(end), .integer(pace),
                .integer(customers),
            ])
        try writeOrders(connection)
        try writeTransactions(connection)
        try writeGrants(connection)
        try connection.execute("DROP TABLE past", [])
    }

    private func writeOrders(_ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, environment, \
            transaction_id, created_at, updated_at, moves, id_source) SELECT number, randomblob(16), customer_id, ?, \
            1, 1, 600, 'CNY', ?, id, at - 60000, at, 2, 5 FROM past
            """, [.text(product.text), .integer(environment)])
        try connection.execute(
            """
            INSERT INTO order_moves (order_row_id, number, status, at, reason) \
            SELECT number, 1, 0, at - 60000, 'opened' FROM past UNION ALL \
            SELECT number, 2, 1, at, 'granted' FROM past ORDER BY 1, 2
            """, [])
    }

    private func writeTransactions(_ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, purchased_at, \
            signed_at, state, order_row_id, received_at) \
            SELECT number, ?, id, id, ?, 1, at, at, 1, number, at FROM past
            """, [.integer(environment), .text(product.text)])
        try connection.execute(
            "INSERT INTO proofs (transaction_row_id, kind, body) SELECT number, 1, randomblob(?) FROM past",
            [.integer(Self.proofBytes)])
        try connection.execute(
            """
            INSERT INTO evidence (transaction_row_id, at, decision, ground, source, caller_kind, caller_customer_id) \
            SELECT number, at, 'granted', 'token', 'client', 'user', customer_id FROM past
            """, [])
    }

    private func writeGrants(_ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO grants (transaction_row_id, id, order_row_id, customer_id, at) SELECT number, \
            randomblob(16), number, customer_id, at FROM past
            """, [])
        try connection.execute(
            """
            INSERT INTO postings (environment, customer_id, contra, currency, amount, kind, grant_row_id, at) \
            SELECT ?, customer_id, 'sold', 'points', ?, 'purchase', number, at FROM past
            """, [.integer(environment), .integer(points)])
        try connection.execute(
            """
            INSERT INTO balances (environment, customer_id, currency, amount) SELECT ?, customer_id, 'points', \
            count(*) * ? FROM past GROUP BY customer_id
            """, [.integer(environment), .integer(points)])
        try connection.execute(
            """
            INSERT INTO outbox (event_id, type, customer_id, transaction_row_id, at, user_sequence, revision, \
            version, body) SELECT randomblob(16), 'grant.created', customer_id, number, at, row_number() OVER \
            (PARTITION BY customer_id ORDER BY number), 0, 1, json_object('environment', 'Production', 'grantId', \
            lower(hex(randomblob(18))), 'orderId', lower(hex(randomblob(18))), 'originalTransactionId', id, \
            'postings', json_array(json_object('account', 'wallet', 'amount', ?1, 'currency', 'points', 'kind', \
            'purchase')), 'price', json_object('amount', 600, 'currency', 'CNY'), 'productId', ?2, 'purchasedAt', \
            strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000, 'unixepoch'), 'quantity', 1, 'transactionId', id) FROM past \
            ORDER BY number
            """, [.integer(points), .text(product.text)])
        try connection.execute(
            """
            INSERT INTO event_positions (position, event_row_id) SELECT row_id, row_id FROM outbox \
            WHERE row_id > (SELECT coalesce(max(position), 0) FROM event_positions)
            """, [])
    }
}
