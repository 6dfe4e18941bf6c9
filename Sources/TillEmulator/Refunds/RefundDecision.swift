import TillAppStore
import TillBilling
import TillSQL

/// From the customer's request to the App Store's decision, with the developer's answer between them.
extension RefundDesk {
    /// The customer asks Apple for the money: CONSUMPTION_REQUEST, and twelve hours for the developer to answer.
    static func ask(
        _ number: Int64, _ reason: ConsumptionRequestReason, _ decision: RefundRequest.Decision, _ turn: Turn
    ) throws -> Result<RefundRequest, StoreRefusal> {
        let transaction: StoreTransaction
        switch try refundable(number, turn) {
        case .success(let found): transaction = found
        case .failure(let refusal): return .failure(refusal)
        }
        if let open = try RefundRequestTable.find(number, turn.session), open.outcome == nil {
            return .failure(.refundAsked(String(number)))
        }
        let request = RefundRequest(number: number, reason: reason, decision: decision, asked: turn.now)
        try RefundRequestTable.save(request, turn.session)
        try Agenda.set(.refund, number, at: request.decided, turn.session)
        var notice = Notice(.consumptionRequest, nil, transaction, try subscription(of: transaction, turn))
        notice.consumptionRequestReason = reason
        try turn.note(notice)
        return .success(request)
    }

    /// What the developer says about a purchase whose refund the customer asked for; the newest answer counts.
    static func takeConsumption(
        _ number: Int64, _ answer: ConsumptionAnswer, _ turn: Turn
    ) throws -> ConsumptionOutcome {
        guard var request = try RefundRequestTable.find(number, turn.session) else { return .notRequested }
        guard request.outcome == nil, turn.now < request.decided else { return .tooLate }
        request.preference = answer.preference
        request.consumed = answer.consumed
        request.answer = answer.text
        try RefundRequestTable.save(request, turn.session)
        return .taken
    }

    /// Twelve hours have passed since the customer asked (facts/server-api §5).
    static func decide(_ number: Int64, _ turn: Turn) throws {
        guard var request = try RefundRequestTable.find(number, turn.session), request.outcome == nil else { return }
        guard case .success(let transaction) = try refundable(number, turn) else {
            // Refunded meanwhile.
            request.outcome = .refunded
            return try RefundRequestTable.save(request, turn.session)
        }
        let percentage = percentage(request, of: transaction, at: turn.now)
        request.outcome = percentage > 0 ? .refunded : .declined
        try RefundRequestTable.save(request, turn.session)
        let before = try subscription(of: transaction, turn)
        guard percentage > 0 else { return try turn.note(.refundDeclined, about: transaction, before) }
        let isTheApp = request.reason == .fulfillmentIssue || request.reason == .unsatisfiedWithPurchase
        let (refunded, after) = try refund(transaction, reason: isTheApp ? 1 : 0, percentage: percentage, turn)
        // The App Store switches the renewal off after a request (facts/notifications §4).
        if let before, let after, before.renews, !after.renews {
            try turn.note(.didChangeRenewalStatus, .autoRenewDisabled, about: refunded, after)
        }
    }

    /// Thousandths of a percent that go back; 0: the request is declined.
    private static func percentage(
        _ request: RefundRequest, of transaction: StoreTransaction, at now: Instant
    ) -> Int64 {
        let wants = request.preference ?? ConsumptionAnswer.Preference.none
        if request.decision == .decline || request.decision == .developer && wants == .decline { return 0 }
        guard wants == .grantProrated else { return 100_000 }
        // Of a subscription the App Store counts the time itself: the developer must not name a percentage.
        let part =
            transaction.subscription == nil
            ? 100_000 - min(100_000, max(0, request.consumed ?? 0)) : unused(of: transaction, at: now) ?? 0
        return part == 0 && request.decision == .refund ? 100_000 : part
    }

    private static func subscription(of transaction: StoreTransaction, _ turn: Turn) throws -> StoreSubscription? {
        guard transaction.subscription != nil else { return nil }
        return try SubscriptionTable.find(transaction.original, turn.session)
    }
}

extension Store {
    /// The customer asks for a refund.
    public func askForRefund(
        _ number: Int64, reason: ConsumptionRequestReason, decision: RefundRequest.Decision = .developer
    ) async throws -> Result<RefundRequest, StoreRefusal> {
        try await change { turn in try RefundDesk.ask(number, reason, decision, turn) }
    }

    public func refundRequest(_ number: Int64) async throws -> RefundRequest? {
        try await ask { session in try RefundRequestTable.find(number, session) }
    }
}
