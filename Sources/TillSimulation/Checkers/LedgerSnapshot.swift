import TillBilling
import TillSQL

/// A snapshot of the ledger: one row of facts for each transaction.
struct LedgerSnapshot: Sendable {
    struct Entry: Sendable {
        let rowID: Int64
        let id: String
        let environment: Int64
        /// 1 granted, 2 quarantined, 3 revoked.
        let state: Int64
        /// The current owner.
        let grantUser: String?
        /// Moved after its grant, or granted to a new owner.
        let isMoved: Bool
        /// Only a receipt proves the payment.
        let restsOnReceipt: Bool
        /// How often it was withdrawn from its owner; a purchase withdrawn into quarantine is granted again.
        let withdrawals: Int64
        let product: String
        let quantity: Int64
        let hasProof: Bool
        /// The number of `granted` decisions in the evidence.
        let grantedDecisions: Int64
        let events: Int64
        let orderStatus: Int64?
        let orderUser: String?
        let purchases: Int64
        let sum: Int64
        let isRenewal: Bool
        let revokedAt: Int64?
    }

    let entries: [String: Entry]

    /// - Parameter rowID: only this transaction; nil: all.
    init(_ connection: any Connection, only rowID: Int64? = nil) throws {
        let rows = try connection.query(
            """
            SELECT t.row_id, t.id, t.environment, t.state, \
            \(user: "CASE WHEN t.state <> 2 THEN coalesce(h.customer_id, g.customer_id) END") AS owner, t.product, \
            t.quantity, (EXISTS (SELECT 1 FROM proofs p WHERE p.transaction_row_id = t.row_id) OR EXISTS (SELECT 1 \
            FROM compressed_proofs p WHERE p.transaction_row_id = t.row_id)) AS has_proof, \
            (SELECT count(*) FROM evidence e WHERE e.transaction_row_id = t.row_id AND e.decision = 'granted') + \
            (g.decision IS NOT NULL) AS decisions, (SELECT count(*) FROM outbox b WHERE b.transaction_row_id = \
            t.row_id AND b.type = 'grant.created') AS events, o.status, \(user: "o.customer_id") AS user_id, \
            (SELECT count(*) FROM postings p WHERE p.grant_row_id = t.row_id AND p.kind = 'purchase') AS \
            purchases, (SELECT coalesce(sum(p.amount), 0) FROM postings p WHERE p.grant_row_id = t.row_id) AS points, \
            t.is_renewal, t.revoked_at, h.customer_id IS NOT NULL AS is_moved, EXISTS (SELECT 1 FROM proofs p WHERE \
            p.transaction_row_id = t.row_id AND p.kind = 2) AS rests_on_receipt, (SELECT count(*) FROM outbox b \
            WHERE b.transaction_row_id = t.row_id AND b.type = 'grant.withdrawn') AS withdrawals FROM transactions \
            t LEFT JOIN grants g ON g.transaction_row_id = t.row_id LEFT JOIN grant_owners h ON h.grant_row_id = \
            t.row_id LEFT JOIN orders o ON o.row_id = t.order_row_id WHERE t.row_id BETWEEN ? AND ?
            """, [.integer(rowID ?? 0), .integer(rowID ?? .max)]
        ) { row in
            Entry(
                rowID: row.integer("row_id"), id: row.text("id"), environment: row.integer("environment"),
                state: row.integer("state"),
                grantUser: row.isNull("owner") ? nil : row.text("owner"),
                isMoved: row.integer("is_moved") != 0,
                restsOnReceipt: row.integer("rests_on_receipt") != 0,
                withdrawals: row.integer("withdrawals"), product: row.text("product"),
                quantity: row.integer("quantity"),
                hasProof: row.integer("has_proof") != 0, grantedDecisions: row.integer("decisions"),
                events: row.integer("events"),
                orderStatus: row.isNull("status") ? nil : row.integer("status"),
                orderUser: row.isNull("user_id") ? nil : row.text("user_id"),
                purchases: row.integer("purchases"), sum: row.integer("points"),
                isRenewal: row.integer("is_renewal") != 0,
                revokedAt: row.isNull("revoked_at") ? nil : row.integer("revoked_at"))
        }
        entries = Dictionary(rows.map { ("\($0.environment) \($0.id)", $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The entry with this id in the server's one environment.
    subscript(id: String) -> Entry? { entries["1 \(id)"] }
}
