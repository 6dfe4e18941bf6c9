import TillBilling
import TillSQL

/// `imported_purchases`, `imported_balances` and `imported_tokens`.
struct ImportedRowTable {
    private let connection: any Connection
    init(_ connection: any Connection) { self.connection = connection }

    struct Purchase: Sendable, Hashable {
        let rowID: Int64
        let line: Int64
        let signedAt: Instant
        let isSigned: Bool
    }

    struct Balance: Sendable, Hashable {
        let rowID: Int64
        let line: Int64
        let environment: StoreEnvironment
        let currency: String
        let amount: Int64
        let statedAt: Instant
    }

    // MARK: Purchases

    func insert(
        _ transaction: Int64, of run: Int64, line: Int64, customer: Int64, signedAt: Instant, isSigned: Bool
    ) throws {
        try connection.write(
            """
            INSERT INTO imported_purchases (transaction_row_id, import_row_id, line, customer_id, signed_at, \
            is_signed) VALUES (\(marks: 6))
            """,
            [
                .integer(transaction), .integer(run), .integer(line), .integer(customer), .instant(signedAt),
                .flag(isSigned),
            ])
    }

    /// The import of a transaction that no signature of Apple stands behind; nil for every other one.
    func unsignedImport(of transaction: Int64) throws -> Int64? {
        try connection.first(
            """
            SELECT import_row_id FROM imported_purchases WHERE transaction_row_id = ?1 AND is_signed = 0 \
            AND undone_at IS NULL
            """, [.integer(transaction)]
        ) { $0.integer("import_row_id") }
    }

    /// The customers of an import, in pages.
    func customers(of run: Int64, after customer: Int64, limit: Int) throws -> [Int64] {
        try connection.query(
            """
            SELECT customer_id FROM imported_purchases WHERE import_row_id = ?1 AND customer_id > ?2 UNION \
            SELECT customer_id FROM imported_balances WHERE import_row_id = ?1 AND customer_id > ?2 UNION \
            SELECT customer_id FROM imported_tokens WHERE import_row_id = ?1 AND customer_id > ?2 \
            ORDER BY customer_id LIMIT ?3
            """, [.integer(run), .integer(customer), .integer(Int64(limit))]
        ) { $0.integer("customer_id") }
    }

    func purchases(of run: Int64, customer: Int64) throws -> [Purchase] {
        try connection.query(
            """
            SELECT transaction_row_id, line, signed_at, is_signed FROM imported_purchases WHERE import_row_id = ?1 \
            AND customer_id = ?2 AND undone_at IS NULL ORDER BY transaction_row_id
            """, [.integer(run), .integer(customer)]
        ) { row in
            Purchase(
                rowID: row.integer("transaction_row_id"), line: row.integer("line"),
                signedAt: row.instant("signed_at"), isSigned: row.integer("is_signed") != 0)
        }
    }

    func hasReminders(_ customer: Int64) throws -> Bool {
        try connection.first("SELECT 1 FROM reminders WHERE customer_id = ?1 LIMIT 1", [.integer(customer)]) { _ in
            true
        } ?? false
    }

    func undo(_ transaction: Int64, at now: Instant) throws {
        try connection.write(
            "UPDATE imported_purchases SET undone_at = ?2 WHERE transaction_row_id = ?1",
            [.integer(transaction), .instant(now)])
    }

    // MARK: Opening balances

    func insert(
        _ balance: ImportRow.Balance, of run: Int64, line: Int64, customer: Int64, in environment: StoreEnvironment,
        statedAt: Instant
    ) throws {
        try connection.write(
            """
            INSERT INTO imported_balances (import_row_id, line, customer_id, environment, currency, amount, stated_at) \
            VALUES (\(marks: 7))
            """,
            [
                .integer(run), .integer(line), .integer(customer), environment.column, .text(balance.currency),
                .integer(balance.amount), .instant(statedAt),
            ])
    }

    /// The opening balances of a customer that hold, of all imports.
    func balances(of user: UserID, in environment: StoreEnvironment) throws -> [Balance] {
        try connection.query(Self.findingBalances(of: user, in: environment), Self.read)
    }

