import TillSQL

extension ExportSection {
    /// The lists of an export. A test compares them with `PersonalData`.
    static let all: [ExportSection] = [
        customers, accountTokens, consents, orders, orderHistory, transactions, grants, ownershipBasis, ownedPurchases,
        subscriptions, evidence, quarantine, differences, consumptionRequests, postings, balances, claims, transfers,
        reminders, events, importedPurchases, importedBalances, refusedProofs, savedProofs, waitingProofs,
        storedAnswers,
    ]

    // MARK: The customer

    private static let customers = ExportSection(
        name: "customers", isOfOrders: false,
        rows: """
            SELECT c.customer_id AS position, c.user_id, c.kind, c.first_seen, d.since FROM customers c \
            LEFT JOIN distrusted_receipts d ON d.customer_id = c.customer_id WHERE c.customer_id = ?1 \
            AND c.customer_id > ?2 ORDER BY c.customer_id LIMIT ?3
            """,
        members: [
            Member("userId", "user_id", .text, of: "customers.user_id"),
            Member("kind", "kind", .kind, of: "customers.kind"),
            Member("firstSeenAt", "first_seen", .time, of: "customers.first_seen"),
            Member("receiptsDistrustedSince", "since", .time, of: "distrusted_receipts.since"),
        ])

    private static let accountTokens = ExportSection(
        name: "accountTokens", isOfOrders: false,
        rows: """
            SELECT n.position, n.token, n.since FROM (SELECT row_number() OVER (ORDER BY since, token) AS position, \
            token, since FROM account_tokens WHERE customer_id = ?1) n WHERE n.position > ?2 \
            ORDER BY n.position LIMIT ?3
            """,
        members: [
            Member("token", "token", .id, of: "account_tokens.token"),
            Member("since", "since", .time, of: "account_tokens.since"),
        ])

    private static let consents = ExportSection(
        name: "consents", isOfOrders: false,
        rows: """
            SELECT s.row_id AS position, s.given, s.at FROM consents s WHERE s.customer_id = ?1 AND s.row_id > ?2 \
            ORDER BY s.row_id LIMIT ?3
            """,
        members: [
            Member("given", "given", .flag, of: "consents.given"), Member("at", "at", .time, of: "consents.at"),
        ])

    // MARK: Purchases

    private static let orders = ExportSection(
        name: "orders", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, o.id, o.product, o.quantity, o.status, o.price, o.currency, o.environment, \
            o.transaction_id, o.device, o.phone, o.metadata, o.created_at, o.updated_at, o.previewed_at, \
            o.previewed_until FROM orders o WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 \
            ORDER BY o.row_id
            """,
        members: [
            Member("id", "id", .id, of: "orders.id"), Member("productId", "product", .text, of: "orders.product"),
            Member("quantity", "quantity", .number, of: "orders.quantity"),
            Member("status", "status", .status, of: "orders.status"),
            Member("price", "price", .money, of: "orders.price orders.currency"),
            Member("environment", "environment", .environment, of: "orders.environment"),
            Member("transactionId", "transaction_id", .text, of: "orders.transaction_id"),
            Member("deviceId", "device", .text, of: "orders.device"),
            Member("phoneId", "phone", .text, of: "orders.phone"),
            Member("metadata", "metadata", .json, of: "orders.metadata"),
            Member("createdAt", "created_at", .time, of: "orders.created_at"),
            Member("updatedAt", "updated_at", .time, of: "orders.updated_at"),
            Member("previewedAt", "previewed_at", .time, of: "orders.previewed_at"),
            Member("previewExpiresAt", "previewed_until", .time, of: "orders.previewed_until"),
        ])

    private static let orderHistory = ExportSection(
        name: "orderHistory", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, m.number, o.id, m.status, m.at, m.reason FROM orders o JOIN order_moves m \
            ON m.order_row_id = o.row_id WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 \
            UNION ALL SELECT o.row_id, 1, o.id, 0, o.created_at, 'opened' FROM orders o WHERE o.customer_id = ?1 \
            AND o.row_id > ?2 AND o.row_id <= ?3 AND o.reason IS NOT NULL AND o.moves > 1 AND NOT EXISTS (SELECT 1 \
            FROM order_moves m WHERE m.order_row_id = o.row_id AND m.number = 1) \
            UNION ALL SELECT o.row_id, o.moves, o.id, o.status, CASE WHEN o.moves = 1 THEN o.created_at \
            ELSE o.updated_at END, o.reason FROM orders o WHERE o.customer_id = ?1 AND o.row_id > ?2 \
            AND o.row_id <= ?3 AND o.reason IS NOT NULL ORDER BY 1, 2
            """,
        members: [
            Member("orderId", "id", .id, of: "orders.id"),
            Member("status", "status", .status, of: "order_moves.status"),
            Member("at", "at", .time, of: "order_moves.at"),
            Member("reason", "reason", .text, of: "order_moves.reason orders.reason"),
        ])

