import TillBilling
import TillStorage

/// Purchases that wait: for a parent (Ask to Buy), or for the customer to do something first (interrupted).
enum ApprovalDesk {
    /// Ask to Buy requests expire after a day (facts/limits §4).
    static let lifetime: Int64 = 24 * 3_600

    /// Approves or declines a request to buy, or completes an interrupted purchase. The charge is now.
    static func settle(_ number: Int64, approved: Bool, _ turn: Turn) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, turn.session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .deferred || transaction.state == .interrupted else {
            return .failure(.notWaiting(id))
        }
        guard approved else {
            transaction.state = .declined
            return .success(try TransactionTable.update(transaction, turn.session))
        }
        if transaction.state == .deferred, turn.now >= transaction.purchased.adding(seconds: lifetime) {
            return .failure(.approvalExpired(id))
        }
        transaction.purchased = turn.now
        transaction.firstPurchased = turn.now
        transaction.state = .purchased
        transaction = try TransactionTable.update(transaction, turn.session)
        try turn.note(.oneTimeCharge, about: transaction)
        return .success(transaction)
    }

    /// Nobody answered in time.
    static func expire(_ number: Int64, _ turn: Turn) throws {}
}
