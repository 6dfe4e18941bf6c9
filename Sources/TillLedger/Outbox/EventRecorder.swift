import TillBilling
import TillJSON
import TillSQL

/// Writes events into the outbox, in the commit of what they tell of and with all that they say: a later change of a
/// row does not change what was told.
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
    ///   - transaction: the row of the transaction that it is about.
    ///   - subject: what it is about beside that, or instead.
    ///   - happensOnce: whether there is one such event of a subject at most.
    ///   - body: what it says beside the transaction and the grant.
    func record(
        type: String, user: UserID?, transaction: Int64? = nil, transfer: Int64? = nil, about subject: String? = nil,
        happensOnce: Bool = false, body: [String: JSONValue] = [:], at now: Instant
    ) throws {
        var data = body
        var key = [type]
        if let transaction, let stored = try transactions.find(sequence: transaction) {
            key += [stored.environment.rawValue, stored.id.text]
            data.merge(EventBody.transaction(stored)) { own, _ in own }
            if type.hasPrefix("grant."), var grant = try grants.find(transaction: transaction) {
                // What moved to the buyer whom Apple named is paid under that buyer's order from then on.
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
