import TillBilling
import TillSQL

/// Adds tasks for Apple in the commit that processed the transaction. Without an In-App Purchase Key no task is added,
/// because the table would only grow.
package struct AppleTasks {
    private let table: AppleTaskTable
    private let policy: Policy?
    private let now: Instant

    struct Policy: Sendable {
        /// Seconds that the device has to finish the transaction itself.
        let finishAfter: Int64
    }

    init(_ connection: any Connection, under policy: Policy?, now: Instant) {
        table = AppleTaskTable(connection)
        self.policy = policy
        self.now = now
    }

    /// Called when the grant or the revocation is recorded: from then on the transaction may be finished (DESIGN §4,
    /// invariant 3).
    func finish(_ rowID: Int64) throws {
        guard let policy else { return }
        try table.insert(.finish, transaction: rowID, due: now.adding(seconds: policy.finishAfter))
    }

    /// Called when a granted or revoked purchase moves to quarantine, for example because Apple reversed a refund
    /// before any grant: the transaction stays in the store's queue until it has an owner.
    func withdrawFinish(_ rowID: Int64) throws { try table.withdrawFinish(transaction: rowID) }

    /// Sets the order id at Apple for a purchase that was matched without one, so that later renewals and notifications
    /// carry it. The token that a receipt hides is not overwritten, and Apple accepts none for a copy that somebody
    /// else pays for (facts/server-api §3, note on 13; facts/seats-and-groups §5).
    func repairToken(_ transaction: PaidTransaction, _ rowID: Int64, order: OrderID, foundBy match: OwnerMatch)
        throws
    {
        guard policy != nil, !transaction.isFromReceipt, !transaction.terms.isPaidByAnotherAccount else { return }
        switch transaction.token {
        case .order: return
        case .unreadable, nil: break
        }
        switch match {
        // The first purchase of its chain already belongs to that order; a backend that opens no orders needs no token.
        case .token, .accountToken, .originalTransaction, .backend, .acceptance: return
        case .orderID, .device, .claim, .orderNumber, .operatorDecision:
            try table.insert(.token(order), transaction: rowID, due: now)
        }
    }
}
