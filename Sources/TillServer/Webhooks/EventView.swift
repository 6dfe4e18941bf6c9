import TillAPI
import TillBilling
import TillJSON
import TillLedger
import TillSQL

/// Events as they are told, the same by push and by pull. What they are about is read when they are told: none of it
/// ever changes, except that a newer copy of a transaction may bring its price.
struct EventView {
    private let transactions: TransactionTable
    private let grants: GrantTable
    private let holders: HolderTable
    private let transfers: TransferTable

    init(_ session: any Connection) {
        transactions = TransactionTable(session)
        grants = GrantTable(session)
        holders = HolderTable(session)
        transfers = TransferTable(session)
    }

    /// Purchases that `transfer.created` names; each has an event of its own.
    private static let grantLimit = 20

    /// The `webhook-id`: the same however often it is sent, and for whoever. The moment is in it, so that a ledger that
    /// was put back to a backup does not give out an id for something else again.
    static func id(of event: OutboxTable.Event) -> String {
        "evt_\(event.sequence)_\(String(event.at.milliseconds, radix: 36))"
    }

    func json(_ event: OutboxTable.Event) throws -> JSONValue {
        var data = event.body.map(Self.object) ?? [:]
        var environment = data["environment"]
        if let sequence = event.transactionSequence, let stored = try transactions.find(sequence: sequence) {
            environment = .string(stored.environment.rawValue)
            data.merge(Self.members(stored)) { own, _ in own }
            if event.type.hasPrefix("grant."), var grant = try grants.find(transaction: sequence) {
                // What moved to the buyer whom Apple named is paid under that buyer's order from then on.
                if event.type == EventType.grantMoved.rawValue { grant = try holders.present(grant, of: sequence) }
                data.merge(Self.members(grant, type: event.type)) { own, _ in own }
            }
        }
        if let sequence = event.transferSequence, let stored = try transfers.find(sequence: sequence) {
            let isWhole = event.type == EventType.transferCreated.rawValue
            data.merge(isWhole ? try members(stored) : Self.parties(of: stored)) { own, _ in own }
        }
        data["environment"] = nil
        var members: [String: JSONValue] = [
            "id": .string(Self.id(of: event)), "type": .string(event.type), "timestamp": .string(event.at.rfc3339),
            "sequence": .int(event.sequence), "data": .object(data),
        ]
        if let environment { members["environment"] = environment }
        if environment?.string == Environment.sandbox.rawValue { members["sandbox"] = true }
        if let user = event.user { members["userId"] = .string(user.text) }
        if let number = event.userSequence { members["userSequence"] = .int(number) }
        return .object(members)
    }

    /// What can't be read must not hold up everything behind it: it is told as the text it is.
    private static func object(_ text: String) -> [String: JSONValue] {
        (try? JSONValue(decoding: text))?.object ?? ["text": .string(text)]
    }

    private static func members(_ stored: TransactionTable.Stored) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "transactionId": .string(stored.id.text), "originalTransactionId": .string(stored.originalID.text),
            "productId": .string(stored.productID.text), "quantity": .int(Int64(stored.quantity)),
            "purchasedAt": .string(stored.purchasedAt.rfc3339),
        ]
        if let price = stored.price {
            members["price"] = ["amount": .int(price.amount), "currency": .string(price.currency.text)]
        }
        return members
    }

    /// - Parameter type: what the grant's own points are told with: they came when it was made.
    private static func members(_ grant: Grant, type: String) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "grantId": .string(grant.id.description), "orderId": .string(grant.orderID.description),
        ]
        if let entitlement = grant.entitlement { members["entitlement"] = .string(entitlement) }
        if type == EventType.grantCreated.rawValue {
            members["postings"] = .array(grant.postings(at: grant.at).map(EventBody.posting))
        }
        return members
    }

    private static func parties(of stored: TransferTable.Stored) -> [String: JSONValue] {
        [
            "transferId": .string(stored.transfer.id.description), "from": .string(stored.transfer.from.text),
            "to": .string(stored.transfer.to.text), "kind": .string(stored.transfer.kind.rawValue),
        ]
    }

    private func members(_ stored: TransferTable.Stored) throws -> [String: JSONValue] {
        var members = Self.parties(of: stored)
        members["reason"] = .string(stored.transfer.reason)
        members["actor"] = .string(stored.transfer.actor)
        if let name = stored.transfer.operatorName { members["operator"] = .string(name) }
        if let id = try stored.reverses.flatMap({ try transfers.find(sequence: $0) })?.transfer.id {
            members["reverses"] = .string(id.description)
        }
        members["grantCount"] = .int(try transfers.itemCount(of: stored.sequence))
        members["grants"] = .array(
            try transfers.items(of: stored.sequence, limit: Self.grantLimit).map { item in
                [
                    "grantId": .string(item.grantID.description), "transactionId": .string(item.transactionID.text),
                    "originalTransactionId": .string(item.originalID.text),
                    "productId": .string(item.productID.text), "environment": .string(item.environment.rawValue),
                ]
            })
        members["points"] = .array(
            try transfers.points(of: stored.sequence).map { points in
                [
                    "environment": .string(points.environment.rawValue), "currency": .string(points.currency),
                    "amount": .int(points.amount),
                ]
            })
        return members
    }
}