    private static let transactions = ExportSection(
        name: "transactions", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, o.id AS order_id, t.environment, t.id, t.original_id, t.product, t.quantity, \
            t.token, t.purchased_at, t.signed_at, t.revoked_at, t.price, t.currency, t.quarantine, t.received_at, \
            t.type, t.expires_at, t.is_renewal, t.is_upgraded, t.group_id, t.storefront, t.offer_type, t.offer_id, \
            t.offer_discount, t.revocation_type, t.revocation_percentage, t.ownership_type, t.app_transaction \
            FROM orders o JOIN transactions t ON t.order_row_id = o.row_id WHERE o.customer_id = ?1 \
            AND o.row_id > ?2 AND o.row_id <= ?3 ORDER BY o.row_id, t.row_id
            """,
        members: [
            Member("orderId", "order_id", .id, of: "orders.id"),
            Member("environment", "environment", .environment, of: "transactions.environment"),
            Member("transactionId", "id", .text, of: "transactions.id"),
            Member("originalTransactionId", "original_id", .text, of: "transactions.original_id"),
            Member("productId", "product", .text, of: "transactions.product"),
            Member("quantity", "quantity", .number, of: "transactions.quantity"),
            Member("appAccountToken", "token", .id, of: "transactions.token"),
            Member("purchasedAt", "purchased_at", .time, of: "transactions.purchased_at"),
            Member("signedAt", "signed_at", .time, of: "transactions.signed_at"),
            Member("revokedAt", "revoked_at", .time, of: "transactions.revoked_at"),
            Member("price", "price", .milliunits, of: "transactions.price transactions.currency"),
            Member("quarantine", "quarantine", .text, of: "transactions.quarantine"),
            Member("receivedAt", "received_at", .time, of: "transactions.received_at"),
            Member("type", "type", .productType, of: "transactions.type"),
            Member("expiresAt", "expires_at", .time, of: "transactions.expires_at"),
            Member("isRenewal", "is_renewal", .flag, of: "transactions.is_renewal"),
            Member("isUpgraded", "is_upgraded", .flag, of: "transactions.is_upgraded"),
            Member("subscriptionGroupId", "group_id", .text, of: "transactions.group_id"),
            Member("storefront", "storefront", .text, of: "transactions.storefront"),
            Member("offerType", "offer_type", .number, of: "transactions.offer_type"),
            Member("offerId", "offer_id", .text, of: "transactions.offer_id"),
            Member("offerDiscountType", "offer_discount", .text, of: "transactions.offer_discount"),
            Member("revocationType", "revocation_type", .text, of: "transactions.revocation_type"),
            Member("revocationPercentage", "revocation_percentage", .number, of: "transactions.revocation_percentage"),
            Member("ownershipType", "ownership_type", .text, of: "transactions.ownership_type"),
            Member("appTransactionId", "app_transaction", .text, of: "transactions.app_transaction"),
        ])

    private static let grants = ExportSection(
        name: "grants", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, g.id, t.id AS transaction_id, t.environment, g.entitlement, g.at \
            FROM orders o JOIN transactions t ON t.order_row_id = o.row_id JOIN grants g \
            ON g.transaction_row_id = t.row_id WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 \
            ORDER BY o.row_id, t.row_id
            """,
        members: [
            Member("id", "id", .id, of: "grants.id"),
            Member("transactionId", "transaction_id", .text, of: "transactions.id"),
            Member("environment", "environment", .environment, of: "transactions.environment"),
            Member("entitlement", "entitlement", .text, of: "grants.entitlement"),
            Member("at", "at", .time, of: "grants.at"),
        ])

