import TillBilling
import TillJSON

/// What events say that no other table keeps as it was then: JSON for the outbox, written in their commit.
package enum EventBody {
    /// Points that moved by it, of `grant.revoked` and `grant.reinstated`, and the order of that moment.
    static func moved(_ postings: [Posting], under order: OrderID) -> String {
        JSONValue.object([
            "orderId": .string(order.description), "postings": .array(postings.map(posting)),
        ]).encoded()
    }

    /// Of `grant.withdrawn`.
    static func withdrawn(_ reason: String, _ postings: [Posting], under order: OrderID) -> String {
        JSONValue.object([
            "orderId": .string(order.description), "postings": .array(postings.map(posting)),
            "reason": .string(reason),
        ]).encoded()
    }

    /// Of `grant.contested`. The token is what the app's backend may know.
    static func contested(_ reason: String, token: AppAccountToken?, under order: OrderID) -> String {
        var members: [String: JSONValue] = [
            "orderId": .string(order.description), "reason": .string(reason),
        ]
        if case .order(let id)? = token { members["appAccountToken"] = .string(id.description) }
        return JSONValue.object(members).encoded()
    }

    static func quarantined(_ reason: QuarantineReason) -> String {
        JSONValue.object(["reason": .string(reason.rawValue)]).encoded()
    }

    /// Of `consumption.requested`. The purchase may be nobody's yet, or unknown.
    static func asked(_ question: ConsumptionTable.Question) -> String {
        JSONValue.object(members(question)).encoded()
    }

    /// Of `consumption.answered` and `consumption.unanswered`.
    ///
    /// - Parameter answer: what Apple was told, as JSON.
    static func told(_ question: ConsumptionTable.Question, answer: String?, detail: String) -> String {
        var members = members(question)
        if let answer, let value = try? JSONValue(decoding: answer) { members["answer"] = value }
        if !detail.isEmpty { members["detail"] = .string(detail) }
        return JSONValue.object(members).encoded()
    }

    private static func members(_ question: ConsumptionTable.Question) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "environment": .string(question.environment.rawValue),
            "transactionId": .string(question.transactionID.text),
            "requestedAt": .string(question.requestedAt.rfc3339), "answerBy": .string(question.answerBy.rfc3339),
        ]
        if let reason = question.reason { members["reason"] = .string(reason) }
        return members
    }

    package static func posting(_ posting: Posting) -> JSONValue {
        [
            "account": .string(posting.account), "currency": .string(posting.currency), "amount": .int(posting.amount),
            "kind": .string(posting.kind.rawValue),
        ]
    }
}
