import TillLedger
import TillSQL

/// One run of a body on a database that locks. A key that was not declared ends the run; a change that none of the
/// declared keys guards ends the simulation, because on such a database two bodies would make it at once.
final class KeyedConnection: Connection {
    private let inner: any Connection
    private let attempt: Attempt
    private let tables: GuardedTables
    let isShared: Bool

    init(_ inner: any Connection, _ attempt: Attempt, _ tables: GuardedTables, isShared: Bool) {
        self.isShared = isShared
        self.inner = inner
        self.attempt = attempt
        self.tables = tables
    }

    func lock(_ keys: @autoclosure () -> [LockKey]) { attempt.lock(keys()) }

    func drawIDs(_ count: Int, of table: StaticString) throws -> [Int64] {
        try attempt.draw(count, of: "\(table)") { try inner.drawIDs(count, of: table)[0] }
    }

    func run(_ statements: [Statement]) throws(DatabaseError) -> [StatementResult] {
        for statement in statements { check(statement.sql) }
        return try inner.run(statements)
    }

    func execute(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int {
        check(sql)
        return try inner.execute(sql, values)
    }

    func insertIfNew(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int64? {
        check(sql)
        return try inner.insertIfNew(sql, values)
    }

    func query<Value>(_ sql: SQL, _ values: [SQLValue], _ read: (any Row) throws -> Value) throws -> [Value] {
        check(sql)
        return try inner.query(sql, values, read)
    }

    /// Keys that the body adds count too: the run is undone, and the next one has them from its beginning.
    private func check(_ sql: SQL) {
        guard let table = tables.changed(by: sql) else { return }
        // One writer's events get their positions in every commit.
        if !isShared, table == "event_positions" { return }
        guard let kinds = GuardedTables.kinds[table] else {
            preconditionFailure("no key guards the table \(table): add it to GuardedTables")
        }
        // A row that this body made is visible to no other body.
        guard !kinds.isEmpty, attempt.drawn[table] == nil else { return }
        let isGuarded = [attempt.keys, attempt.undeclared].contains { $0.contains { kinds.contains($0.kind) } }
        precondition(
            isGuarded,
            "a write of \(attempt.keys.union(attempt.undeclared).sorted()) changes \(table), which is guarded by "
                + "\(kinds.sorted()): \(sql)")
    }
}

/// Which kinds of keys guard a table: a body that changes it has one of them. An empty list is a table whose rows are
/// inserted once, counted up, or locked by the statement that changes them.
// @unchecked: all tasks of one simulated world run on one thread.
final class GuardedTables: @unchecked Sendable {
    static let kinds: [String: Set<String>] = [
        "account_tokens": ["order"],
        // Tokens without a row are recorded by one server at its start.
        "account_token_log": [],
        "apple_chains": ["ledger"],
        "balances": ["customer"],
        "catalog_versions": ["ledger"],
        "claims": ["customer"],
        // A job moves a proof that has not changed: the statement that deletes it compares its bytes.
        "commit_marks": [],
        "compressed_proofs": ["chain", "ledger"],
        "consents": ["customer"],
        "consumption_requests": ["notification", "consumption request"],
        "customers": [],
        "differences": ["ledger"],
        "distrusted_receipts": [],
        "erasures": ["customer", "ledger", "order"],
        "apple_tasks": ["chain", "apple task"],
        "event_positions": ["ledger"],
        "evidence": [],
        "foreign_notifications": ["notification"],
        "grants": ["chain"],
        // Written by a migration alone.
        "grant_decisions": [],
        "heartbeat": ["ledger"],
        "grant_owners": ["chain"],
        "idempotency_keys": ["idempotency"],
        "imports": ["ledger"],
        "imported_balances": ["customer"],
        "imported_purchases": ["chain"],
        "imported_tokens": ["order"],
        "leases": [],
        "ledger": ["ledger"],
        "ledger_restores": ["ledger"],
        "notifications": ["notification", "ledger"],
        "order_moves": [],
        "orders": ["order"],
        "outbox": [],
        "ownership_basis": ["chain"],
        "postings": ["customer"],
        "seal_gaps": ["ledger"],
        "seal_summary": ["ledger"],
        "sealed_changes": [],
        "seals": ["ledger"],
        "server_activity": ["ledger"],
        "proof_headers": [],
        "proofs": ["chain", "ledger"],
        // A row is only a hint, and is inserted unless it is there.
        "purchases_with_rights": [],
        "quarantine_reasons": ["chain"],
        "reconciliation_counts": ["ledger"],
        "reconciliations": ["ledger"],
        "refused_proofs": [],
        "reminders": ["customer"],
        "saved_proofs": ["chain", "saved proof"],
        "subscription_periods": ["chain"],
        "subscriptions": ["chain"],
        "transactions": ["chain"],
        "transfer_items": ["customer"],
        "transfer_points": ["customer"],
        "transfers": ["customer"],
        "unmatched_tokens": [],
        "unplaced_events": [],
        "waiting_proofs": ["waiting"],
        "waiting_receipts": ["waiting"],
        "webhook_deliveries": ["endpoint", "ledger"],
        "webhook_endpoints": ["endpoint"],
        "webhook_replays": ["endpoint"],
    ]

    private var cache: [SQL: String?] = [:]

    /// The table that a statement changes; nil for a query.
    func changed(by sql: SQL) -> String? {
        if let known = cache[sql] { return known }
        let words = sql.description.split(whereSeparator: { " \n(".contains($0) }).prefix(3).map(String.init)
        let table: String? =
            switch words.first {
            case "INSERT", "DELETE": words[2]
            case "UPDATE": words[1]
            default: nil
            }
        cache[sql] = .some(table)
        return table
    }
}
