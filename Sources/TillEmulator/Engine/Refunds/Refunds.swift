import TillAppStore
import TillBilling
import TillSQL

/// The share of the price that is refunded.
public enum RefundShare: Sendable, Hashable {
    /// Thousandths of a percent, 1 to 100000.
    case percentage(Int64)
    /// The unused part of a subscription's period.
    case unusedTime

    public static let full = RefundShare.percentage(100_000)
}

/// Refunds, their reversal and the end of Family Sharing.
enum Refunds {
    /// Apple refunds all or part of the price.
    ///
    /// - Parameter percentage: thousandths of a percent; 100000 is the full price.
    static func refund(
        _ number: Int64, reason: Int64, percentage: Int64, _ change: StoreChange
    ) throws -> Result<StoreTransaction, StoreRefusal> {
        try refund(number, reason: reason, .percentage(percentage), change)
    }

    static func refund(
        _ number: Int64, reason: Int64, _ share: RefundShare, _ change: StoreChange
    ) throws -> Result<StoreTransaction, StoreRefusal> {
        switch try refundable(number, change) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let found):
            let percentage: Int64? =
                switch share {
                case .percentage(let given): given
                case .unusedTime: unused(of: found, at: change.now)
                }
            guard let percentage else { return .failure(.nothingUnused(String(number))) }
            return .success(try refund(found, reason: reason, percentage: percentage, change).transaction)
        }
    }

    /// Apple reverses its refund after a dispute: the revocation is removed and the original renewal date applies again
    /// (facts/notifications §4). The family's access starts anew.
    static func reverse(_ number: Int64, _ change: StoreChange) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, change.connection) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.revocation != nil, transaction.sharedFrom == nil else { return .failure(.notRefunded(id)) }
        transaction.revocation = nil
        transaction = try TransactionTable.update(transaction, change.connection)
        let subscription = try SubscriptionLifecycle.reinstated(transaction, change)
        try change.note(.refundReversed, about: transaction, subscription)
        if transaction.subscription == nil || subscription?.current == number && subscription?.isServing == true {
            try FamilySharing.share(transaction, subscription, change)
        }
        return .success(transaction)
    }

    /// Ends Family Sharing: of a member's copy, or, for the purchaser's transaction, of all copies.
    /// - Returns: the member's copy, or the purchaser's transaction, which itself is unchanged.
    static func revoke(_ number: Int64, _ change: StoreChange) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard let transaction = try TransactionTable.find(number, change.connection) else {
            return .failure(.unknownTransaction(id))
        }
        if transaction.sharedFrom != nil {
            guard transaction.revocation == nil else { return .failure(.alreadyRevoked(id)) }
            // Permanent for this member: no later renewal restores it.
            try SharedPurchaseTable.turnOff(transaction.original, change.connection)
            return .success(try FamilySharing.end(transaction, change))
        }
        // For a subscription the current period is used, whichever of its transactions is named.
        let current = try SubscriptionTable.find(transaction.original, change.connection)?.current ?? number
        let copies = try SharedPurchaseTable.copies(of: current, change.connection).filter { $0.revocation == nil }
        guard !copies.isEmpty else { return .failure(.notShared(id)) }
        try SharedPurchaseTable.turnOff(transaction.original, change.connection)
        for copy in copies { try FamilySharing.end(copy, change) }
        return .success(transaction)
    }

    /// The unused part of a subscription's period in thousandths of a percent; nil if none is left, or without a
    /// subscription.
    static func unused(of transaction: StoreTransaction, at now: Instant) -> Int64? {
        guard let expires = transaction.subscription?.expires, now < expires else { return nil }
        let start = min(transaction.purchased, now)
        let (whole, wholeOverflows) = expires.milliseconds.subtractingReportingOverflow(start.milliseconds)
        let (rest, restOverflows) = expires.milliseconds.subtractingReportingOverflow(now.milliseconds)
        guard !wholeOverflows, !restOverflows, whole > 0 else { return nil }
        let product = rest.multipliedFullWidth(by: 100_000)
        return max(1, min(100_000, whole.dividingFullWidth(product).quotient))
    }

    // MARK: Steps

    /// The transaction, if it can be refunded.
    static func refundable(_ number: Int64, _ change: StoreChange) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard let transaction = try TransactionTable.find(number, change.connection) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .purchased else { return .failure(.notPurchased(id)) }
        guard transaction.sharedFrom == nil else { return .failure(.paidByFamily(id)) }
        return transaction.revocation == nil ? .success(transaction) : .failure(.alreadyRefunded(id))
    }

    /// Refunds the transaction: REFUND, then REVOKE for each family member with a copy.
    static func refund(
        _ transaction: StoreTransaction, reason: Int64, percentage: Int64, _ change: StoreChange
    ) throws -> (transaction: StoreTransaction, subscription: StoreSubscription?) {
        var transaction = transaction
        transaction.revocation = StoreTransaction.Revocation(
            date: change.now, reason: reason, type: percentage == 100_000 ? "REFUND_FULL" : "REFUND_PRORATED",
            percentage: percentage)
        transaction = try TransactionTable.update(transaction, change.connection)
        let subscription = try SubscriptionLifecycle.revoked(transaction, change)
        try change.note(.refund, about: transaction, subscription)
        try FamilySharing.revoke(transaction, change)
        try FamilySharing.fallBack(transaction.account, change)
        return (transaction, subscription)
    }
}

