import TillBilling
import TillJSON
import TillSQL

/// Writes events into the outbox, in the commit of the change and with all their data: later changes of a row do not
/// affect the event.
struct EventRecorder {
    private let outbox: OutboxTable
    private let transactions: TransactionTable
    private let grants: GrantTable
    private let holders: HolderTable

    init(_ connection: any Connection) {
        outbox = OutboxTable(connection)
        transactions = TransactionTable(connection)
        grants = GrantTable(connection)
        holders = HolderTable(connection)
    }

    /// - Parameters:
    ///   - type: dotted; one of `EventType`.
    ///   - transaction: the row id of the transaction that the event reports on.
    ///   - subject: what the event reports on besides the transaction, or instead of it.
    ///   - happensOnce: whether a subject has at most one such event.
    ///   - grant: the transaction's grant, if the caller has just inserted it. Read from its table otherwise.
    ///   - body: the data besides the transaction and the grant.
    func record(
        type: String, user: UserID?, transaction: Int64? = nil, transfer: Int64? = nil, about subject: String? = nil,
        happensOnce: Bool = false, grant inserted: Grant? = nil, body: [String: JSONValue] = [:], at now: Instant
    ) throws {
        var data = body
        var key = [type]
        if let transaction, let stored = try transactions.find(sequence: transaction) {
            key += [stored.environment.rawValue, stored.id.text]
            data.merge(EventBody.transaction(stored)) { own, _ in own }
            if type.hasPrefix("grant."), var grant = try inserted ?? grants.find(transaction: transaction) {
                // A grant that moved to the signed buyer belongs to that buyer's order from then on.
                if type == EventType.grantMoved.rawValue { grant = try holders.present(grant, of: transaction) }
                let members = EventBody.grant(grant, isNew: type == EventType.grantCreated.rawValue)
                data.merge(members) { own, _ in own }
            }
        }
        if let subject { key.append(subject) }
        try outbox.insert(
            type: type, user: user, key: key.joined(separator: ":"), happensOnce: happensOnce, transaction: transaction,
            transfer: transfer, body: JSONValue.object(data).encoded(), at: now)
    }
}

/// The data of events. `EventRecorder` adds the transaction and its grant.
package enum EventBody {
    /// For `grant.revoked` and `grant.reinstated`: the points that moved, and the order at that moment.
    static func moved(_ postings: [Posting], under order: OrderID) -> [String: JSONValue] {
        [
            "orderId": .string(order.description), "postings": .array(postings.map(posting)),
        ]
    }

    /// For `grant.withdrawn`.
    static func withdrawn(_ reason: String, _ postings: [Posting], under order: OrderID) -> [String: JSONValue] {
        [
            "orderId": .string(order.description), "postings": .array(postings.map(posting)),
            "reason": .string(reason),
        ]
    }

    /// For `grant.contested`. The token is included because the app's backend may know it.
    static func contested(_ reason: String, token: AppAccountToken?, under order: OrderID) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "orderId": .string(order.description), "reason": .string(reason),
        ]
        if case .order(let id)? = token { members["appAccountToken"] = .string(id.description) }
        return members
    }

    static func quarantined(_ reason: QuarantineReason) -> [String: JSONValue] {
        ["reason": .string(reason.rawValue)]
    }

    /// For `consumption.requested`. The purchase may have no owner yet, or be unknown.
    static func asked(_ question: ConsumptionTable.Question) -> [String: JSONValue] { members(question) }

    /// For `consumption.answered` and `consumption.unanswered`.
    ///
    /// - Parameter answer: the answer sent to Apple, as JSON.
    static func told(_ question: ConsumptionTable.Question, answer: String?, detail: String) -> [String: JSONValue] {
        var members = members(question)
        if let answer, let value = try? JSONValue(decoding: answer) { members["answer"] = value }
        if !detail.isEmpty { members["detail"] = .string(detail) }
        return members
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

    /// For `subscription.updated`.
    static func subscription(
        _ subscription: Subscription, of original: TransactionID, in environment: Environment
    ) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "originalTransactionId": .string(original.text), "environment": .string(environment.rawValue),
            "productId": .string(subscription.current.productID.text),
            "state": .string(subscription.state.rawValue), "until": .string(subscription.until.rfc3339),
        ]
        if let willRenew = subscription.willRenew { members["willRenew"] = .bool(willRenew) }
        return members
    }

    /// For `service.expiring` and `service.expired`.
    static func reminder(_ stored: ReminderTable.Stored) -> [String: JSONValue] {
        let end = stored.reminder.end
        return [
            "entitlement": .string(end.entitlement), "environment": .string(stored.environment.rawValue),
            "expiresAt": .string(end.expiresAt.rfc3339), "productId": .string(end.productID.text),
            "reminder": .string(stored.reminder.kind.name), "subject": .string(end.subject),
        ]
    }

    static func transaction(_ stored: TransactionTable.Stored) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "environment": .string(stored.environment.rawValue), "transactionId": .string(stored.id.text),
            "originalTransactionId": .string(stored.originalID.text),
            "productId": .string(stored.productID.text), "quantity": .int(Int64(stored.quantity)),
            "purchasedAt": .string(stored.purchasedAt.rfc3339),
        ]
        if let price = stored.price {
            members["price"] = ["amount": .int(price.amount), "currency": .string(price.currency.text)]
        }
        return members
    }

    /// - Parameter isNew: whether to include the grant's own points, which were posted when it was made.
    static func grant(_ grant: Grant, isNew: Bool) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "grantId": .string(grant.id.description), "orderId": .string(grant.orderID.description),
        ]
        if let entitlement = grant.entitlement { members["entitlement"] = .string(entitlement) }
        if isNew { members["postings"] = .array(grant.postings(at: grant.at).map(posting)) }
        return members
    }

    /// Without the account, which is the wallet of the event's user.
    private static func posting(_ posting: Posting) -> JSONValue {
        [
            "currency": .string(posting.currency), "amount": .int(posting.amount),
            "kind": .string(posting.kind.rawValue),
        ]
    }
}
