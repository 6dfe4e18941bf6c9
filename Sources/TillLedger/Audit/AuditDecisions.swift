import TillBilling
import TillSQL

/// What a later decision changed in rows that are edited: these rows are not sealed, the decisions are.
extension AuditWalk {
    /// One read for all that a transaction's decisions, its state, its grant and its proof say of one another.
    static let transactions = AuditWalk(
        rules: [.grants, .grantedOnce, .proofs, .states],
        last: "SELECT coalesce(max(row_id), 0) AS last FROM transactions"
    ) { connection, slice in
        var (found, transaction) = ([AuditViolation](), DecidedTransaction?.none)
        _ = try connection.query(
            """
            SELECT t.row_id, t.id, t.state, g.transaction_row_id AS granted, g.decision AS grant_decision, \
            coalesce(p.transaction_row_id, c.transaction_row_id) AS proven, e.decision, e.ground FROM transactions t \
            LEFT JOIN grants g ON g.transaction_row_id = t.row_id AND g.transaction_row_id > ?1 AND \
            g.transaction_row_id <= ?2 LEFT JOIN proofs p ON p.transaction_row_id = t.row_id AND \
            p.transaction_row_id > ?1 AND p.transaction_row_id <= ?2 LEFT JOIN compressed_proofs c ON \
            c.transaction_row_id = t.row_id AND c.transaction_row_id > ?1 AND c.transaction_row_id <= ?2 LEFT JOIN \
            evidence e ON e.transaction_row_id = t.row_id AND e.transaction_row_id > ?1 AND e.transaction_row_id <= \
            ?2 AND e.decision IN ('granted', 'reinstated', 'quarantined', 'revoked', 'undone') WHERE t.row_id > ?1 \
            AND t.row_id <= ?2 ORDER BY t.row_id, e.row_id
            """, slice.values
        ) { row in
            if transaction?.rowID != row.integer("row_id") {
                found += transaction?.end() ?? []
                transaction = DecidedTransaction(row)
            }
            transaction?.decide(row)
        }
        return found + (transaction?.end() ?? [])
    }

    /// One transaction, while its decisions are read.
    private struct DecidedTransaction {
        let rowID: Int64
        private let name: String
        private let state: Int64
        private let (hasGrant, hasProof): (Bool, Bool)
        /// The last decision that the state follows.
        private var decision: String?
        private var (isGranted, wasGranted, wasGrantedTwice) = (false, false, false)

        init(_ row: any Row) {
            rowID = row.integer("row_id")
            name = row.text("id")
            state = row.integer("state")
            hasGrant = row.optionalInteger("granted") != nil
            hasProof = row.optionalInteger("proven") != nil
            // The decision that the grant's row says comes before all others.
            guard row.optionalInteger("grant_decision") != nil else { return }
            (isGranted, wasGranted, decision) = (true, true, "granted")
        }

        mutating func decide(_ row: any Row) {
            guard let next = row.optionalText("decision") else { return }
            switch next {
            case "granted":
                wasGrantedTwice = wasGrantedTwice || isGranted
                (isGranted, wasGranted) = (true, true)
            case "quarantined": isGranted = false
            default: break
            }
            // A purchase that another one replaced in part gives points back, and stays granted.
            if row.text("ground") != "replaced_by_purchase" { decision = next }
        }

        func end() -> [AuditViolation] {
            let isAsDecided = state == Self.states[decision ?? ""] ?? 0
            if hasProof, isAsDecided, !wasGrantedTwice, hasGrant ? wasGranted : state != 1 { return [] }
            var found: [AuditViolation] = []
            func note(_ rule: AuditRule, en: String, zh: String) {
                found.append(AuditViolation(rule, "transaction \(name)", en: en, zh: zh))
            }
            if !isAsDecided {
                let last = decision ?? "–"
                note(
                    .states, en: "has the state \(state), and the last decision about it is \(last)",
                    zh: "状态为 \(state)，而对它的最后一次决定是 \(last)")
            }
            if state == 1, !hasGrant { note(.grants, en: "is granted, and has no grant", zh: "标为已发放，却没有发放记录") }
            if hasGrant, !wasGranted {
                note(.grants, en: "has a grant that no decision made", zh: "有发放记录，却没有相应的决定")
            }
            if wasGrantedTwice { note(.grantedOnce, en: "was granted twice", zh: "发放了两次") }
            if !hasProof { note(.proofs, en: "has no proof", zh: "没有凭证") }
            return found
        }

        private static let states: [String: Int64] = [
            "granted": 1, "reinstated": 1, "quarantined": 2, "revoked": 3, "undone": 3,
        ]
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

    static let placedEvents = AuditWalk(
        rule: .events, last: "SELECT coalesce(max(row_id), 0) AS last FROM outbox"
    ) { connection, slice in
        try connection.query(
            """
            SELECT o.row_id FROM outbox o LEFT JOIN event_positions p ON p.event_row_id = o.row_id AND \
            p.event_row_id > ?1 AND p.event_row_id <= ?2 LEFT JOIN unplaced_events u ON u.event_row_id = o.row_id \
            WHERE o.row_id > ?1 AND o.row_id <= ?2 AND p.event_row_id IS NULL AND u.event_row_id IS NULL
            """, slice.values
        ) { row in
            AuditViolation(
                .events, "outbox \(row.integer("row_id"))", en: "has no place in the feed, and waits for none",
                zh: "在事件流中没有位置，也不在等待排定")
        }
    }

    /// Without its row in the list, a customer's purchase gives no right. A row too many gives none either.
    static let listedRights = AuditWalk(
        rule: .rights, last: "SELECT coalesce(max(row_id), 0) AS last FROM transactions"
    ) { connection, slice in
        try connection.query(
            """
            SELECT t.id FROM transactions t CROSS JOIN orders o ON o.row_id = t.order_row_id WHERE t.row_id > ?1 AND \
            t.row_id <= ?2 AND (coalesce(t.type, 0) <> 1 OR t.state = 3) AND NOT EXISTS (SELECT 1 FROM \
            purchases_with_rights r WHERE r.customer_id = o.customer_id AND r.transaction_row_id = t.row_id) \
            ORDER BY t.row_id
            """, slice.values
        ) { row in
            AuditViolation(
                .rights, "transaction \(row.text("id"))",
                en: "is not in the list of what may give its customer a right", zh: "不在可能为其客户带来权益的列表中")
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
