import TillBilling
import TillSQL

extension SubscriptionTable {
    /// One period of a chain, whose it is, and what the ledger has of it beside that.
    public struct Link: Sendable, Hashable {
        /// Of the transaction.
        public let sequence: Int64
        public let chain: ChainPeriod
        public let state: RecordedTransaction.State
        public let orderSequence: Int64?
        /// Whether it was granted once, also if it was taken back since.
        public let hasGrant: Bool
        public let basis: OwnershipBasis

        public var period: PaidPeriod { chain.period }
        public var owner: UserID? { chain.owner }
    }

    /// All periods of a chain with their owners, the oldest purchase first: by the list of the chain, and each period's
    /// rows by their number.
    public func links(of subscription: Int64) throws -> [Link] {
        try session.query(
            """
            SELECT t.state, t.order_sequence, \
            coalesce(h.user, CASE WHEN b.withdrawn_at IS NULL THEN g.user END, o.user), t.id, t.product, \
            t.purchased_at, t.signed_at, t.revoked_at, t.is_renewal, t.price, t.currency, t.type, \
            t.expires_at, t.is_renewal, \
            t.is_upgraded, t.is_shared, t.group_id, t.storefront, t.offer_type, t.offer_id, t.offer_discount, \
            t.revocation_type, t.revocation_percentage, t.ownership, t.sequence, t.token, r.kind, \
            coalesce(b.basis, 'token'), g.transaction_sequence IS NOT NULL, \
            t.is_renewal <> 0 AND (coalesce(b.basis, '') = 'person' OR EXISTS (SELECT 1 FROM evidence e \
            WHERE e.transaction_sequence = t.sequence AND e.decision = 'granted' \
            AND e.ground IN ('claim', 'backend', 'operator', 'order_number', 'acceptance'))) \
            FROM subscription_periods p \
            CROSS JOIN transactions t ON t.sequence = p.transaction_sequence \
            LEFT JOIN orders o ON o.sequence = t.order_sequence \
            LEFT JOIN grants g ON g.transaction_sequence = t.sequence \
            LEFT JOIN holders h ON h.grant_sequence = t.sequence \
            LEFT JOIN proofs r ON r.transaction_sequence = t.sequence \
            LEFT JOIN ownership_basis b ON b.grant_sequence = t.sequence \
            WHERE p.subscription_sequence = ? ORDER BY t.purchased_at DESC, t.sequence DESC LIMIT ?
            """, [.integer(subscription), .integer(Self.periodLimit)], Self.link
        )
        .sorted { PaidPeriod.isEarlier($0.period, $1.period) }
    }

    private static func link(_ row: any Row) throws -> Link {
        guard let state = RecordedTransaction.State(rawValue: Int(row.integer(0))) else {
            throw row.unreadable("a transaction's state")
        }
        guard let basis = OwnershipBasis(rawValue: row.text(27)) else {
            throw row.unreadable("a basis of ownership")
        }
        // What was granted and taken back into quarantine has a grant and no order.
        let isOwned = state != .quarantined && !row.isNull(1)
        let period = row.paidPeriod(from: 3)
        // A copy that somebody else pays for has the purchaser's token.
        let token = row.isNull(25) || period.terms.isPaidBySomebodyElse ? nil : try row.uniqueID(25)
        return Link(
            sequence: row.integer(24),
            chain: ChainPeriod(
                period: period, owner: isOwned ? row.optionalText(2).map { UserID($0) } : nil,
                token: token?.isAbsent == true ? nil : token,
                hidesToken: row.integer(26) == ProofTable.Kind.receipt.rawValue, isDecided: row.integer(29) != 0,
                isTakenBack: state == .revoked),
            state: state, orderSequence: row.isNull(1) ? nil : row.integer(1), hasGrant: row.integer(28) != 0,
            basis: basis)
    }
}
