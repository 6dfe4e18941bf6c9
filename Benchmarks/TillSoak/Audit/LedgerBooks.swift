import TillBilling
import TillLedger
import TillSQL
import TillSQLite

/// What stands in the server's ledger, read from its file.
struct LedgerBooks: Sendable {
    struct Grant: Sendable, Hashable {
        let transaction: String
        let order: OrderID?
        let orderStatus: OrderStatus?
        let user: String
        let product: String
        let quantity: Int64
        /// The sum of all its postings: what the purchase gave, less what a refund took.
        let points: Int64
        let at: Instant
    }

    struct Record: Sendable, Hashable {
        /// 1 granted, 2 in quarantine, 3 taken back.
        let state: Int64
        let quarantine: String?
    }

    var grants: [Grant] = []
    var records: [String: Record] = [:]
    /// Whose each order is.
    var owners: [OrderID: String] = [:]
    /// What each order was, one after the other.
    var moves: [OrderID: [OrderStatus]] = [:]
    /// Balances that are not the sum of their postings, and sums without a balance.
    var unbalanced: [String] = []
    /// Notifications and receipts that are kept and not settled.
    var waiting: [String] = []
    /// What SQLite finds wrong with the file.
    var damage: [String] = []

    static func read(_ path: String) async throws -> LedgerBooks { try await reading(path) { try LedgerBooks($0) } }

    init() {}

    init(_ session: any Connection) throws {
        grants = try session.query(
            """
            SELECT t.id, o.id, o.status, g.user, t.product, t.quantity, g.at, coalesce(s.points, 0) FROM grants g \
            JOIN transactions t ON t.sequence = g.transaction_sequence JOIN orders o ON o.sequence = g.order_sequence \
            LEFT JOIN (SELECT grant_sequence, sum(amount) AS points FROM postings GROUP BY grant_sequence) s \
            ON s.grant_sequence = g.transaction_sequence
            """, []
        ) { row in
            Grant(
                transaction: row.text(0), order: UniqueID(bytes: row.blob(1)),
                orderStatus: OrderStatus(rawValue: Int(row.integer(2))),
                user: row.text(3), product: row.text(4), quantity: row.integer(5), points: row.integer(7),
                at: Instant(milliseconds: row.integer(6)))
        }
        let records = try session.query("SELECT id, state, quarantine FROM transactions", []) { row in
            (row.text(0), Record(state: row.integer(1), quarantine: row.isNull(2) ? nil : row.text(2)))
        }
        self.records = Dictionary(records, uniquingKeysWith: { first, _ in first })
        let orders = try session.query("SELECT id, user FROM orders", []) { (UniqueID(bytes: $0.blob(0)), $0.text(1)) }
        for case (let id?, let user) in orders { owners[id] = user }
        let moves = try session.query(
            """
            SELECT o.id, m.status FROM order_moves m JOIN orders o ON o.sequence = m.order_sequence \
            ORDER BY m.order_sequence, m.number
            """, []
        ) { (UniqueID(bytes: $0.blob(0)), OrderStatus(rawValue: Int($0.integer(1)))) }
        for case (let id?, let status?) in moves { self.moves[id, default: []].append(status) }
        unbalanced =
            try LedgerTable(session).unbalanced()
            + session.query(
                """
                SELECT DISTINCT p.user FROM postings p LEFT JOIN balances b ON b.environment = p.environment \
                AND b.user = p.user AND b.currency = p.currency WHERE b.user IS NULL
                """, []
            ) { "\($0.text(0)) has postings and no balance" }
        waiting = try Self.waiting(session)
        damage =
            try session.query("PRAGMA integrity_check", []) { $0.text(0) }.filter { $0 != "ok" }
            + session.query("PRAGMA foreign_key_check", []) { "foreign key of \($0.text(0))" }
    }

    /// A receipt that was settled meanwhile on somebody else's word waits for nothing, whenever it is looked at.
    private static func waiting(_ session: any Connection) throws -> [String] {
        try session.query("SELECT uuid, type, detail FROM notifications WHERE state = 0", []) {
            "notification \($0.text(0)) \($0.text(1)): \($0.text(2))"
        }
            + session.query(
                """
                SELECT w.transaction_id, w.attempts, w.detail FROM waiting_proofs w WHERE NOT EXISTS (SELECT 1 \
                FROM transactions t WHERE t.environment = w.environment AND t.id = w.transaction_id AND t.state <> 2)
                """, []
            ) { "receipt of \($0.text(0)), asked for \($0.integer(1)) times: \($0.text(2))" }
    }

    static func waiting(in path: String) async throws -> [String] { try await reading(path) { try waiting($0) } }

    static func quarantined(in path: String) async throws -> Set<String> {
        try await reading(path) { session in
            Set(try session.query("SELECT id FROM transactions WHERE state = 2", []) { $0.text(0) })
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
