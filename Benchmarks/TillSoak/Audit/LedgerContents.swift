import TillBilling
import TillLedger
import TillSQL
import TillSQLite

/// The contents of the server's ledger, read from its file.
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
    /// Balances that differ from the sum of their postings, and sums without a balance.
    var unbalanced: [String] = []
    /// Stored notifications and receipts that are not processed yet.
    var waiting: [String] = []
    /// Faults of the file that SQLite reports.
    var damage: [String] = []

    static func read(_ path: String) async throws -> LedgerContents {
        try await reading(path) { try LedgerContents($0) }
    }

    init() {}

    init(_ connection: any Connection) throws {
        grants = try connection.query(
            """
            SELECT t.id, o.id AS order_id, o.status, \(user: "g.customer_id") AS user_id, t.product, t.quantity, g.at, \
            coalesce(s.points, 0) AS points FROM grants g JOIN transactions t ON t.row_id = g.transaction_row_id \
            JOIN orders o ON o.row_id = g.order_row_id LEFT JOIN (SELECT grant_row_id, sum(amount) AS points \
            FROM postings GROUP BY grant_row_id) s ON s.grant_row_id = g.transaction_row_id
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
        for case (let id?, let user) in orders { owners[id] = user }
        let moves = try connection.query(
            """
            SELECT o.id, m.status FROM order_moves m JOIN orders o ON o.row_id = m.order_row_id \
            ORDER BY m.order_row_id, m.number
            """, []
        ) { (UniqueID(bytes: $0.blob("id")), OrderStatus(rawValue: Int($0.integer("status")))) }
        for case (let id?, let status?) in moves { self.moves[id, default: []].append(status) }
        unbalanced = try LedgerTable(connection).unbalanced()
        waiting = try Self.waiting(connection)
        damage =
            try connection.query("PRAGMA integrity_check", []) { $0.text("integrity_check") }.filter { $0 != "ok" }
            + connection.query("PRAGMA foreign_key_check", []) { "foreign key of \($0.text("foreign_key_check"))" }
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

    static func waiting(in path: String) async throws -> [String] { try await reading(path) { try waiting($0) } }

    static func quarantined(in path: String) async throws -> Set<String> {
        try await reading(path) { connection in
            Set(try connection.query("SELECT id FROM transactions WHERE state = 2", []) { $0.text("id") })
        }
    }

    private static func reading<Value: Sendable>(
        _ path: String, _ read: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let ledger = try SQLiteDatabase.open(path: path, role: .operator, options: .init(.ledger))
        do {
            let value = try await ledger.read(read)
            await ledger.close()
            return value
        } catch {
            await ledger.close()
            throw error
        }
    }
}