    /// Of chains that no other customer has a part of: what Apple says about the next renewal concerns its payer.
    private static let subscriptions = ExportSection(
        name: "subscriptions", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, s.environment, s.original_id, s.renewal_product, s.auto_renews, \
            s.in_billing_retry, s.grace_until, s.expiration_intent, s.price_increase, s.renewal_price, \
            s.renewal_currency AS currency, s.renewal_at, s.renewal_offer_type, s.renewal_offer_id, \
            s.renewal_offer_discount FROM orders o JOIN transactions t ON t.order_row_id = o.row_id \
            JOIN subscription_periods p ON p.transaction_row_id = t.row_id JOIN subscriptions s \
            ON s.row_id = p.subscription_row_id WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 \
            AND t.row_id = (SELECT min(f.transaction_row_id) FROM subscription_periods f \
            WHERE f.subscription_row_id = s.row_id) AND NOT EXISTS (SELECT 1 FROM subscription_periods q \
            JOIN transactions r ON r.row_id = q.transaction_row_id JOIN orders x ON x.row_id = r.order_row_id \
            WHERE q.subscription_row_id = s.row_id AND x.customer_id <> ?1) ORDER BY o.row_id, s.row_id
            """,
        members: [
            Member("environment", "environment", .environment, of: "subscriptions.environment"),
            Member("originalTransactionId", "original_id", .text, of: "subscriptions.original_id"),
            Member("renewalProductId", "renewal_product", .text, of: "subscriptions.renewal_product"),
            Member("autoRenews", "auto_renews", .flag, of: "subscriptions.auto_renews"),
            Member("isInBillingRetry", "in_billing_retry", .flag, of: "subscriptions.in_billing_retry"),
            Member("graceUntil", "grace_until", .time, of: "subscriptions.grace_until"),
            Member("expirationIntent", "expiration_intent", .number, of: "subscriptions.expiration_intent"),
            Member("priceIncreaseStatus", "price_increase", .number, of: "subscriptions.price_increase"),
            Member(
                "renewalPrice", "renewal_price", .money,
                of: "subscriptions.renewal_price subscriptions.renewal_currency"),
            Member("renewalAt", "renewal_at", .time, of: "subscriptions.renewal_at"),
            Member("renewalOfferType", "renewal_offer_type", .number, of: "subscriptions.renewal_offer_type"),
            Member("renewalOfferId", "renewal_offer_id", .text, of: "subscriptions.renewal_offer_id"),
            Member(
                "renewalOfferDiscountType", "renewal_offer_discount", .text,
                of: "subscriptions.renewal_offer_discount"),
        ])

    private static let evidence = ExportSection(
        name: "evidence", isOfOrders: true,
        rows: """
            SELECT position, transaction_id, environment, at, decision, ground, source FROM (SELECT o.row_id AS \
            position, t.id AS transaction_id, t.environment, 0 AS number, \(GrantDecision.columns) FROM orders o \
            JOIN transactions t ON t.order_row_id = o.row_id JOIN grants g ON g.transaction_row_id = t.row_id JOIN \
            grant_decisions d ON d.number = g.decision WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 \
            UNION ALL SELECT o.row_id, t.id, t.environment, e.row_id, e.at, e.decision, e.ground, e.source, \
            e.detail, e.caller_kind, e.caller_customer_id, e.caller_key FROM orders o JOIN transactions t ON \
            t.order_row_id = o.row_id JOIN evidence e ON e.transaction_row_id = t.row_id WHERE o.customer_id = ?1 \
            AND o.row_id > ?2 AND o.row_id <= ?3) AS found ORDER BY position, at, number
            """,
        members: [
            Member("transactionId", "transaction_id", .text, of: "transactions.id"),
            Member("environment", "environment", .environment, of: "transactions.environment"),
            Member("at", "at", .time, of: "evidence.at"),
            Member("decision", "decision", .text, of: "evidence.decision"),
            Member("ground", "ground", .text, of: "evidence.ground"),
            Member("source", "source", .text, of: "evidence.source"),
        ])

    private static let quarantine = ExportSection(
        name: "quarantine", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, t.id AS transaction_id, t.environment, q.reason, q.submissions, q.first_at, \
            q.last_at FROM orders o JOIN transactions t ON t.order_row_id = o.row_id JOIN quarantine_reasons q \
            ON q.transaction_row_id = t.row_id WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 \
            ORDER BY o.row_id, t.row_id, q.reason
            """,
        members: [
            Member("transactionId", "transaction_id", .text, of: "transactions.id"),
            Member("environment", "environment", .environment, of: "transactions.environment"),
            Member("reason", "reason", .text, of: "quarantine_reasons.reason"),
            Member("submissions", "submissions", .number, of: "quarantine_reasons.submissions"),
            Member("firstAt", "first_at", .time, of: "quarantine_reasons.first_at"),
            Member("lastAt", "last_at", .time, of: "quarantine_reasons.last_at"),
        ])

