import TillBilling
import TillSQL

extension SubscriptionTable {
    /// One period of a chain, its owner, and the ledger's other data about it.
    public struct Link: Sendable, Hashable {
        /// The row id of the transaction.
        public let rowID: Int64
        public let chain: ChainPeriod
        public let state: RecordedTransaction.State
        public let orderRowID: Int64?
        /// Whether it was ever granted, even if revoked since.
        public let hasGrant: Bool
        public let basis: OwnershipBasis

        public var period: PaidPeriod { chain.period }
        public var owner: UserID? { chain.owner }
    }

    /// All periods of a chain with their owners, the oldest purchase first: from the chain's list, and each period's
    /// rows by row id.
    public func links(of subscription: Int64) throws -> [Link] {
        try connection.query(Self.findingLinks(of: subscription), Self.link)
            .sorted { PaidPeriod.isEarlier($0.period, $1.period) }
    }

    static func findingLinks(of subscription: Int64) -> Statement {
        Statement(
            """
            SELECT t.state, t.order_row_id, \
            \(user: "coalesce(h.customer_id, CASE WHEN b.withdrawn_at IS NULL THEN g.customer_id END, o.customer_id)") \
            AS owner, \(TransactionTable.signed, of: "t"), \(TransactionTable.terms, of: "t"), t.row_id, t.token, \
            r.kind, coalesce(b.basis, 'token') AS basis, CASE WHEN g.transaction_row_id IS NULL THEN 0 ELSE 1 END AS \
            has_grant, CASE WHEN t.is_renewal <> 0 AND (coalesce(b.basis, '') = 'person' OR EXISTS (SELECT 1 FROM \
            evidence e WHERE e.transaction_row_id = t.row_id AND e.decision = 'granted' AND e.ground IN ('claim', \
            'backend', 'operator', 'order_number', 'acceptance'))) THEN 1 ELSE 0 END AS is_decided FROM \
            subscription_periods p CROSS JOIN transactions t ON t.row_id = p.transaction_row_id LEFT JOIN orders o \
            ON o.row_id = t.order_row_id LEFT JOIN grants g ON g.transaction_row_id = t.row_id LEFT JOIN \
            grant_owners h ON h.grant_row_id = t.row_id LEFT JOIN proofs r ON r.transaction_row_id = t.row_id LEFT \
            JOIN ownership_basis b ON b.grant_row_id = t.row_id WHERE p.subscription_row_id = ?1 ORDER BY \
            t.purchased_at DESC, t.row_id DESC LIMIT ?2
            """, [.integer(subscription), .integer(periodLimit)])
    }

    private static func link(_ row: any Row) throws -> Link {
        guard let state = RecordedTransaction.State(rawValue: Int(row.integer("state"))) else {
            throw row.unreadable("a transaction's state")
        }
        guard let basis = OwnershipBasis(rawValue: row.text("basis")) else {
            throw row.unreadable("a basis of ownership")
        }
        // A grant that was moved back into quarantine has no order.
        let isOwned = state != .quarantined && !row.isNull("order_row_id")
        let period = row.paidPeriod()
        // A copy that somebody else pays for has the purchaser's token.
        let token = row.isNull("token") || period.terms.isPaidByAnotherAccount ? nil : try row.uniqueID("token")
        return Link(
            rowID: row.integer("row_id"),
            chain: ChainPeriod(
                period: period, owner: isOwned ? row.optionalText("owner").map { UserID($0) } : nil,
                token: token?.isAbsent == true ? nil : token,
                hidesToken: row.integer("kind") == ProofTable.Kind.receipt.rawValue,
                isDecided: row.integer("is_decided") != 0,
                isWithdrawn: state == .revoked),
            state: state, orderRowID: row.optionalInteger("order_row_id"), hasGrant: row.integer("has_grant") != 0,
            basis: basis)
    }
}
