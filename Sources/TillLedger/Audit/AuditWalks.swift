import TillBilling
import TillSQL

extension AuditWalk {
    /// Every rule, in the order in which a report lists it.
    static let all: [AuditWalk] =
        [
            balances, orderMoves, paidOrders, grants, grantedOnce, events, proofs, compressedProofs, finishTasks,
            states, owners, movedGrants, decidedGrants, placedEvents, merges, accountTokens, registeredTokens,
        ]
        + references

    // MARK: Money

    static let balances = AuditWalk(
        rule: .balances, last: "SELECT coalesce(max(customer_id), 0) AS last FROM customers"
    ) { connection, slice in
        try connection.query(
            """
            SELECT a.environment, \(user: "a.customer_id") AS user_id, a.currency, CAST(sum(a.amount) AS BIGINT) AS \
            difference FROM (SELECT environment, customer_id, currency, amount FROM balances WHERE environment IN \
            (1, 2, 3) AND customer_id > ?1 AND customer_id <= ?2 UNION ALL SELECT environment, customer_id, currency, \
            -amount FROM postings WHERE customer_id > ?1 AND customer_id <= ?2) AS a GROUP BY a.environment, \
            a.customer_id, a.currency HAVING sum(a.amount) <> 0 ORDER BY a.customer_id, a.environment, a.currency
            """, slice.values
        ) { row in
            let (environment, user) = (row.integer("environment"), row.optionalText("user_id") ?? "?")
            let (currency, difference) = (row.text("currency"), row.integer("difference"))
            return AuditViolation(
                .balances, "\(environment) \(user) \(currency)",
                en: "the balance differs from the sum of its postings by \(difference)",
                zh: "余额与其分录之和相差 \(difference)")
        }
    }

    // MARK: Orders

    static let orderMoves = AuditWalk(
        rule: .orderMoves, last: "SELECT coalesce(max(row_id), 0) AS last FROM orders"
    ) { connection, slice in
        var (found, order) = ([AuditViolation](), MovedOrder?.none)
        _ = try connection.query(
            """
            SELECT o.row_id, o.id, o.status, m.status AS moved_to FROM orders o LEFT JOIN order_moves m \
            ON m.order_row_id = o.row_id AND m.order_row_id > ?1 AND m.order_row_id <= ?2 WHERE o.row_id > ?1 AND \
            o.row_id <= ?2 ORDER BY o.row_id, m.number
            """, slice.values
        ) { row in
            if order?.rowID != row.integer("row_id") {
                found += order?.end() ?? []
                order = MovedOrder(row)
            }
            found += order?.move(to: row.optionalInteger("moved_to")) ?? []
        }
        return found + (order?.end() ?? [])
    }

    /// The history of one order, while its moves are read.
    private struct MovedOrder {
        let rowID: Int64
        private let name: String
        private let status: Int64
        private var last: Int64?

        init(_ row: any Row) {
            rowID = row.integer("row_id")
            name = "order \(UniqueID(bytes: row.blob("id"))?.description ?? "?")"
            status = row.integer("status")
        }

        mutating func move(to next: Int64?) -> [AuditViolation] {
            defer { last = next }
            guard let last, let next else { return [] }
            let (from, to) = (OrderStatus(rawValue: Int(last)), OrderStatus(rawValue: Int(next)))
            if let from, let to, from.mayMove(to: to) { return [] }
            let move = "\(from?.name ?? String(last)) → \(to?.name ?? String(next))"
            return [AuditViolation(.orderMoves, name, en: "moved \(move)", zh: "发生了变化 \(move)")]
        }

        func end() -> [AuditViolation] {
            guard last != status else { return [] }
            let last = last.map { OrderStatus(rawValue: Int($0))?.name ?? String($0) }
            let now = OrderStatus(rawValue: Int(status))?.name ?? String(status)
            return [
                AuditViolation(
                    .orderMoves, name, en: "is \(now), and its last move is \(last ?? "missing")",
                    zh: "状态为 \(now)，而最后一次变化为 \(last ?? "缺失")")
            ]
        }
    }

    static let paidOrders = AuditWalk(
        rule: .paidOrders, last: "SELECT coalesce(max(row_id), 0) AS last FROM orders"
    ) { connection, slice in
        try connection.query(
            """
            SELECT o.id, o.transaction_id FROM orders o LEFT JOIN transactions t ON t.environment = o.environment \
            AND t.id = o.transaction_id AND t.app_id = o.app_id WHERE o.row_id > ?1 AND o.row_id <= ?2 \
            AND (o.transaction_id IS NOT NULL AND t.row_id IS NULL OR o.status = 1 AND o.transaction_id IS NULL)
            """, slice.values
        ) { row in
            let order = "order \(UniqueID(bytes: row.blob("id"))?.description ?? "?")"
            guard let transaction = row.optionalText("transaction_id") else {
                return AuditViolation(
                    .paidOrders, order, en: "is completed, and names no transaction", zh: "已完成，却没有记下交易")
            }
            return AuditViolation(
                .paidOrders, order,
                en: "is paid by transaction \(transaction), which is not in the ledger",
                zh: "由交易 \(transaction) 付款，而账本中没有这笔交易")
        }
    }

    // MARK: Grants

    private static let lastTransaction: SQL = "SELECT coalesce(max(row_id), 0) AS last FROM transactions"