    private static let differences = ExportSection(
        name: "differences", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, t.id AS transaction_id, t.environment, d.kind, d.was, d.now, d.found_at \
            FROM orders o JOIN transactions t ON t.order_row_id = o.row_id JOIN differences d \
            ON d.transaction_id = t.id AND d.environment = t.environment AND d.transaction_id IS NOT NULL \
            WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 ORDER BY o.row_id, d.row_id
            """,
        members: [
            Member("transactionId", "transaction_id", .text, of: "differences.transaction_id"),
            Member("environment", "environment", .environment, of: "transactions.environment"),
            Member("kind", "kind", .text, of: "differences.kind"), Member("was", "was", .text, of: "differences.was"),
            Member("now", "now", .text, of: "differences.now"),
            Member("foundAt", "found_at", .time, of: "differences.found_at"),
        ])

    private static let consumptionRequests = ExportSection(
        name: "consumptionRequests", isOfOrders: true,
        rows: """
            SELECT o.row_id AS position, t.id AS transaction_id, t.environment, r.reason, r.requested_at, r.answer_by, \
            r.state, r.answer, r.ended_at FROM orders o JOIN transactions t ON t.order_row_id = o.row_id \
            JOIN consumption_requests r ON r.transaction_id = t.id AND r.environment = t.environment \
            WHERE o.customer_id = ?1 AND o.row_id > ?2 AND o.row_id <= ?3 ORDER BY o.row_id, r.row_id
            """,
        members: [
            Member("transactionId", "transaction_id", .text, of: "transactions.id"),
            Member("environment", "environment", .environment, of: "transactions.environment"),
            Member("reason", "reason", .text, of: "consumption_requests.reason"),
            Member("requestedAt", "requested_at", .time, of: "consumption_requests.requested_at"),
            Member("answerBy", "answer_by", .time, of: "consumption_requests.answer_by"),
            Member("state", "state", .consumptionState, of: "consumption_requests.state"),
            Member("answer", "answer", .json, of: "consumption_requests.answer"),
            Member("endedAt", "ended_at", .time, of: "consumption_requests.ended_at"),
        ])
}
