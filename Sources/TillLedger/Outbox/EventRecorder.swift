import TillBilling
import TillJSON
import TillSQL

/// Writes events into the outbox, in the commit of the change and with all their data: later changes of a row do not
/// affect the event.
struct EventRecorder {
    private let outbox: OutboxTable
    private let transactions: TransactionTable
    private let grants: GrantTable
    private let grantOwners: GrantOwnerTable
    /// An import records what happened elsewhere, and long ago: it writes no event.
    private let isSilent: Bool
    /// Beside this server there may be one of an older release, which does not know the short form.
    private let isShort: Bool

    init(_ connection: any Connection, isSilent: Bool = false) {
        self.isSilent = isSilent
        isShort = !connection.isShared
        outbox = OutboxTable(connection)
        transactions = TransactionTable(connection)
        grants = GrantTable(connection)
        grantOwners = GrantOwnerTable(connection)
    }

    /// - Parameters:
    ///   - type: dotted; one of `EventType`.
    ///   - transaction: the row id of the transaction that the event reports on.
    ///   - subject: what the event reports on besides the transaction, or instead of it.
    ///   - happensOnce: whether a subject has at most one such event.
    ///   - body: the data besides the transaction and the grant.
    ///   - customer: the number of the user, if it is known.
    func record(
        type: String, user: UserID?, transaction: Int64? = nil, transfer: Int64? = nil, about subject: String? = nil,
        happensOnce: Bool = false, body: [String: JSONValue] = [:], at now: Instant, customer: Int64? = nil
    ) throws {
        guard !isSilent else { return }
        var data = body
        var key = [type]
        if let transaction, let stored = try transactions.find(rowID: transaction) {
            key += [stored.environment.rawValue, stored.id.text]
            data.merge(EventBody.transaction(stored)) { own, _ in own }
            if type.hasPrefix("grant."), var grant = try grants.find(transaction: transaction) {
                // A grant that moved to the signed buyer belongs to that buyer's order from then on.
                if type == EventType.grantMoved.rawValue { grant = try grantOwners.present(grant, of: transaction) }
                let members = EventBody.grant(grant, isNew: type == EventType.grantCreated.rawValue)
                data.merge(members) { own, _ in own }
            }
        }
        if let subject { key.append(subject) }
        try insert(
            type: type, user: user, key: key, happensOnce: happensOnce, transaction: transaction, transfer: transfer,
            data, at: now, customer: customer)
    }

    /// `grant.created`, from the values that the caller has just inserted. Reading them back would cost as much again.
    func record(
        _ grant: Grant, of transaction: PaidTransaction, rowID: Int64, customer: Int64, at now: Instant
    ) throws {
        guard !isSilent else { return }
        let type = EventType.grantCreated.rawValue
        try outbox.insert(
            type: type, user: grant.userID, key: "\(type):\(transaction.environment.rawValue):\(transaction.id.text)",
            happensOnce: true, transaction: rowID, transfer: nil,
            body: isShort ? GrantEventBody.short(transaction) : EventBody.created(grant, by: transaction),
            form: isShort ? .short : .whole, at: now, customer: customer)
    }

    private func insert(
        type: String, user: UserID?, key: [String], happensOnce: Bool, transaction: Int64?, transfer: Int64?,
        _ data: [String: JSONValue], at now: Instant, customer: Int64?
    ) throws {
        try outbox.insert(
            type: type, user: user, key: key.joined(separator: ":"), happensOnce: happensOnce, transaction: transaction,
            transfer: transfer, body: JSONValue.object(data).encoded(), at: now, customer: customer)
    }
}

/// The short form of `grant.created`, some 400 bytes less in each purchase. All that it leaves out is in columns of the
/// transaction, the grant and its postings that no program edits after the grant, and that seals cover. A newer copy of
/// the transaction may have another price, so the price stays.
enum GrantEventBody {
    static func short(_ paid: PaidTransaction) -> String {
        guard let price = paid.signedPrice?.money else { return "" }
        return "\(price.amount) \(price.currency.text)"
    }

