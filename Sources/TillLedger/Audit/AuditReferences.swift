import TillBilling
import TillSQL

/// Rows whose referenced rows are missing, in the tables that grow with the purchases. The database refuses them too;
/// what it refuses can still appear after a damaged disk or a change by another program. PostgreSQL does not refuse a
/// missing app, catalogue version or header of a proof.
extension AuditWalk {
    static let references: [AuditWalk] = [
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(row_id), 0) AS last FROM orders"
        ) { connection, slice in
            try connection.query(
                """
                SELECT o.row_id FROM orders o LEFT JOIN customers c ON c.customer_id = o.customer_id \
                LEFT JOIN apps a ON a.app_id = o.app_id LEFT JOIN catalog_versions v ON v.version = o.catalog_version \
                WHERE o.row_id > ?1 AND o.row_id <= ?2 AND (c.customer_id IS NULL OR a.app_id IS NULL \
                OR o.catalog_version IS NOT NULL AND v.version IS NULL)
                """, slice.values
            ) { missing("orders", $0.integer("row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(order_row_id), 0) AS last FROM order_moves"
        ) { connection, slice in
            try connection.query(
                """
                SELECT m.order_row_id FROM order_moves m LEFT JOIN orders o ON o.row_id = m.order_row_id \
                AND o.row_id > ?1 AND o.row_id <= ?2 WHERE m.order_row_id > ?1 AND m.order_row_id <= ?2 AND o.row_id \
                IS NULL
                """, slice.values
            ) { missing("order_moves", $0.integer("order_row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(row_id), 0) AS last FROM transactions"
        ) { connection, slice in
            try connection.query(
                """
                SELECT t.row_id FROM transactions t LEFT JOIN orders o ON o.row_id = t.order_row_id \
                LEFT JOIN apps a ON a.app_id = t.app_id WHERE t.row_id > ?1 AND t.row_id <= ?2 \
                AND (a.app_id IS NULL OR t.order_row_id IS NOT NULL AND o.row_id IS NULL)
                """, slice.values
            ) { missing("transactions", $0.integer("row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM grants"
        ) { connection, slice in
            try connection.query(
                """
                SELECT g.transaction_row_id FROM grants g LEFT JOIN transactions t ON t.row_id = \
                g.transaction_row_id AND t.row_id > ?1 AND t.row_id <= ?2 LEFT JOIN orders o ON o.row_id = \
                g.order_row_id LEFT JOIN customers c ON c.customer_id = g.customer_id LEFT JOIN catalog_versions v \
                ON v.version = g.catalog_version LEFT JOIN grant_decisions d ON d.number = g.decision WHERE \
                g.transaction_row_id > ?1 AND g.transaction_row_id <= ?2 AND (t.row_id IS NULL OR o.row_id IS NULL \
                OR c.customer_id IS NULL OR g.catalog_version IS NOT NULL AND v.version IS NULL OR g.decision IS NOT \
                NULL AND d.number IS NULL)
                """, slice.values
            ) { missing("grants", $0.integer("transaction_row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(row_id), 0) AS last FROM postings"
        ) { connection, slice in
            try connection.query(
                """
                SELECT p.row_id FROM postings p LEFT JOIN customers c ON c.customer_id = p.customer_id \
                LEFT JOIN grants g ON g.transaction_row_id = p.grant_row_id LEFT JOIN transfers f \
                ON f.row_id = p.transfer_row_id WHERE p.row_id > ?1 AND p.row_id <= ?2 AND (c.customer_id IS NULL \
                OR p.grant_row_id IS NOT NULL AND g.transaction_row_id IS NULL \
                OR p.transfer_row_id IS NOT NULL AND f.row_id IS NULL)
                """, slice.values
            ) { missing("postings", $0.integer("row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM evidence"
        ) { connection, slice in
            try connection.query(
                """
                SELECT e.row_id FROM evidence e LEFT JOIN transactions t ON t.row_id = e.transaction_row_id AND \
                t.row_id > ?1 AND t.row_id <= ?2 WHERE e.transaction_row_id > ?1 AND e.transaction_row_id <= ?2 AND \
                t.row_id IS NULL
                """, slice.values
            ) { missing("evidence", $0.integer("row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM proofs"
        ) { connection, slice in
            try connection.query(
                """
                SELECT p.transaction_row_id FROM proofs p LEFT JOIN transactions t ON t.row_id = p.transaction_row_id \
                AND t.row_id > ?1 AND t.row_id <= ?2 LEFT JOIN proof_headers h ON h.row_id = p.header_row_id WHERE \
                p.transaction_row_id > ?1 \
                AND p.transaction_row_id <= ?2 AND (t.row_id IS NULL \
                OR p.header_row_id IS NOT NULL AND h.row_id IS NULL)
                """, slice.values
            ) { missing("proofs", $0.integer("transaction_row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM compressed_proofs"
        ) { connection, slice in
            try connection.query(
                """
                SELECT p.transaction_row_id FROM compressed_proofs p LEFT JOIN transactions t ON \
                t.row_id = p.transaction_row_id AND t.row_id > ?1 AND t.row_id <= ?2 LEFT JOIN proof_headers h ON \
                h.row_id = p.header_row_id WHERE p.transaction_row_id > ?1 AND p.transaction_row_id <= ?2 AND \
                (t.row_id IS NULL \
                OR h.row_id IS NULL)
                """, slice.values
            ) { missing("compressed_proofs", $0.integer("transaction_row_id")) }
        },
        AuditWalk(
            rule: .references, last: "SELECT coalesce(max(event_row_id), 0) AS last FROM event_positions"
        ) { connection, slice in
            try connection.query(
                """
                SELECT n.position FROM event_positions n LEFT JOIN outbox b ON b.row_id = n.event_row_id AND \
                b.row_id > ?1 AND b.row_id <= ?2 WHERE n.event_row_id > ?1 AND n.event_row_id <= ?2 AND b.row_id IS NULL
                """, slice.values
            ) { missing("event_positions", $0.integer("position")) }
        },
    ]

    private static func missing(_ table: String, _ rowID: Int64) -> AuditViolation {
        AuditViolation(.references, "\(table) \(rowID)", en: "names a row that does not exist", zh: "引用了不存在的行")
    }
}
