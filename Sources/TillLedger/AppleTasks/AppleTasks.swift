import TillBilling
import TillSQL

/// What Apple is to be told about a transaction that was just settled; written in the same commit. Only where there is
/// a key to tell it with: without one the table would only grow.
package struct AppleTasks {
    private let errands: ErrandTable
    private let policy: Policy?
    private let now: Instant

    struct Policy: Sendable {
        /// Seconds that a phone has for finishing by itself.
        let finishAfter: Int64
    }

    init(_ connection: any Connection, under policy: Policy?, now: Instant) {
        errands = ErrandTable(connection)
        self.policy = policy
        self.now = now
    }

    /// Its grant, or that it was taken back, is recorded: from now on it may be finished (DESIGN §4, invariant 3).
    func finish(_ sequence: Int64) throws {
        guard let policy else { return }
        try errands.insert(.finish, transaction: sequence, due: now.adding(seconds: policy.finishAfter))
    }

    /// Apple took its refund back before anybody had been given it: it is nobody's again, and stays in the store's
    /// queue until it has an owner.
    func withdrawFinish(_ sequence: Int64) throws { try errands.withdrawFinish(transaction: sequence) }

    /// Apple signed no order id for a purchase whose order was found otherwise: Apple is told, so that later renewals
    /// and notifications carry it (U1). What a receipt hides is not written over, and of what somebody else pays for
    /// Apple takes none (facts/server-api §3, note on 13; facts/seats-and-groups §5).
    func repairToken(_ transaction: PaidTransaction, _ sequence: Int64, order: OrderID, foundBy rung: OwnerMatch)
        throws
    {
        guard policy != nil, !transaction.isFromReceipt, !transaction.terms.isPaidBySomebodyElse else { return }
        switch transaction.token {
        case .order: return
        case .unreadable, nil: break
        }
        switch rung {
        // Its chain's first purchase is that order's already; a backend that opens no orders needs no token.
        case .token, .accountToken, .originalTransaction, .backend, .acceptance: return
        case .orderID, .device, .claim, .orderNumber, .operatorDecision:
            try errands.insert(.token(order), transaction: sequence, due: now)
        }
    }
}