    /// The event's data as JSON, with the text that `EventBody.created` makes of the same purchase. Members whose row
    /// is gone are left out, so that the events after it are not blocked; the audit names the row.
    static func whole(of event: OutboxTable.Event, _ connection: any Connection) throws -> String {
        var data: [String: JSONValue] = [:]
        if let rowID = event.transactionRowID {
            if let stored = try TransactionTable(connection).find(rowID: rowID) {
                data = EventBody.transaction(stored)
            }
            if let grant = try GrantTable(connection).find(transaction: rowID) {
                data.merge(EventBody.grant(grant, isNew: true)) { own, _ in own }
            }
        }
        data["price"] = nil
        let price = event.body.split(separator: " ")
        if price.count == 2, let amount = Int64(price[0]) {
            data["price"] = ["amount": .int(amount), "currency": .string(String(price[1]))]
        }
        return JSONValue.object(data).encoded()
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
    static func consumptionRequest(_ request: ConsumptionTable.Request) -> [String: JSONValue] { members(request) }

    /// For `consumption.answered` and `consumption.unanswered`.
    ///
    /// - Parameter answer: the answer sent to Apple, as JSON.
    static func consumptionOutcome(_ request: ConsumptionTable.Request, answer: String?, detail: String) -> [String:
        JSONValue]
    {
        var members = members(request)
        if let answer, let value = try? JSONValue(decoding: answer) { members["answer"] = value }
        if !detail.isEmpty { members["detail"] = .string(detail) }
        return members
    }

    private static func members(_ request: ConsumptionTable.Request) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "environment": .string(request.environment.rawValue),
            "transactionId": .string(request.transactionID.text),
            "requestedAt": .string(request.requestedAt.rfc3339), "answerBy": .string(request.answerBy.rfc3339),
        ]
        if let reason = request.reason { members["reason"] = .string(reason) }
        return members
    }

    /// For `subscription.updated`.
    static func subscription(
        _ subscription: Subscription, of original: TransactionID, in environment: StoreEnvironment
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

    /// `grant.created`, with the text of the tree that the other functions make of the same transaction and grant.
    static func created(_ grant: Grant, by paid: PaidTransaction) -> String {
        JSONWriter { json in
            if let entitlement = grant.entitlement { json.text("entitlement", entitlement) }
            json.text("environment", paid.environment.rawValue)
            json.text("grantId", grant.id.description)
            json.text("orderId", grant.orderID.description)
            json.text("originalTransactionId", paid.originalID.text)
            json.objects("postings", grant.postings(at: grant.at)) { posting, json in
                json.integer("amount", posting.amount)
                json.text("currency", posting.currency)
                json.text("kind", posting.kind.rawValue)
            }
            if let price = paid.signedPrice?.money {
                json.object("price") { json in
                    json.integer("amount", price.amount)
                    json.text("currency", price.currency.text)
                }
            }
            json.text("productId", paid.productID.text)
            json.text("purchasedAt", paid.purchasedAt.rfc3339)
            json.integer("quantity", Int64(paid.quantity))
            json.text("transactionId", paid.id.text)
        }.text
    }

    static func transaction(_ stored: TransactionTable.Stored) -> [String: JSONValue] {
        transaction(
            stored.id, of: stored.originalID, in: stored.environment, stored.productID, quantity: stored.quantity,
            price: stored.price, at: stored.purchasedAt)
    }

    private static func transaction(
        _ id: TransactionID, of originalID: TransactionID, in environment: StoreEnvironment, _ productID: ProductID,
        quantity: Int, price: Money?, at purchasedAt: Instant
    ) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "environment": .string(environment.rawValue), "transactionId": .string(id.text),
            "originalTransactionId": .string(originalID.text), "productId": .string(productID.text),
            "quantity": .int(Int64(quantity)), "purchasedAt": .string(purchasedAt.rfc3339),
        ]
        if let price {
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
