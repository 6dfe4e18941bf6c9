import TillSQL

/// What a person owns, spent and asked for, and what waits to be processed.
extension ExportSection {
    static let ownershipBasis = ExportSection(
        name: "ownershipBasis", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, t.id AS transaction_id, t.environment, b.basis, b.hold_until, b.withdrawn_at \
            FROM orders o JOIN transactions t ON t.order_row_id = o.row_id JOIN ownership_basis b \
            ON b.grant_row_id = t.row_id WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 \
            AND b.customer_id = ?1 ORDER BY o.row_id, t.row_id
            """,
        members: [
            Member("transactionId", "transaction_id", .text, of: "transactions.id"),
            Member("environment", "environment", .environment, of: "transactions.environment"),
            Member("basis", "basis", .text, of: "ownership_basis.basis"),
            Member("heldUntil", "hold_until", .time, of: "ownership_basis.hold_until"),
            Member("withdrawnAt", "withdrawn_at", .time, of: "ownership_basis.withdrawn_at"),
        ])

    /// Purchases that a transfer or a merge brought, or that were granted to the account of a guest.
    static let ownedPurchases = ExportSection(
        name: "ownedPurchases", isOfOrders: false,
        rows: """
            SELECT h.grant_row_id AS position, g.id, t.id AS transaction_id, h.original_id, h.environment, t.product \
            FROM grant_owners h JOIN grants g ON g.transaction_row_id = h.grant_row_id JOIN transactions t \
            ON t.row_id = h.grant_row_id WHERE h.customer_id = ?1 AND h.grant_row_id > ?2 \
            ORDER BY h.grant_row_id LIMIT ?3
            """,
        members: [
            Member("grantId", "id", .id, of: "grants.id"),
            Member("transactionId", "transaction_id", .text, of: "transactions.id"),
            Member("originalTransactionId", "original_id", .text, of: "grant_owners.original_id"),
            Member("environment", "environment", .environment, of: "grant_owners.environment"),
            Member("productId", "product", .text, of: "transactions.product"),
        ])

    static let postings = ExportSection(
        name: "postings", isOfOrders: false,
        rows: """
            SELECT p.row_id AS position, p.environment, p.currency, p.amount, p.kind, p.contra, p.reference, g.id, \
            f.id AS transfer_id, p.reason, p.at FROM postings p LEFT JOIN grants g \
            ON g.transaction_row_id = p.grant_row_id LEFT JOIN transfers f ON f.row_id = p.transfer_row_id \
            WHERE p.customer_id = ?1 AND p.row_id > ?2 ORDER BY p.row_id LIMIT ?3
            """,
        members: [
            Member("environment", "environment", .environment, of: "postings.environment"),
            Member("currency", "currency", .text, of: "postings.currency"),
            Member("amount", "amount", .number, of: "postings.amount"),
            Member("kind", "kind", .text, of: "postings.kind"),
            Member("contra", "contra", .text, of: "postings.contra"),
            Member("reference", "reference", .text, of: "postings.reference"),
            Member("grantId", "id", .id, of: "grants.id"), Member("transferId", "transfer_id", .id, of: "transfers.id"),
            Member("reason", "reason", .text, of: "postings.reason"), Member("at", "at", .time, of: "postings.at"),
        ])

    static let balances = ExportSection(
        name: "balances", isOfOrders: false,
        rows: """
            SELECT n.position, n.environment, n.currency, n.amount FROM (SELECT row_number() OVER \
            (ORDER BY environment, currency) AS position, environment, currency, amount FROM balances \
            WHERE environment IN (1, 2, 3) AND customer_id = ?1) n WHERE n.position > ?2 ORDER BY n.position LIMIT ?3
            """,
        members: [
            Member("environment", "environment", .environment, of: "balances.environment"),
            Member("currency", "currency", .text, of: "balances.currency"),
            Member("amount", "amount", .number, of: "balances.amount"),
        ])

    static let claims = ExportSection(
        name: "claims", isOfOrders: false,
        rows: """
            SELECT m.row_id AS position, m.id, m.order_number, t.id AS transaction_id, m.state, m.answer, m.reason, \
            m.at, m.ended_at FROM claims m LEFT JOIN transactions t ON t.row_id = m.transaction_row_id \
            WHERE m.customer_id = ?1 AND m.row_id > ?2 ORDER BY m.row_id LIMIT ?3
            """,
        members: [
            Member("id", "id", .id, of: "claims.id"),
            Member("orderNumber", "order_number", .text, of: "claims.order_number"),
            Member("transactionId", "transaction_id", .text, of: "transactions.id"),
            Member("state", "state", .claimState, of: "claims.state"),
            Member("outcome", "answer", .json, of: "claims.answer"),
            Member("reason", "reason", .text, of: "claims.reason"), Member("at", "at", .time, of: "claims.at"),
            Member("endedAt", "ended_at", .time, of: "claims.ended_at"),
        ])

    /// Without the other party.
    static let transfers = ExportSection(
        name: "transfers", isOfOrders: false,
        rows: """
            SELECT f.row_id AS position, f.id, f.kind, CASE WHEN f.from_customer_id = ?1 THEN 'out' ELSE 'in' END \
            AS direction, f.at FROM (SELECT row_id FROM (SELECT row_id FROM transfers WHERE from_customer_id = ?1 \
            AND row_id > ?2 ORDER BY row_id LIMIT ?3) a UNION SELECT row_id FROM (SELECT row_id FROM transfers \
            WHERE to_customer_id = ?1 AND row_id > ?2 ORDER BY row_id LIMIT ?3) b) i JOIN transfers f \
            ON f.row_id = i.row_id ORDER BY f.row_id LIMIT ?3
            """,
        members: [
            Member("id", "id", .id, of: "transfers.id"), Member("kind", "kind", .text, of: "transfers.kind"),
            Member("direction", "direction", .text, of: ""), Member("at", "at", .time, of: "transfers.at"),
        ])

    static let reminders = ExportSection(
        name: "reminders", isOfOrders: false,
        rows: """
            SELECT n.position, n.environment, n.kind, n.entitlement, n.product, n.expires_at, n.renews, n.due_at, \
            n.sent_at FROM (SELECT row_number() OVER (ORDER BY row_id) AS position, environment, kind, entitlement, \
            product, expires_at, renews, due_at, sent_at FROM reminders WHERE environment IN (1, 2, 3) \
            AND customer_id = ?1) n WHERE n.position > ?2 ORDER BY n.position LIMIT ?3
            """,
        members: [
            Member("environment", "environment", .environment, of: "reminders.environment"),
            Member("kind", "kind", .text, of: "reminders.kind"),
            Member("entitlement", "entitlement", .text, of: "reminders.entitlement"),
            Member("productId", "product", .text, of: "reminders.product"),
            Member("expiresAt", "expires_at", .time, of: "reminders.expires_at"),
            Member("renews", "renews", .flag, of: "reminders.renews"),
            Member("dueAt", "due_at", .time, of: "reminders.due_at"),
            Member("sentAt", "sent_at", .time, of: "reminders.sent_at"),
        ])

    static let events = ExportSection(
        name: "events", isOfOrders: false,
        rows: """
            SELECT o.user_sequence AS position, o.user_sequence, o.event_id, o.type, o.at FROM outbox o \
            WHERE o.customer_id = ?1 AND o.user_sequence > ?2 ORDER BY o.user_sequence LIMIT ?3
            """,
        members: [
            Member("id", "event_id", .id, of: "outbox.event_id"), Member("type", "type", .text, of: "outbox.type"),
            Member("userSequence", "user_sequence", .number, of: "outbox.user_sequence"),
            Member("at", "at", .time, of: "outbox.at"),
        ])

    static let refusedProofs = ExportSection(
        name: "refusedProofs", isOfOrders: false,
        rows: """
            SELECT r.row_id AS position, r.at, r.source, r.claimed_order, r.code, r.count, r.last_at \
            FROM refused_proofs r WHERE r.budget = (SELECT 'user:' || c.customer_id FROM customers c \
            WHERE c.customer_id = ?1) AND r.row_id > ?2 ORDER BY r.row_id LIMIT ?3
            """,
        members: [
            Member("at", "at", .time, of: "refused_proofs.at"),
            Member("source", "source", .text, of: "refused_proofs.source"),
            Member("orderId", "claimed_order", .id, of: "refused_proofs.claimed_order"),
            Member("code", "code", .text, of: "refused_proofs.code"),
            Member("submissions", "count", .number, of: "refused_proofs.count"),
            Member("lastAt", "last_at", .time, of: "refused_proofs.last_at"),
        ])

    static let savedProofs = ExportSection(
        name: "savedProofs", isOfOrders: false,
        rows: """
            SELECT s.row_id AS position, s.environment, s.transaction_id, s.device, s.phone, s.network, s.received_at \
            FROM saved_proofs s WHERE (s.caller = (SELECT 'user:' || c.user_id FROM customers c \
            WHERE c.customer_id = ?1) OR s.named_user = (SELECT u.user_id FROM customers u WHERE u.customer_id = ?1)) \
            AND s.row_id > ?2 ORDER BY s.row_id LIMIT ?3
            """,
        members: waiting("saved_proofs"))

    static let waitingProofs = ExportSection(
        name: "waitingProofs", isOfOrders: false,
        rows: """
            SELECT s.row_id AS position, s.environment, s.transaction_id, s.device, s.phone, s.network, s.received_at \
            FROM waiting_proofs s WHERE (s.caller = (SELECT 'user:' || c.user_id FROM customers c \
            WHERE c.customer_id = ?1) OR s.named_user = (SELECT u.user_id FROM customers u WHERE u.customer_id = ?1)) \
            AND s.row_id > ?2 ORDER BY s.row_id LIMIT ?3
            """,
        members: waiting("waiting_proofs"))

    private static func waiting(_ table: String) -> [Member] {
        [
            Member("environment", "environment", .environment, of: "\(table).environment"),
            Member("transactionId", "transaction_id", .text, of: "\(table).transaction_id"),
            Member("deviceId", "device", .text, of: "\(table).device"),
            Member("phoneId", "phone", .text, of: "\(table).phone"),
            Member("network", "network", .text, of: "\(table).network"),
            Member("receivedAt", "received_at", .time, of: "\(table).received_at"),
        ]
    }

    /// Of requests with a token of this person's, for 48 hours.
    static let storedAnswers = ExportSection(
        name: "storedAnswers", isOfOrders: false,
        rows: """
            SELECT n.position, n.method, n.path, n.key, n.at FROM (SELECT row_number() OVER (ORDER BY at, method, \
            path, query_digest, environment, key) AS position, method, path, key, at FROM idempotency_keys \
            WHERE credential = (SELECT 'user:' || c.user_id FROM customers c WHERE c.customer_id = ?1)) n \
            WHERE n.position > ?2 ORDER BY n.position LIMIT ?3
            """,
        members: [
            Member("method", "method", .text, of: "idempotency_keys.method"),
            Member("path", "path", .text, of: "idempotency_keys.path"),
            Member("idempotencyKey", "key", .text, of: "idempotency_keys.key"),
            Member("at", "at", .time, of: "idempotency_keys.at"),
        ])
}