    static let grants = AuditWalk(rule: .grants, last: lastTransaction) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM transactions t LEFT JOIN grants g ON g.transaction_row_id = t.row_id \
            AND g.transaction_row_id > ?1 AND g.transaction_row_id <= ?2 WHERE t.row_id > ?1 AND t.row_id <= ?2 AND \
            t.state = 1 AND g.transaction_row_id IS NULL
            """, slice.values
        ) { row in
            AuditViolation(
                .grants, "transaction \(row.text("id"))", en: "is granted, and has no grant", zh: "标为已发放，却没有发放记录")
        }
    }

    static let grantedOnce = AuditWalk(rule: .grantedOnce, last: lastTransaction) { connection, slice in
        var (found, last) = ([AuditViolation](), (transaction: Int64(-1), decision: ""))
        _ = try connection.query(
            """
            SELECT t.row_id, t.id, e.decision FROM transactions t CROSS JOIN evidence e \
            ON e.transaction_row_id = t.row_id AND e.transaction_row_id > ?1 AND e.transaction_row_id <= ?2 \
            WHERE t.row_id > ?1 AND t.row_id <= ?2 AND e.decision IN ('granted', 'quarantined') ORDER BY t.row_id, \
            e.row_id
            """, slice.values
        ) { row in
            let now = (transaction: row.integer("row_id"), decision: row.text("decision"))
            if now == last, now.decision == "granted" {
                found.append(
                    AuditViolation(
                        .grantedOnce, "transaction \(row.text("id"))", en: "was granted twice", zh: "发放了两次"))
            }
            last = now
        }
        return found
    }

    static let events = AuditWalk(rule: .events, last: lastTransaction) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM grants g CROSS JOIN transactions t ON t.row_id = g.transaction_row_id \
            AND t.row_id > ?1 AND t.row_id <= ?2 WHERE g.transaction_row_id > ?1 AND g.transaction_row_id <= ?2 AND \
            NOT EXISTS (SELECT 1 FROM outbox b \
            WHERE b.customer_id = g.customer_id AND b.transaction_row_id = g.transaction_row_id \
            AND b.type = 'grant.created') AND NOT EXISTS (SELECT 1 FROM imported_purchases i WHERE \
            i.transaction_row_id = g.transaction_row_id AND i.transaction_row_id > ?1 AND i.transaction_row_id <= ?2)
            """, slice.values
        ) { row in
            AuditViolation(
                .events, "transaction \(row.text("id"))", en: "has a grant without its event",
                zh: "有发放记录，却没有对应的事件")
        }
    }

    static let proofs = AuditWalk(rule: .proofs, last: lastTransaction) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM transactions t LEFT JOIN proofs p ON p.transaction_row_id = t.row_id AND \
            p.transaction_row_id > ?1 AND p.transaction_row_id <= ?2 LEFT JOIN compressed_proofs c ON \
            c.transaction_row_id = t.row_id AND c.transaction_row_id > ?1 AND c.transaction_row_id <= ?2 WHERE \
            t.row_id > ?1 AND t.row_id <= ?2 AND \
            p.transaction_row_id IS NULL AND c.transaction_row_id IS NULL
            """, slice.values
        ) { row in
            AuditViolation(.proofs, "transaction \(row.text("id"))", en: "has no proof", zh: "没有凭证")
        }
    }

    /// Every compressed proof comes back as it was, by its checksum.
    static let compressedProofs = AuditWalk(
        rule: .proofs, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM compressed_proofs"
    ) { connection, slice in
        var headers: [Int64: [UInt8]] = [:]
        let compressed = try CompressedProof()
        let rows = try connection.query(
            """
            SELECT c.transaction_row_id, t.id, c.header_row_id, c.body FROM compressed_proofs c JOIN transactions t ON \
            t.row_id = c.transaction_row_id WHERE c.transaction_row_id > ?1 AND c.transaction_row_id <= ?2
            """, slice.values
        ) { (id: $0.text("id"), header: $0.integer("header_row_id"), body: $0.blob("body")) }
        var found: [AuditViolation] = []
        for row in rows {
            if headers[row.header] == nil {
                headers[row.header] = try connection.first(
                    "SELECT header FROM proof_headers WHERE row_id = ?1", [.integer(row.header)]
                ) { $0.blob("header") }
            }
            // A missing header violates another rule.
            guard let header = headers[row.header] else { continue }
            do throws(CompressedProof.Damage) {
                _ = try compressed.decompress(row.body, header: header)
            } catch {
                found.append(
                    AuditViolation(
                        .proofs, "transaction \(row.id)", en: "has a compressed proof that is damaged (\(error))",
                        zh: "的压缩凭证已损坏（\(error)）"))
            }
        }
        return found
    }

    static let finishTasks = AuditWalk(
        rule: .finishTasks, last: "SELECT coalesce(max(row_id), 0) AS last FROM apple_tasks"
    ) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM apple_tasks w JOIN transactions t ON t.row_id = w.transaction_row_id \
            WHERE w.row_id > ?1 AND w.row_id <= ?2 AND w.kind = 1 AND t.state = 2
            """, slice.values
        ) { row in
            AuditViolation(
                .finishTasks, "transaction \(row.text("id"))", en: "is in quarantine, and is to be finished at Apple",
                zh: "仍待认领，却将在 Apple 一侧被完成")
        }
    }
}
