import TillBilling
import TillCrypto
import TillSQL

extension StoreSchema {
    /// Few are waiting among very many that were paid, which have an index of their own.
    static let deviceNews: StaticString = """
        CREATE INDEX transactions_unpaid_changed ON transactions (account, bundle_id, modification)
            WHERE state <> 'purchased';
        """
}

/// What a phone hears while an app runs on it (facts/storekit-client A8, B2 `updates`): what became of its account's
/// transactions in that app, wherever it happened, and all that StoreKit tells an app of by itself.
///
/// It is asked every second by every app that runs. What it costs depends on what is new, not on what there is.
struct DeviceNews: Sendable {
    /// More changes than this come with the next question.
    static let limit = 100

    var device: StoreDevice
    var account: StoreAccount
    /// What has changed up to here is known to who has read this: the `after` of the next question.
    var position: Int64
    var changed: [StoreTransaction]
    var hasMore: Bool
    var intents: [PurchaseIntent]
    var messages: [StoreMessage]
    /// Another text whenever anything about the account's subscriptions in the app is different.
    var subscriptionVersion: String

    /// - Parameter after: the position of the last news; nil at launch, which begins at the newest. So does one that
    ///   this store never gave: the phone comes from another.
    static func read(
        device id: UniqueID, bundleID: String, after: Int64?, _ session: any Connection
    ) throws -> Result<DeviceNews, StoreRefusal> {
        guard let device = try DeviceTable.find(id, session) else { return .failure(.unknownDevice(id)) }
        guard let account = try AccountTable.find(device.account, session) else {
            return .failure(.unknownAccount(device.account))
        }
        // The counter holds the next one. This reads one state of the store, so nothing up to here can still come.
        var position = try Counter.modification.value(session) - 1
        var changed: [StoreTransaction] = []
        var hasMore = false
        if let after, after < position {
            changed = try Self.changed(
                account: account.name, bundleID: bundleID, after: after, limit: limit + 1, session)
            hasMore = changed.count > limit
            changed = Array(changed.prefix(limit))
            if hasMore, let last = changed.last { position = last.modification }
        }
        let subscriptions = try SubscriptionTable.documents(account: account.name, bundleID: bundleID, session)
        return .success(
            DeviceNews(
                device: device, account: account, position: position, changed: changed, hasMore: hasMore,
                intents: try PurchaseIntentTable.waiting(
                    account: account.name, bundleID: bundleID, device: id, session),
                messages: try MessageTable.waiting(
                    account: account.name, bundleID: bundleID, subscriptions.map(\.subscription), session),
                subscriptionVersion: version(subscriptions.map(\.text))))
    }

    /// The account's transactions in an app whose last change came after a position, paid or not, in the order of
    /// change.
    static func changed(
        account: String, bundleID: String, after: Int64, limit: Int, _ session: any Connection
    ) throws -> [StoreTransaction] {
        let values: [SQLValue] = [.text(account), .text(bundleID), .integer(after), .integer(Int64(limit))]
        let places =
            try [paid, unpaid].flatMap { sql in
                try session.query(sql, values) {
                    (number: $0.integer("number"), modification: $0.integer("modification"))
                }
            }
            .sorted { $0.modification < $1.modification }
        return try places.prefix(limit).compactMap { try TransactionTable.find($0.number, session) }
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
    func news(
        of device: UniqueID, bundleID: String, after: Int64?
    ) async throws -> Result<DeviceNews, StoreRefusal> {
        try await ask { session in try DeviceNews.read(device: device, bundleID: bundleID, after: after, session) }
    }
}
