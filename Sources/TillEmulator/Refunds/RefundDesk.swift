import TillBilling
import TillStorage

/// Money that goes back.
enum RefundDesk {
    /// Apple gives the customer the money back, all or a part of it.
    ///
    /// - Parameter percentage: thousandths of a percent; 100000 is all of it.
    static func refund(
        _ number: Int64, reason: Int64, percentage: Int64, _ turn: Turn
    ) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, turn.session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .purchased else { return .failure(.notPurchased(id)) }
        guard transaction.revocation == nil else { return .failure(.alreadyRefunded(id)) }
        transaction.revocation = StoreTransaction.Revocation(
            date: turn.now, reason: reason, type: percentage == 100_000 ? "REFUND_FULL" : "REFUND_PRORATED",
            percentage: percentage)
        transaction = try TransactionTable.update(transaction, turn.session)
        let subscription = try SubscriptionLife.revoked(transaction, turn)
        try turn.note(.refund, about: transaction, subscription)
        return .success(transaction)
    }

    /// What the developer says about a purchase whose refund the customer asked for; the newest answer counts.
    static func takeConsumption(
        _ number: Int64, _ answer: ConsumptionAnswer, _ turn: Turn
    ) throws -> ConsumptionOutcome { .notRequested }

    /// Twelve hours have passed since the customer asked (facts/server-api §5).
    static func decide(_ number: Int64, _ turn: Turn) throws {}
}

extension Store {
    /// - Parameter percentage: thousandths of a percent; 100000 is all of it.
    public func refund(
        _ number: Int64, reason: Int64 = 0, percentage: Int64 = 100_000
    ) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try RefundDesk.refund(number, reason: reason, percentage: percentage, $0) }
    }
}
