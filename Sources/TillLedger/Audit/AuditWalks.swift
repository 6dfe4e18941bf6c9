import TillBilling
import TillSQL

extension AuditWalk {
    /// Every rule, in the order in which a report lists it.
    static let all: [AuditWalk] =
        [
            balances, orderMoves, paidOrders, transactions, events, compressedProofs, finishTasks, owners, movedGrants,
            placedEvents, merges, accountTokens, registeredTokens,
        ]
        + references + [listedRights]

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
            SELECT o.row_id, o.id, o.status, o.moves, o.reason, m.number, m.status AS moved_to FROM orders o \
            LEFT JOIN order_moves m ON m.order_row_id = o.row_id AND m.order_row_id > ?1 AND m.order_row_id <= ?2 \
            WHERE o.row_id > ?1 AND o.row_id <= ?2 ORDER BY o.row_id, m.number
            """, slice.values
        ) { row in
            if order?.rowID != row.integer("row_id") {
                found += order?.end() ?? []
                order = MovedOrder(row)
            }
            found += order?.read(row.optionalInteger("number"), row.optionalInteger("moved_to")) ?? []
        }
        return found + (order?.end() ?? [])
    }

    /// The history of one order, while its moves are read (`OrderTable` says which of them have a row).
    private struct MovedOrder {
        let rowID: Int64
        private let name: String
        private let status: Int64
        private let count: Int64
        private let isLastInOrder: Bool
        private var last: Int64?
        private var read: Int64 = 0

        init(_ row: any Row) {
            rowID = row.integer("row_id")
            name = "order \(UniqueID(bytes: row.blob("id"))?.description ?? "?")"
            status = row.integer("status")
            count = row.integer("moves")
            isLastInOrder = !row.isNull("reason")
        }

        mutating func read(_ number: Int64?, _ next: Int64?) -> [AuditViolation] {
            if read == 0, number != 1, isLastInOrder, count > 1 {
                _ = move(to: Int64(OrderStatus.prepared.rawValue))
            }
            return next.map { move(to: $0) } ?? []
        }

        private mutating func move(to next: Int64) -> [AuditViolation] {
            defer { (last, read) = (next, read + 1) }
            guard let last else { return [] }
            let (from, to) = (OrderStatus(rawValue: Int(last)), OrderStatus(rawValue: Int(next)))
            if let from, let to, from.mayMove(to: to) { return [] }
            let move = "\(from?.name ?? String(last)) → \(to?.name ?? String(next))"
            return [AuditViolation(.orderMoves, name, en: "moved \(move)", zh: "发生了变化 \(move)")]
        }

        mutating func end() -> [AuditViolation] {
            if isLastInOrder {
                let found = move(to: status)
                if read == count { return found }
                return found + [
                    AuditViolation(
                        .orderMoves, name, en: "moved \(count) times, and \(read) moves are recorded",
                        zh: "变化了 \(count) 次，而记录的变化有 \(read) 次")
                ]
            }
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

    /// A grant's event is usually among those that were written with its neighbours', so these are read once for a
    /// slice. No index finds an event by its transaction: looking through each customer's events takes much longer.
    static let events = AuditWalk(
        rule: .events, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM grants"
    ) { connection, slice in
        let (first, last) = try eventsOfEnds(slice, connection)
        return try connection.query(
            """
            SELECT t.id FROM grants g CROSS JOIN transactions t ON t.row_id = g.transaction_row_id \
            AND t.row_id > ?1 AND t.row_id <= ?2 WHERE g.transaction_row_id > ?1 AND g.transaction_row_id <= ?2 AND \
            (g.transaction_row_id, g.customer_id) NOT IN (SELECT n.transaction_row_id, n.customer_id FROM outbox n \
            WHERE n.row_id >= ?3 AND n.row_id <= ?4 AND n.type = 'grant.created' AND n.transaction_row_id IS NOT NULL \
            AND n.customer_id IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM outbox b \
            WHERE b.customer_id = g.customer_id AND b.transaction_row_id = g.transaction_row_id \
            AND b.type = 'grant.created') AND NOT EXISTS (SELECT 1 FROM imported_purchases i WHERE \
            i.transaction_row_id = g.transaction_row_id AND i.transaction_row_id > ?1 AND i.transaction_row_id <= ?2)
            """, slice.values + [.integer(first), .integer(last)]
        ) { row in
            AuditViolation(
                .events, "transaction \(row.text("id"))", en: "has a grant without its event",
                zh: "有发放记录，却没有对应的事件")
        }
    }

    /// The row ids of the events of a slice's first and last grants, and of some before and after them.
    private static func eventsOfEnds(
        _ slice: AuditSlice, _ connection: any Connection
    ) throws -> (first: Int64, last: Int64) {
        let margin: Int64 = 200
        let found = try connection.first(
            """
            SELECT min(b.row_id) AS first, max(b.row_id) AS last FROM grants g CROSS JOIN outbox b ON \
            b.customer_id = g.customer_id AND b.transaction_row_id = g.transaction_row_id AND \
            b.type = 'grant.created' WHERE g.transaction_row_id IN ((SELECT min(a.transaction_row_id) FROM grants a \
            WHERE a.transaction_row_id > ?1 AND a.transaction_row_id <= ?2), (SELECT max(z.transaction_row_id) FROM \
            grants z WHERE z.transaction_row_id > ?1 AND z.transaction_row_id <= ?2))
            """, slice.values
        ) { ($0.optionalInteger("first"), $0.optionalInteger("last")) }
        guard case let (first?, last?)? = found else { return (0, -1) }
        return (first - margin, min(last, first + 4 * LedgerAudit.sliceRows) + margin)
    }

    /// Every compressed proof comes back as it was, by its checksum.
    static let compressedProofs = AuditWalk(
        rule: .proofs, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM compressed_proofs"
    ) { connection, slice in
        var headers: [Int64: [UInt8]] = [:]
        let compressed = try CompressedProof()
        let rows = try connection.query(
            """
            SELECT transaction_row_id, header_row_id, body FROM compressed_proofs WHERE transaction_row_id > ?1 AND \
            transaction_row_id <= ?2
            """, slice.values
        ) { row in
            (
                transaction: row.integer("transaction_row_id"), header: row.integer("header_row_id"),
                body: row.blob("body")
            )
        }
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
                let id = try connection.first(
                    "SELECT id FROM transactions WHERE row_id = ?1", [.integer(row.transaction)]
                ) { $0.text("id") }
                found.append(
                    AuditViolation(
                        .proofs, "transaction \(id ?? "?")", en: "has a compressed proof that is damaged (\(error))",
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
