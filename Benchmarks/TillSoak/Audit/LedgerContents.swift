import TillBilling
import TillLedger
import TillSQL
import TillTestDatabases

/// The contents of the server's ledger.
struct LedgerContents: Sendable {
    struct Grant: Sendable, Hashable {
        let transaction: String
        let order: OrderID?
        let orderStatus: OrderStatus?
        let user: String
        let product: String
        let quantity: Int64
        /// The sum of all its postings: the purchase's points minus refunds.
        let points: Int64
        let at: Instant
    }

    struct Record: Sendable, Hashable {
        /// 1 granted, 2 in quarantine, 3 revoked.
        let state: Int64
        let quarantine: String?
    }

    var grants: [Grant] = []
    var records: [String: Record] = [:]
    /// The owner of each order.
    var owners: [OrderID: String] = [:]
    /// The statuses of each order, in order.
    var moves: [OrderID: [OrderStatus]] = [:]
    /// Rows that violate a rule of every ledger, as `till doctor --full` and the simulation check them.
    var violations: [String] = []
    /// Stored notifications and receipts that are not processed yet.
    var waiting: [String] = []
    /// What the database finds wrong in its own pages and indices.
    var damage: [String] = []

    /// - Parameter ledger: no server uses it.
    static func read(_ ledger: LedgerPlace) async throws -> LedgerContents {
        var contents = try await reading(ledger) { try LedgerContents($0) }
        contents.damage = try await ledger.damages()
        return contents
    }

    init() {}

    init(_ connection: any Connection) throws {
        grants = try connection.query(
            """
            SELECT t.id, o.id AS order_id, o.status, \(user: "g.customer_id") AS user_id, t.product, t.quantity, g.at, \
            coalesce(s.points, 0) AS points FROM grants g JOIN transactions t ON t.row_id = g.transaction_row_id \
            JOIN orders o ON o.row_id = g.order_row_id LEFT JOIN (SELECT grant_row_id, CAST(sum(amount) AS BIGINT) \
            AS points FROM postings GROUP BY grant_row_id) s ON s.grant_row_id = g.transaction_row_id
            """, []
        ) { row in
            Grant(
                transaction: row.text("id"), order: UniqueID(bytes: row.blob("order_id")),
                orderStatus: OrderStatus(rawValue: Int(row.integer("status"))),
                user: row.text("user_id"), product: row.text("product"), quantity: row.integer("quantity"),
                points: row.integer("points"),
                at: Instant(milliseconds: row.integer("at")))
        }
        let records = try connection.query("SELECT id, state, quarantine FROM transactions", []) { row in
            (
                row.text("id"),
                Record(state: row.integer("state"), quarantine: row.isNull("quarantine") ? nil : row.text("quarantine"))
            )
        }
        self.records = Dictionary(records, uniquingKeysWith: { first, _ in first })
        let orders = try connection.query(
            "SELECT id, \(user: "orders.customer_id") AS user_id FROM orders", []
        ) { (UniqueID(bytes: $0.blob("id")), $0.text("user_id")) }
        let table = OrderTable(connection)
        for case (let id?, let user) in orders {
            owners[id] = user
            // The last move may stand in the order's own row alone.
            moves[id] = try table.find(id).map { try table.moves(of: $0).map(\.status) }
        }
        violations = try LedgerAudit.violations(connection).map(\.text.en)
        waiting = try Self.waiting(connection)
    }

    /// A receipt whose purchase was granted in the meantime through another source is not pending, whatever its
    /// schedule.
    private static func waiting(_ connection: any Connection) throws -> [String] {
        try connection.query("SELECT uuid, type, detail FROM notifications WHERE state = 0", []) {
            "notification \($0.text("uuid")) \($0.text("type")): \($0.text("detail"))"
        }
            + connection.query(
                """
                SELECT w.transaction_id, w.attempts, w.detail FROM waiting_proofs w WHERE NOT EXISTS (SELECT 1 \
                FROM transactions t WHERE t.environment = w.environment AND t.id = w.transaction_id AND t.state <> 2)
                """, []
            ) {
                "receipt of \($0.text("transaction_id")), asked for "
                    + "\($0.integer("attempts")) times: \($0.text("detail"))"
            }
    }

    static func waiting(in ledger: LedgerPlace) async throws -> [String] {
        try await reading(ledger) { try waiting($0) }
    }

    static func quarantined(in ledger: LedgerPlace) async throws -> Set<String> {
        try await reading(ledger) { connection in
            Set(try connection.query("SELECT id FROM transactions WHERE state = 2", []) { $0.text("id") })
        }
    }

    private static func reading<Value: Sendable>(
        _ ledger: LedgerPlace, _ read: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await ledger.opened(.operator) { try await $0.read(read) }
    }
}
