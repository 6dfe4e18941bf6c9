import TillBilling
import TillSQL

/// The ledger as one look shows it: one row of facts for each transaction.
struct LedgerEye: Sendable {
    struct Entry: Sendable {
        let sequence: Int64
        let id: String
        let environment: Int64
        /// 1 granted, 2 quarantined, 3 revoked.
        let state: Int64
        /// Whose it is now.
        let grantUser: String?
        /// It was moved after it was granted, or granted to an heir.
        let isMoved: Bool
        /// Only a receipt shows that it was paid.
        let restsOnReceipt: Bool
        /// How often it was taken from who had it: what is taken back into quarantine is granted again.
        let withdrawals: Int64
        let product: String
        let quantity: Int64
        let hasProof: Bool
        /// How often `granted` and `revoked` stand in the evidence.
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

    /// - Parameter sequence: only this transaction; nil: all.
    init(_ session: any Connection, only sequence: Int64? = nil) throws {
        let rows = try session.query(
            """
            SELECT t.sequence, t.id, t.environment, t.state, \
            CASE WHEN t.state <> 2 THEN coalesce(h.user, g.user) END, t.product, t.quantity, \
            EXISTS (SELECT 1 FROM proofs p WHERE p.transaction_sequence = t.sequence), \
            (SELECT count(*) FROM evidence e WHERE e.transaction_sequence = t.sequence AND e.decision = 'granted'), \
            (SELECT count(*) FROM outbox b WHERE b.transaction_sequence = t.sequence AND b.type = 'grant.created'), \
            o.status, o.user, \
            (SELECT count(*) FROM postings p WHERE p.grant_sequence = t.sequence AND p.kind = 'purchase'), \
            (SELECT coalesce(sum(p.amount), 0) FROM postings p WHERE p.grant_sequence = t.sequence), t.is_renewal, \
            t.revoked_at, h.user IS NOT NULL, \
            EXISTS (SELECT 1 FROM proofs p WHERE p.transaction_sequence = t.sequence AND p.kind = 2), \
            (SELECT count(*) FROM outbox b WHERE b.transaction_sequence = t.sequence AND b.type = 'grant.withdrawn') \
            FROM transactions t LEFT JOIN grants g ON g.transaction_sequence = t.sequence \
            LEFT JOIN holders h ON h.grant_sequence = t.sequence \
            LEFT JOIN orders o ON o.sequence = t.order_sequence \
            WHERE t.sequence BETWEEN ? AND ?
            """, [.integer(sequence ?? 0), .integer(sequence ?? .max)]
        ) { row in
            Entry(
                sequence: row.integer(0), id: row.text(1), environment: row.integer(2), state: row.integer(3),
                grantUser: row.isNull(4) ? nil : row.text(4), isMoved: row.integer(16) != 0,
                restsOnReceipt: row.integer(17) != 0, withdrawals: row.integer(18), product: row.text(5),
                quantity: row.integer(6),
                hasProof: row.integer(7) != 0, grantedDecisions: row.integer(8), events: row.integer(9),
                orderStatus: row.isNull(10) ? nil : row.integer(10), orderUser: row.isNull(11) ? nil : row.text(11),
                purchases: row.integer(12), sum: row.integer(13), isRenewal: row.integer(14) != 0,
                revokedAt: row.isNull(15) ? nil : row.integer(15))
        }
        entries = Dictionary(rows.map { ("\($0.environment) \($0.id)", $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// What this server's one environment has under an id.
    subscript(id: String) -> Entry? { entries["1 \(id)"] }

    /// Moves that an order made and may not.
    static func illegalMoves(_ session: any Connection) throws -> [(order: String, move: String)] {
        var last: (order: Int64, status: Int64)?
        var found: [(String, String)] = []
        _ = try session.query(
            """
            SELECT m.order_sequence, m.status, o.id FROM order_moves m JOIN orders o ON o.sequence = m.order_sequence \
            ORDER BY m.order_sequence, m.number
            """, []
        ) { row in
            let (order, status) = (row.integer(0), row.integer(1))
            if let last, last.order == order, let from = OrderStatus(rawValue: Int(last.status)),
                let to = OrderStatus(rawValue: Int(status)), !from.mayMove(to: to)
            {
                let id = UniqueID(bytes: row.blob(2))?.description ?? ""
                found.append((id, "\(from.name) → \(to.name)"))
            }
            last = (order, status)
        }
        return found
    }
}