extension Store {
    /// - Parameter percentage: thousandths of a percent; 100000 is the full price.
    public func refund(
        _ number: Int64, reason: Int64 = 0, percentage: Int64 = 100_000
    ) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await refund(number, reason: reason, .percentage(percentage))
    }

    public func refund(
        _ number: Int64, reason: Int64 = 0, _ share: RefundShare
    ) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try Refunds.refund(number, reason: reason, share, $0) }
    }

    public func reverseRefund(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try Refunds.reverse(number, $0) }
    }

    /// Ends a family's access to a purchase.
    public func revoke(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try Refunds.revoke(number, $0) }
    }
}

/// From the customer's refund request to the App Store's decision, with the developer's answer in between.
extension Refunds {
    /// The customer requests a refund: CONSUMPTION_REQUEST, and twelve hours for the developer's answer.
    static func ask(
        _ number: Int64, _ reason: ConsumptionRequestReason, _ decision: RefundRequest.Decision, _ change: StoreChange
    ) throws -> Result<RefundRequest, StoreRefusal> {
        let transaction: StoreTransaction
        switch try refundable(number, change) {
        case .success(let found): transaction = found
        case .failure(let refusal): return .failure(refusal)
        }
        if let open = try RefundRequestTable.find(number, change.connection), open.outcome == nil {
            return .failure(.refundAsked(String(number)))
        }
        let request = RefundRequest(number: number, reason: reason, decision: decision, asked: change.now)
        try RefundRequestTable.save(request, change.connection)
        try Schedule.set(.refund, number, at: request.decided, change.connection)
        var notice = NotificationDraft(.consumptionRequest, nil, transaction, try subscription(of: transaction, change))
        notice.consumptionRequestReason = reason
        try change.note(notice)
        return .success(request)
    }

    /// Records the developer's consumption information for a refund request; the newest answer counts.
    static func takeConsumption(
        _ number: Int64, _ answer: ConsumptionResponse, _ change: StoreChange
    ) throws -> ConsumptionOutcome {
        guard var request = try RefundRequestTable.find(number, change.connection) else { return .notRequested }
        guard request.outcome == nil, change.now < request.decided else { return .tooLate }
        request.preference = answer.preference
        request.consumed = answer.consumed
        request.answer = answer.text
        try RefundRequestTable.save(request, change.connection)
        return .accepted
    }

