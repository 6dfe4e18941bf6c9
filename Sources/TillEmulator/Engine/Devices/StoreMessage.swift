import TillBilling
import TillSQL

/// A message from the App Store to the customer, shown when the app allows it (facts/storekit-client: `Message`).
public struct StoreMessage: Sendable, Hashable {
    /// `Message.Reason`.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        case generic
        case priceIncreaseConsent
        case billingIssue
        case winBackOffer
    }

    /// Letters, digits and hyphens. A message with a cause has an id made from it, so another cause is another message.
    public var id: String
    public var reason: Reason
    /// The subscription it is about.
    public var original: Int64?

    init(id: String, reason: Reason, original: Int64? = nil) {
        self.id = id
        self.reason = reason
        self.original = original
    }
}

extension StoreMessage {
    /// The messages about a subscription in its current state. Only the paying customer receives them.
    static func all(about subscription: StoreSubscription) -> [StoreMessage] {
        guard subscription.sharedFrom == nil else { return [] }
        let period = String(subscription.expires.milliseconds)
        func message(_ reason: Reason, _ cause: String) -> StoreMessage {
            StoreMessage(
                id: "\(reason.rawValue)-\(subscription.original)-\(cause)", reason: reason,
                original: subscription.original)
        }
        var messages: [StoreMessage] = []
        if subscription.isGoingOn, subscription.renews, let increase = subscription.priceIncrease, !increase.isAccepted
        {
            let cause = "\(increase.effective.milliseconds)-\(increase.price.amount)"
            messages.append(message(.priceIncreaseConsent, cause))
        }
        if subscription.isFailing { messages.append(message(.billingIssue, period)) }
        if subscription.state == .expired, !subscription.eligibleWinBacks.isEmpty {
            messages.append(message(.winBackOffer, period))
        }
        return messages
    }

    /// The original transaction in the id of a message with a cause.
    static func original(in id: String) -> Int64? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 3, Reason(rawValue: String(parts[0])) != nil else { return nil }
        return Int64(parts[1])
    }
}

extension Store {
    /// Creates a message without a cause in the store, so that an app can be tested with it.
    func show(
        _ reason: StoreMessage.Reason, account name: String, bundleID: String
    ) async throws -> Result<StoreMessage, StoreRefusal> {
        try await change { change in
            let account = try AccountTable.account(name, openingIn: change.configuration.storefront, change.connection)
            guard !account.isDeleted else { return .failure(.accountDeleted(name)) }
            let waiting = try MessageTable.made(account: name, bundleID: bundleID, change.connection)
            guard waiting.count < MessageTable.limit else { return .failure(.tooManyMessages(MessageTable.limit)) }
            let message = StoreMessage(id: change.uniqueID().description, reason: reason)
            try MessageTable.insert(message, account: name, bundleID: bundleID, change.connection)
            return .success(message)
        }
    }

    /// The device has shown a message, which removes it for all devices of the account. Repeated calls change nothing.
    func shown(_ id: String, on device: UniqueID) async throws -> Result<Void, StoreRefusal> {
        try await change { change in
            guard let device = try DeviceTable.find(device, change.connection) else {
                return .failure(.unknownDevice(device))
            }
            if try MessageTable.show(id, account: device.account, change.connection) { return .success(()) }
            guard let original = StoreMessage.original(in: id),
                let subscription = try SubscriptionTable.find(original, change.connection),
                subscription.account == device.account
            else { return .failure(.unknownMessage(id)) }
            // If the cause ended while the message was on the screen, there is nothing to remember.
            if StoreMessage.all(about: subscription).contains(where: { $0.id == id }) {
                try MessageTable.remember(id, account: device.account, change.connection)
            }
            return .success(())
        }
    }
}

extension StoreSchema {
    /// Messages created by `show`, and the shown ones of those with a cause.
    static let storeMessages: StaticString = """
        CREATE TABLE messages (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            account TEXT NOT NULL REFERENCES accounts (name),
            bundle_id TEXT NOT NULL,
            reason TEXT NOT NULL,
            shown INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX messages_waiting ON messages (account, bundle_id, number) WHERE shown = 0;

        CREATE TABLE shown_messages (
            account TEXT NOT NULL REFERENCES accounts (name),
            id TEXT NOT NULL,
            PRIMARY KEY (account, id)
        ) STRICT, WITHOUT ROWID;
        """
}

/// The messages that the App Store has for customers.
enum MessageTable {
    /// The most created messages that may wait.
    static let limit = 100

    /// The messages not shown yet: created ones first, then those caused by the account's subscriptions.
    static func waiting(
        account: String, bundleID: String, _ subscriptions: [StoreSubscription], _ connection: any Connection
    ) throws -> [StoreMessage] {
        try made(account: account, bundleID: bundleID, connection)
            + subscriptions.flatMap(StoreMessage.all).filter { message in
                try connection.first(wasShown, [.text(account), .text(message.id)]) { _ in true } == nil
            }
    }

    static func made(account: String, bundleID: String, _ connection: any Connection) throws -> [StoreMessage] {
        try connection.query(made, [.text(account), .text(bundleID), .integer(Int64(limit))]) { row in
            StoreMessage.Reason(rawValue: row.text("reason")).map { StoreMessage(id: row.text("id"), reason: $0) }
        }.compactMap { $0 }
    }

    static let made: SQL = """
        SELECT id, reason FROM messages WHERE account = ? AND bundle_id = ? AND shown = 0 ORDER BY number LIMIT ?
        """

    static let wasShown: SQL = "SELECT 1 FROM shown_messages WHERE account = ? AND id = ?"

    static func insert(
        _ message: StoreMessage, account: String, bundleID: String, _ connection: any Connection
    ) throws {
        try connection.execute(
            "INSERT INTO messages (id, account, bundle_id, reason) VALUES (?, ?, ?, ?)",
            [.text(message.id), .text(account), .text(bundleID), .text(message.reason.rawValue)])
    }

    /// - Returns: whether the message was created for this account, shown before or not.
    static func show(_ id: String, account: String, _ connection: any Connection) throws -> Bool {
        try connection.execute(
            "UPDATE messages SET shown = 1 WHERE id = ? AND account = ?", [.text(id), .text(account)])
            > 0
    }

    static func remember(_ id: String, account: String, _ connection: any Connection) throws {
        try connection.execute(
            "INSERT INTO shown_messages (account, id) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(account), .text(id)])
    }
}
