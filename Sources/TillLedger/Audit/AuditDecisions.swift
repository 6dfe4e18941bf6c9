import TillBilling
import TillSQL

/// What a later decision changed in rows that are edited: these rows are not sealed, the decisions are.
extension AuditWalk {
    /// A purchase that another one replaced in part gives points back, and stays granted.
    static let states = AuditWalk(
        rule: .states, last: "SELECT coalesce(max(row_id), 0) AS last FROM transactions"
    ) { connection, slice in
        try connection.query(
            """
            SELECT a.id, a.state, a.decision FROM (SELECT t.row_id, t.id, t.state, (SELECT e.decision FROM evidence e \
            WHERE e.transaction_row_id = t.row_id AND e.decision IN ('granted', 'reinstated', 'quarantined', \
            'revoked', 'undone') AND e.ground <> 'replaced_by_purchase' ORDER BY e.row_id DESC LIMIT 1) AS decision \
            FROM transactions t WHERE t.row_id > ?1 AND t.row_id <= ?2) AS a WHERE a.state <> CASE a.decision WHEN \
            'granted' THEN 1 WHEN 'reinstated' THEN 1 WHEN 'quarantined' THEN 2 WHEN 'revoked' THEN 3 WHEN 'undone' \
            THEN 3 ELSE 0 END ORDER BY a.row_id
            """, slice.values
        ) { row in
            let (state, decision) = (row.integer("state"), row.optionalText("decision") ?? "–")
            return AuditViolation(
                .states, "transaction \(row.text("id"))",
                en: "has the state \(state), and the last decision about it is \(decision)",
                zh: "状态为 \(state)，而对它的最后一次决定是 \(decision)")
        }
    }