    static func findingBalances(of user: UserID, in environment: StoreEnvironment) -> Statement {
        Statement(
            """
            SELECT row_id, line, environment, currency, amount, stated_at FROM imported_balances WHERE \
            customer_id = \(customer: 1) AND environment = ?2 AND undone_at IS NULL ORDER BY row_id
            """, [.text(user.text), environment.column])
    }

    func balances(of run: Int64, customer: Int64) throws -> [Balance] {
        try connection.query(
            """
            SELECT row_id, line, environment, currency, amount, stated_at FROM imported_balances WHERE \
            import_row_id = ?1 AND customer_id = ?2 AND undone_at IS NULL ORDER BY row_id
            """, [.integer(run), .integer(customer)], Self.read)
    }

    func undo(balance rowID: Int64, at now: Instant) throws {
        try connection.write(
            "UPDATE imported_balances SET undone_at = ?2 WHERE row_id = ?1", [.integer(rowID), .instant(now)])
    }

    /// The points in a wallet that come from purchases paid up to a moment: what the old system had counted by then.
    func points(
        of user: UserID, in environment: StoreEnvironment, currency: String, paidUpTo moment: Instant
    ) throws -> Int64 {
        try connection.first(
            """
            SELECT CAST(coalesce(sum(p.amount), 0) AS BIGINT) AS points FROM postings p CROSS JOIN transactions t \
            ON t.row_id = p.grant_row_id WHERE p.customer_id = \(customer: 1) AND +p.environment = ?2 AND \
            p.currency = ?3 AND +t.environment = ?2 AND t.purchased_at <= ?4 AND (p.kind IN ('purchase', 'moved') OR \
            t.revoked_at <= ?4)
            """, [.text(user.text), environment.column, .text(currency), .instant(moment)]
        ) { $0.integer("points") } ?? 0
    }

    /// The corrections of an import in a wallet, by environment and kind of points.
    func corrections(
        of run: UniqueID, customer: Int64
    ) throws -> [(environment: StoreEnvironment, currency: String, amount: Int64)] {
        try connection.query(
            """
            SELECT environment, currency, CAST(sum(amount) AS BIGINT) AS amount FROM postings WHERE customer_id = ?1 \
            AND kind = 'correction' AND reference >= ?2 AND reference < ?3 GROUP BY environment, currency \
            HAVING sum(amount) <> 0 ORDER BY environment, currency
            """, [.integer(customer), .text(Self.reference(run, "")), .text(Self.reference(run, "~"))]
        ) { row in
            (
                environment: try row.environment("environment"), currency: row.text("currency"),
                amount: row.integer("amount")
            )
        }
    }

    /// The reference of a correction: it names no person.
    static func reference(_ run: UniqueID, _ part: String) -> String { "import \(run) \(part)" }

    // MARK: Account tokens

    func insert(_ token: UniqueID, of run: Int64, customer: Int64) throws {
        try connection.write(
            "INSERT INTO imported_tokens (token, import_row_id, customer_id) VALUES (?1, ?2, ?3)",
            [.id(token), .integer(run), .integer(customer)])
    }

    func tokens(of run: Int64, customer: Int64) throws -> [UniqueID] {
        try connection.query(
            "SELECT token FROM imported_tokens WHERE import_row_id = ?1 AND customer_id = ?2 ORDER BY token",
            [.integer(run), .integer(customer)]
        ) { try $0.uniqueID("token") }
    }

    func remove(_ token: UniqueID, of customer: Int64, at now: Instant) throws {
        try AccountTokenTable(connection).remove(token, of: customer, at: now)
        try connection.write("DELETE FROM imported_tokens WHERE token = ?1", [.id(token)])
    }

    /// The transactions that imports recorded, among some.
    func transactions(_ slice: AuditSlice) throws -> Set<Int64> {
        Set(
            try connection.query(
                """
                SELECT transaction_row_id FROM imported_purchases WHERE transaction_row_id > ?1 AND \
                transaction_row_id <= ?2
                """, slice.values
            ) { $0.integer("transaction_row_id") })
    }

    private static func read(_ row: any Row) throws -> Balance {
        Balance(
            rowID: row.integer("row_id"), line: row.integer("line"), environment: try row.environment("environment"),
            currency: row.text("currency"), amount: row.integer("amount"), statedAt: row.instant("stated_at"))
    }
}
