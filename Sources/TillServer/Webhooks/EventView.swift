import TillAPI
import TillBilling
import TillJSON
import TillLedger
import TillSQL

/// The JSON of an event, the same for push and pull: the row as it was written, plus the user's id and, for a transfer,
/// both parties. The row itself is never edited and holds no names.
struct EventView {
    private let transfers: TransferTable
    private let restores: [LedgerRestoreTable.Restore]

    init(_ connection: any Connection) throws {
        transfers = TransferTable(connection)
        restores = try LedgerRestoreTable(connection).list()
    }

    /// Purchases that `transfer.created` lists; each has an event of its own.
    private static let grantLimit = 20

    /// The `webhook-id`: the same for every attempt and every endpoint.
    static func id(of event: OutboxTable.Event) -> String {
        "evt_" + event.id.description.replacing("-", with: "")
    }

    func json(_ event: OutboxTable.Event) throws -> JSONValue {
        var data = Self.object(event.body)
        let environment = data.removeValue(forKey: "environment")
        if let user = event.user, let postings = data["postings"]?.array {
            data["postings"] = .array(postings.map { Self.posting($0, in: user) })
        }
        if let rowID = event.transferRowID, let stored = try transfers.find(rowID: rowID) {
            let isWhole = event.type == EventType.transferCreated.rawValue
            data.merge(isWhole ? try members(stored) : Self.parties(of: stored)) { own, _ in own }
        }
        var members: [String: JSONValue] = [
            "id": .string(Self.id(of: event)), "type": .string(event.type), "timestamp": .string(event.at.rfc3339),
            "epoch": .int(restores.epoch(at: event.position)), "sequence": .int(event.position), "data": .object(data),
        ]
        if let environment { members["environment"] = environment }
        let named = environment?.string.flatMap(StoreEnvironment.init(rawValue:))
        if named?.sandboxMark == true { members["sandbox"] = true }
        if let user = event.user { members["userId"] = .string(user.text) }
        if let number = event.userSequence { members["userSequence"] = .int(number) }
        return .object(members)
    }

    /// A body that can't be read is sent as its text, so that it does not block the events after it.
    private static func object(_ text: String) -> [String: JSONValue] {
        (try? JSONValue(decoding: text))?.object ?? ["text": .string(text)]
    }

    private static func posting(_ posting: JSONValue, in wallet: UserID) -> JSONValue {
        var members = posting.object ?? [:]
        members["account"] = .string("user:\(wallet)")
        return .object(members)
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
        if let id = try stored.reverses.flatMap({ try transfers.find(rowID: $0) })?.transfer.id {
            members["reverses"] = .string(id.description)
        }
        members["grantCount"] = .int(try transfers.itemCount(of: stored.rowID))
        members["grants"] = .array(
            try transfers.items(of: stored.rowID, limit: Self.grantLimit).map { item in
                [
                    "grantId": .string(item.grantID.description), "transactionId": .string(item.transactionID.text),
                    "originalTransactionId": .string(item.originalID.text),
                    "productId": .string(item.productID.text), "environment": .string(item.environment.rawValue),
                ]
            })
        members["points"] = .array(
            try transfers.points(of: stored.rowID).map { points in
                [
                    "environment": .string(points.environment.rawValue), "currency": .string(points.currency),
                    "amount": .int(points.amount),
                ]
            })
        return members
    }
}