    /// The events about a customer's own grants are few; no index finds all events about a grant.
    static let owners = AuditWalk(
        rule: .owners, last: "SELECT coalesce(max(grant_row_id), 0) AS last FROM grant_owners"
    ) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM grant_owners o CROSS JOIN transactions t ON t.row_id = o.grant_row_id CROSS JOIN grants g \
            ON g.transaction_row_id = o.grant_row_id WHERE o.grant_row_id > ?1 AND o.grant_row_id <= ?2 AND \
            o.customer_id <> g.customer_id AND NOT EXISTS (SELECT 1 FROM outbox b WHERE \
            b.customer_id = o.customer_id AND b.transaction_row_id = o.grant_row_id AND b.type IN ('grant.created', \
            'grant.moved')) ORDER BY o.grant_row_id
            """, slice.values
        ) { row in
            AuditViolation(
                .owners, "transaction \(row.text("id"))", en: "has an owner whom no event told of it",
                zh: "没有任何事件把它告知其所属客户")
        }
    }

    /// After a grant was moved, its owner is the customer who was told, or one who was told later. Events about one
    /// grant have their row ids in the order of their commits, because each locks the grant's chain. A purchase whose
    /// import was undone is in no environment, and belongs to no customer.
    static let movedGrants = AuditWalk(
        rule: .owners, last: "SELECT coalesce(max(row_id), 0) AS last FROM outbox"
    ) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM outbox b CROSS JOIN transactions t ON t.row_id = b.transaction_row_id LEFT JOIN \
            grant_owners o ON o.grant_row_id = t.row_id WHERE b.row_id > ?1 AND b.row_id <= ?2 AND b.type = \
            'grant.moved' AND t.state <> 2 AND t.environment > 0 AND (o.grant_row_id IS NULL OR o.customer_id <> \
            b.customer_id AND NOT EXISTS (SELECT 1 FROM outbox n WHERE n.customer_id = o.customer_id AND \
            n.transaction_row_id = b.transaction_row_id AND n.row_id > b.row_id AND n.type IN ('grant.created', \
            'grant.moved'))) ORDER BY b.row_id
            """, slice.values
        ) { row in
            AuditViolation(
                .owners, "transaction \(row.text("id"))",
                en: "was moved to another customer than its owner", zh: "转移所给予的客户并非其所属客户")
        }
    }

    /// A grant is sealed with the decision that made it.
    static let decidedGrants = AuditWalk(
        rule: .grants, last: "SELECT coalesce(max(transaction_row_id), 0) AS last FROM grants"
    ) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM grants g CROSS JOIN transactions t ON t.row_id = g.transaction_row_id AND t.row_id > ?1 \
            AND t.row_id <= ?2 WHERE \
            g.transaction_row_id > ?1 AND g.transaction_row_id <= ?2 AND NOT EXISTS (SELECT 1 FROM evidence e WHERE \
            e.transaction_row_id = g.transaction_row_id AND e.transaction_row_id > ?1 AND e.transaction_row_id <= ?2 \
            AND e.decision = 'granted')
            """, slice.values
        ) { row in
            AuditViolation(
                .grants, "transaction \(row.text("id"))", en: "has a grant that no decision made", zh: "有发放记录，却没有相应的决定")
        }
    }

    static let placedEvents = AuditWalk(
        rule: .events, last: "SELECT coalesce(max(row_id), 0) AS last FROM outbox"
    ) { connection, slice in
        try connection.query(
            """
            SELECT o.row_id FROM outbox o LEFT JOIN event_positions p ON p.event_row_id = o.row_id LEFT JOIN \
            unplaced_events u ON u.event_row_id = o.row_id WHERE o.row_id > ?1 AND o.row_id <= ?2 AND \
            p.position IS NULL AND u.event_row_id IS NULL
            """, slice.values
        ) { row in
            AuditViolation(
                .events, "outbox \(row.integer("row_id"))", en: "has no place in the feed, and waits for none",
                zh: "在事件流中没有位置，也不在等待排定")
        }
    }

    // MARK: Who a customer is

    private static let lastCustomer: SQL = "SELECT coalesce(max(customer_id), 0) AS last FROM customers"

    static let merges = AuditWalk(rule: .merges, last: lastCustomer) { connection, slice in
        try connection.query(
            """
            SELECT a.user_id FROM (SELECT c.customer_id, c.user_id, c.merged_into, (SELECT f.to_customer_id FROM \
            transfers f WHERE f.from_customer_id = c.customer_id AND f.kind = 'guest_merge' AND f.reverses IS NULL \
            AND NOT EXISTS (SELECT 1 FROM transfers r WHERE r.reverses = f.row_id) ORDER BY f.row_id DESC LIMIT 1) AS \
            account FROM customers c WHERE c.customer_id > ?1 AND c.customer_id <= ?2) AS a WHERE \
            coalesce(a.merged_into, 0) <> coalesce(a.account, 0) ORDER BY a.customer_id
            """, slice.values
        ) { row in
            AuditViolation(
                .merges, "customer \(row.text("user_id"))", en: "is part of another account than the transfers say",
                zh: "所并入的账户与转移记录不符")
        }
    }

    static let accountTokens = AuditWalk(rule: .accountTokens, last: lastCustomer) { connection, slice in
        try AccountTokenTable(connection).unrecorded(of: slice, limit: LedgerAudit.violationLimit).map { found in
            AuditViolation(
                .accountTokens, "account token \(found.token)",
                en: "was not registered for its customer: by a server of an older version, or by SQL. A server "
                    + "records it as found when it starts",
                zh: "并未为其客户登记过：或由旧版本的服务器登记，或由他人用 SQL 写入。服务器启动时会把它记为“发现”")
        }
    }

    /// A token that is gone lets the payments under it wait for their owner.
    static let registeredTokens = AuditWalk(
        rule: .accountTokens, last: "SELECT coalesce(max(row_id), 0) AS last FROM account_token_log"
    ) { connection, slice in
        try connection.query(
            """
            SELECT l.token FROM account_token_log l LEFT JOIN account_tokens a ON a.token = l.token WHERE \
            l.row_id > ?1 AND l.row_id <= ?2 AND l.token IS NOT NULL AND NOT EXISTS (SELECT 1 FROM account_token_log n \
            WHERE n.token = l.token AND n.row_id > l.row_id) AND (l.kind = 2 AND a.token IS NOT NULL OR l.kind <> 2 \
            AND (a.token IS NULL OR a.customer_id <> l.customer_id)) ORDER BY l.row_id
            """, slice.values
        ) { row in
            AuditViolation(
                .accountTokens, "account token \(try row.uniqueID("token"))",
                en: "is not as its last registration says", zh: "与最后一次登记不符")
        }
    }
}
