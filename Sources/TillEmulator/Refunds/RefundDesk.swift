import TillBilling
import TillSQL

/// How much of the money goes back.
public enum RefundShare: Sendable, Hashable {
    /// Thousandths of a percent, 1 to 100000.
    case percentage(Int64)
    /// Of a subscription's period, what is not used yet.
    case unusedTime

    public static let full = RefundShare.percentage(100_000)
}

/// Money that goes back.
enum RefundDesk {
    /// Apple gives the customer the money back, all or a part of it.
    ///
    /// - Parameter percentage: thousandths of a percent; 100000 is all of it.
    static func refund(
        _ number: Int64, reason: Int64, percentage: Int64, _ turn: Turn
    ) throws -> Result<StoreTransaction, StoreRefusal> {
        try refund(number, reason: reason, .percentage(percentage), turn)
    }

    static func refund(
        _ number: Int64, reason: Int64, _ share: RefundShare, _ turn: Turn
    ) throws -> Result<StoreTransaction, StoreRefusal> {
        switch try refundable(number, turn) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found):
            let percentage: Int64? =
                switch share {
                case .percentage(let given): given
                case .unusedTime: unused(of: found, at: turn.now)
                }
            guard let percentage else { return .failure(.nothingUnused(String(number))) }
            return .success(try refund(found, reason: reason, percentage: percentage, turn).transaction)
        }
    }

    /// Apple takes its refund back after a dispute: the revocation is gone as if it had never been, the renewal date
    /// is the old one (facts/notifications §4). The family's access begins anew.
    static func reverse(_ number: Int64, _ turn: Turn) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, turn.session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.revocation != nil, transaction.sharedFrom == nil else { return .failure(.notRefunded(id)) }
        transaction.revocation = nil
        transaction = try TransactionTable.update(transaction, turn.session)
        let subscription = try SubscriptionLife.reinstated(transaction, turn)
        try turn.note(.refundReversed, about: transaction, subscription)
        if transaction.subscription == nil || subscription?.current == number && subscription?.isServing == true {
            try FamilySharing.share(transaction, subscription, turn)
        }
        return .success(transaction)
    }

    /// Family access ends: a member's copy goes, or the purchaser shares this purchase no more and all copies go.
    /// - Returns: the member's copy, or the purchaser's transaction, which itself stays as it is.
    static func revoke(_ number: Int64, _ turn: Turn) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard let transaction = try TransactionTable.find(number, turn.session) else {
            return .failure(.unknownTransaction(id))
        }
        if transaction.sharedFrom != nil {
            guard transaction.revocation == nil else { return .failure(.alreadyRevoked(id)) }
            // For this member for good: neither the next renewal nor anything else gives it back.
            try SharedPurchaseTable.turnOff(transaction.original, turn.session)
            return .success(try FamilySharing.end(transaction, turn))
        }
        // Of a subscription the current period is meant, whichever transaction names it.
        let current = try SubscriptionTable.find(transaction.original, turn.session)?.current ?? number
        let copies = try SharedPurchaseTable.copies(of: current, turn.session).filter { $0.revocation == nil }
        guard !copies.isEmpty else { return .failure(.notShared(id)) }
        try SharedPurchaseTable.turnOff(transaction.original, turn.session)
        for copy in copies { try FamilySharing.end(copy, turn) }
        return .success(transaction)
    }

    /// Thousandths of a percent of a subscription's period that lie ahead; nil if none do, or if it is no subscription.
    static func unused(of transaction: StoreTransaction, at now: Instant) -> Int64? {
        guard let expires = transaction.subscription?.expires, now < expires else { return nil }
        let start = min(transaction.purchased, now)
        let (whole, wholeOverflows) = expires.milliseconds.subtractingReportingOverflow(start.milliseconds)
        let (rest, restOverflows) = expires.milliseconds.subtractingReportingOverflow(now.milliseconds)
        guard !wholeOverflows, !restOverflows, whole > 0 else { return nil }
        let product = rest.multipliedFullWidth(by: 100_000)
        return max(1, min(100_000, whole.dividingFullWidth(product).quotient))
    }

    // MARK: Deeds

    /// The transaction, if there is money to give back for it.
    static func refundable(_ number: Int64, _ turn: Turn) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard let transaction = try TransactionTable.find(number, turn.session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .purchased else { return .failure(.notPurchased(id)) }
        guard transaction.sharedFrom == nil else { return .failure(.paidByFamily(id)) }
        return transaction.revocation == nil ? .success(transaction) : .failure(.alreadyRefunded(id))
    }

    /// Gives the money back: REFUND, then REVOKE for each member of a family that lived on it.
    static func refund(
        _ transaction: StoreTransaction, reason: Int64, percentage: Int64, _ turn: Turn
    ) throws -> (transaction: StoreTransaction, subscription: StoreSubscription?) {
        var transaction = transaction
        transaction.revocation = StoreTransaction.Revocation(
            date: turn.now, reason: reason, type: percentage == 100_000 ? "REFUND_FULL" : "REFUND_PRORATED",
            percentage: percentage)
        transaction = try TransactionTable.update(transaction, turn.session)
        let subscription = try SubscriptionLife.revoked(transaction, turn)
        try turn.note(.refund, about: transaction, subscription)
        try FamilySharing.revoke(transaction, turn)
        try FamilySharing.fallBack(transaction.account, turn)
        return (transaction, subscription)
    }
}

extension Store {
    /// - Parameter percentage: thousandths of a percent; 100000 is all of it.
    public func refund(
        _ number: Int64, reason: Int64 = 0, percentage: Int64 = 100_000
    ) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await refund(number, reason: reason, .percentage(percentage))
    }

    public func refund(
        _ number: Int64, reason: Int64 = 0, _ share: RefundShare
    ) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try RefundDesk.refund(number, reason: reason, share, $0) }
    }

    public func reverseRefund(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try RefundDesk.reverse(number, $0) }
    }

    /// Ends a family's access to a purchase.
    public func revoke(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try RefundDesk.revoke(number, $0) }
    }
}
