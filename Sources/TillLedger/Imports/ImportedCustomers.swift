import TillBilling
import TillSQL

/// What an import recorded, by customer: for its undo.
extension ImportedRowTable {
    /// The customers of an import, in pages.
    func customers(of run: Int64, after customer: Int64, limit: Int) throws -> [Int64] {
        try connection.query(
            """
            SELECT customer_id FROM (SELECT DISTINCT customer_id FROM imported_purchases WHERE import_row_id = ?1 AND \
            customer_id > ?2 ORDER BY customer_id LIMIT ?3) AS a UNION SELECT customer_id FROM (SELECT DISTINCT \
            customer_id FROM imported_balances WHERE import_row_id = ?1 AND customer_id > ?2 ORDER BY customer_id \
            LIMIT ?3) AS b UNION SELECT customer_id FROM (SELECT DISTINCT customer_id FROM imported_tokens WHERE \
            import_row_id = ?1 AND customer_id > ?2 ORDER BY customer_id LIMIT ?3) AS c ORDER BY customer_id LIMIT ?3
            """, [.integer(run), .integer(customer), .integer(Int64(limit))]
        ) { $0.integer("customer_id") }
    }

    /// How many purchases of an import customers have.
    func purchaseCounts(of run: Int64, _ customers: [Int64]) throws -> [Int64: Int64] {
        var counts: [Int64: Int64] = [:]
        let counting: SQL = """
            SELECT customer_id, count(*) AS count FROM imported_purchases WHERE customer_id IN (\(marks: 32)) \
            AND import_row_id = ?33 AND undone_at IS NULL GROUP BY customer_id
            """
        let statements = IDLists.statements(counting, customers, [.integer(run)])
        try connection.prefetch { statements }
        for statement in statements {
            _ = try connection.query(statement) { counts[$0.integer("customer_id")] = $0.integer("count") }
        }
        return counts
    }

    /// What `ImportUndoFacts` reads first of customers.
    static func reads(of customers: [Int64], in run: ImportRun) -> [Statement] {
        findingPurchases(of: customers, in: run) + findingBalances(of: customers)
            + findingTokens(of: customers, in: run) + findingReminders(of: customers)
            + LedgerTable.findingWallets(of: customers)
    }

    func purchases(
        of customers: [Int64], in run: ImportRun
    ) throws -> [(customer: Int64, purchase: Purchase)] {
        try all(Self.findingPurchases(of: customers, in: run)) { row in
            (
                row.integer("customer_id"),
                Purchase(
                    rowID: row.integer("transaction_row_id"), line: row.integer("line"),
                    signedAt: row.instant("signed_at"), isSigned: row.integer("is_signed") != 0)
            )
        }
    }

    private static func findingPurchases(of customers: [Int64], in run: ImportRun) -> [Statement] {
        IDLists.statements(
            """
            SELECT customer_id, transaction_row_id, line, signed_at, is_signed FROM imported_purchases WHERE \
            customer_id IN (\(marks: 32)) AND import_row_id = ?33 AND undone_at IS NULL ORDER BY \
            transaction_row_id
            """, customers, [.integer(run.rowID)])
    }

    /// The opening balances of customers, of all imports.
    func balances(
        of customers: [Int64]
    ) throws -> [(customer: Int64, rowID: Int64, run: Int64, isUndone: Bool)] {
        try all(Self.findingBalances(of: customers)) { row in
            (
                row.integer("customer_id"), row.integer("row_id"), row.integer("import_row_id"),
                !row.isNull("undone_at")
            )
        }
    }

    private static func findingBalances(of customers: [Int64]) -> [Statement] {
        IDLists.statements(
            """
            SELECT customer_id, row_id, import_row_id, undone_at FROM imported_balances WHERE customer_id IN \
            (\(marks: 32)) ORDER BY row_id
            """, customers)
    }

    func tokens(of customers: [Int64], in run: ImportRun) throws -> [(customer: Int64, token: UniqueID)] {
        try all(Self.findingTokens(of: customers, in: run)) {
            ($0.integer("customer_id"), try $0.uniqueID("token"))
        }
    }

    private static func findingTokens(of customers: [Int64], in run: ImportRun) -> [Statement] {
        IDLists.statements(
            """
            SELECT customer_id, token FROM imported_tokens WHERE customer_id IN (\(marks: 32)) AND \
            import_row_id = ?33 ORDER BY token
            """, customers, [.integer(run.rowID)])
    }

    /// What the corrections of an import in each wallet add up to.
    func corrections(
        of customers: [Int64], in run: ImportRun
    ) throws -> [(customer: Int64, wallet: ImportUndoFacts.Wallet, amount: Int64)] {
        let range = [SQLValue.text(Self.reference(run.id, "")), .text(Self.reference(run.id, "~"))]
        let statements = customers.map { customer in
            Statement(
                """
                SELECT customer_id, environment, currency, CAST(sum(amount) AS BIGINT) AS amount FROM postings WHERE \
                customer_id = ?1 AND kind = 'correction' AND reference >= ?2 AND reference < ?3 GROUP BY customer_id, \
                environment, currency HAVING sum(amount) <> 0 ORDER BY environment, currency
                """, [.integer(customer)] + range)
        }
        try connection.prefetch { statements }
        return try all(statements) { row in
            (
                row.integer("customer_id"),
                ImportUndoFacts.Wallet(
                    environment: try row.environment("environment"), currency: row.text("currency")),
                row.integer("amount")
            )
        }
    }

    func customersWithReminders(_ customers: [Int64]) throws -> Set<Int64> {
        Set(try all(Self.findingReminders(of: customers)) { $0.integer("customer_id") })
    }

    private static func findingReminders(of customers: [Int64]) -> [Statement] {
        IDLists.statements(
            """
            SELECT DISTINCT customer_id FROM reminders WHERE customer_id IN (\(marks: 32)) AND environment IN \
            (?33, ?34, ?35)
            """, customers, StoreEnvironment.allCases.map(\.column))
    }

    private func all<Value>(_ statements: [Statement], _ read: (any Row) throws -> Value) throws -> [Value] {
        try statements.flatMap { try connection.query($0, read) }
    }
}
