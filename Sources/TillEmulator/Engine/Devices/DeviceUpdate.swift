import TillBilling
import TillCrypto
import TillSQL

extension StoreSchema {
    /// Unpaid transactions are few among many paid ones, which have an index of their own.
    static let deviceUpdates: StaticString = """
        CREATE INDEX transactions_unpaid_changed ON transactions (account, bundle_id, modification)
            WHERE state <> 'purchased';
        """
}

/// The changes that a device reads while an app runs on it (facts/storekit-client: `updates`): its account's
/// transactions in that app, wherever they changed, and StoreKit's other updates for an app.
///
/// Every running app reads it every second. The cost depends on the number of changes, not on the number of
/// transactions.
struct DeviceUpdate: Sendable {
    /// The most changes in one answer; further ones come with the next request.
    static let limit = 100

    var device: StoreDevice
    var account: StoreAccount
    /// The answer covers all changes up to this position: the `after` of the next request.
    var position: Int64
    var changed: [StoreTransaction]
    var hasMore: Bool
    var intents: [PurchaseIntent]
    var messages: [StoreMessage]
    /// A text that differs whenever anything about the account's subscriptions in the app has changed.
    var subscriptionVersion: String

    /// - Parameter after: the position of the previous answer. Nil, as at launch, starts at the newest change. So does
    ///   a position that this store has not reached: the device comes from another store.
    static func read(
        device id: UniqueID, bundleID: String, after: Int64?, _ connection: any Connection
    ) throws -> Result<DeviceUpdate, StoreRefusal> {
        guard let device = try DeviceTable.find(id, connection) else { return .failure(.unknownDevice(id)) }
        guard let account = try AccountTable.find(device.account, connection) else {
            return .failure(.unknownAccount(device.account))
        }
        // The counter holds the next number. One snapshot is read here, so no change up to this position can still
        // appear.
        var position = try Counter.modification.value(connection) - 1
        var changed: [StoreTransaction] = []
        var hasMore = false
        if let after, after < position {
            changed = try Self.changed(
                account: account.name, bundleID: bundleID, after: after, limit: limit + 1, connection)
            hasMore = changed.count > limit
            changed = Array(changed.prefix(limit))
            if hasMore, let last = changed.last { position = last.modification }
        }
        let subscriptions = try SubscriptionTable.documents(account: account.name, bundleID: bundleID, connection)
        return .success(
            DeviceUpdate(
                device: device, account: account, position: position, changed: changed, hasMore: hasMore,
                intents: try PurchaseIntentTable.waiting(
                    account: account.name, bundleID: bundleID, device: id, connection),
                messages: try MessageTable.waiting(
                    account: account.name, bundleID: bundleID, subscriptions.map(\.subscription), connection),
                subscriptionVersion: version(subscriptions.map(\.text))))
    }

    /// The account's transactions in an app that changed after a position, paid or not, in the order of change.
    static func changed(
        account: String, bundleID: String, after: Int64, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        let values: [SQLValue] = [.text(account), .text(bundleID), .integer(after), .integer(Int64(limit))]
        let places =
            try [paid, unpaid].flatMap { sql in
                try connection.query(sql, values) {
                    (number: $0.integer("number"), modification: $0.integer("modification"))
                }
            }
            .sorted { $0.modification < $1.modification }
        return try places.prefix(limit).compactMap { try TransactionTable.find($0.number, connection) }
    }

    static let paid: SQL = """
        SELECT number, modification FROM transactions
        WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND modification > ?
        ORDER BY modification LIMIT ?
        """

    static let unpaid: SQL = """
        SELECT number, modification FROM transactions
        WHERE account = ? AND bundle_id = ? AND state <> 'purchased' AND modification > ?
        ORDER BY modification LIMIT ?
        """

    private static func version(_ documents: [String]) -> String {
        let hash = Digest.sha256.hash(Array(documents.joined(separator: "\n").utf8))
        return Base64.encode(hash.prefix(12), .url)
    }
}

extension Store {
    func update(
        of device: UniqueID, bundleID: String, after: Int64?
    ) async throws -> Result<DeviceUpdate, StoreRefusal> {
        try await ask { connection in
            try DeviceUpdate.read(device: device, bundleID: bundleID, after: after, connection)
        }
    }
}