    /// Decides the request, twelve hours after it was made (facts/server-api §5).
    static func decide(_ number: Int64, _ change: StoreChange) throws {
        guard var request = try RefundRequestTable.find(number, change.connection), request.outcome == nil else {
            return
        }
        guard case .success(let transaction) = try refundable(number, change) else {
            // Refunded in the meantime.
            request.outcome = .refunded
            return try RefundRequestTable.save(request, change.connection)
        }
        let percentage = percentage(request, of: transaction, at: change.now)
        request.outcome = percentage > 0 ? .refunded : .declined
        try RefundRequestTable.save(request, change.connection)
        let before = try subscription(of: transaction, change)
        guard percentage > 0 else { return try change.note(.refundDeclined, about: transaction, before) }
        let isTheApp = request.reason == .fulfillmentIssue || request.reason == .unsatisfiedWithPurchase
        let (refunded, after) = try refund(transaction, reason: isTheApp ? 1 : 0, percentage: percentage, change)
        // The App Store turns the renewal off after a refund request (facts/notifications §4).
        if let before, let after, before.renews, !after.renews {
            try change.note(.didChangeRenewalStatus, .autoRenewDisabled, about: refunded, after)
        }
    }

    /// The refund in thousandths of a percent; 0: the request is declined.
    private static func percentage(
        _ request: RefundRequest, of transaction: StoreTransaction, at now: Instant
    ) -> Int64 {
        let wants = request.preference ?? ConsumptionResponse.Preference.none
        if request.decision == .decline || request.decision == .developer && wants == .decline { return 0 }
        guard wants == .grantProrated else { return 100_000 }
        // For a subscription the App Store determines the unused time itself; the developer must not send a percentage.
        let part =
            transaction.subscription == nil
            ? 100_000 - min(100_000, max(0, request.consumed ?? 0)) : unused(of: transaction, at: now) ?? 0
        return part == 0 && request.decision == .refund ? 100_000 : part
    }

    private static func subscription(of transaction: StoreTransaction, _ change: StoreChange) throws
        -> StoreSubscription?
    {
        guard transaction.subscription != nil else { return nil }
        return try SubscriptionTable.find(transaction.original, change.connection)
    }
}

extension Store {
    /// The customer requests a refund.
    public func requestRefund(
        _ number: Int64, reason: ConsumptionRequestReason, decision: RefundRequest.Decision = .developer
    ) async throws -> Result<RefundRequest, StoreRefusal> {
        try await change { change in try Refunds.ask(number, reason, decision, change) }
    }

    public func refundRequest(_ number: Int64) async throws -> RefundRequest? {
        try await ask { connection in try RefundRequestTable.find(number, connection) }
    }
}

extension StoreRefusal {
    static func notRefunded(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_refunded", status: 409, "Transaction \(id) was not refunded, so there is nothing to reverse.",
            "交易 \(id) 没有退款，无可撤销。")
    }

    static func paidByFamily(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "family_shared", status: 409,
            "Transaction \(id) was paid for by another family member. Refund that member's transaction.",
            "交易 \(id) 由家庭其他成员付款，请对其交易退款。")
    }

    static func nothingUnused(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "nothing_unused", status: 409,
            "Transaction \(id) has no unused time to refund. Give a percentage.",
            "交易 \(id) 没有可退的剩余时间，请指定百分比。")
    }

    static func notShared(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "not_shared", status: 409, "Transaction \(id) is not shared with a family.", "交易 \(id) 没有与家人共享。")
    }

    static func alreadyRevoked(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "already_revoked", status: 409, "The family's access to transaction \(id) has already ended.",
            "交易 \(id) 的家庭访问已经结束。")
    }

    static func refundAsked(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "refund_asked", status: 409, "A refund request for transaction \(id) is already waiting for its decision.",
            "交易 \(id) 的退款申请正在处理中。")
    }

    static func noRefundRequest(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "no_refund_request", status: 404, "There is no refund request for transaction \(id).",
            "交易 \(id) 没有退款申请。")
    }
}
