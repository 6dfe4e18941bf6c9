import TillBilling
import TillSQL

/// `imported_purchases`, `imported_balances` and `imported_tokens`.
struct ImportedRowTable {
    let connection: any Connection
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

    /// Marks purchases as undone.
    func undo(_ transactions: [Int64], at now: Instant) throws {
        for list in IDLists.of(transactions) {
            try connection.write(
                """
                UPDATE imported_purchases SET undone_at = ?33 WHERE transaction_row_id IN \
                (\(marks: 32))
                """, list + [.instant(now)])
        }
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

    /// Marks opening balances as undone.
    func undo(balances: [Int64], at now: Instant) throws {
        for list in IDLists.of(balances) {
            try connection.write(
                """
                UPDATE imported_balances SET undone_at = ?33 WHERE row_id IN (\(marks: 32))
                """, list + [.instant(now)])
        }
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

    /// The reference of a correction: it names no person.
    static func reference(_ run: UniqueID, _ part: String) -> String { "import \(run) \(part)" }

    // MARK: Account tokens

    func insert(_ token: UniqueID, of run: Int64, customer: Int64) throws {
        try connection.write(
            "INSERT INTO imported_tokens (token, import_row_id, customer_id) VALUES (?1, ?2, ?3)",
            [.id(token), .integer(run), .integer(customer)])
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
