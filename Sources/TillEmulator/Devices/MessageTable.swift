import TillBilling
import TillSQL

extension StoreSchema {
    /// Messages that somebody made, and which of those with a cause were shown.
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

/// What the App Store wants to show.
enum MessageTable {
    /// So many may wait that were made.
    static let limit = 100

    /// What was not shown yet: what was made, then what the account's subscriptions give cause for.
    static func waiting(
        account: String, bundleID: String, _ subscriptions: [StoreSubscription], _ session: any Connection
    ) throws -> [StoreMessage] {
        try made(account: account, bundleID: bundleID, session)
            + subscriptions.flatMap(StoreMessage.all).filter { message in
                try session.first(wasShown, [.text(account), .text(message.id)]) { _ in true } == nil
            }
    }

    static func made(account: String, bundleID: String, _ session: any Connection) throws -> [StoreMessage] {
        try session.query(made, [.text(account), .text(bundleID), .integer(Int64(limit))]) { row in
            StoreMessage.Reason(rawValue: row.text("reason")).map { StoreMessage(id: row.text("id"), reason: $0) }
        }.compactMap { $0 }
    }

    static let made: SQL = """
        SELECT id, reason FROM messages WHERE account = ? AND bundle_id = ? AND shown = 0 ORDER BY number LIMIT ?
        """

    static let wasShown: SQL = "SELECT 1 FROM shown_messages WHERE account = ? AND id = ?"

    static func insert(
        _ message: StoreMessage, account: String, bundleID: String, _ session: any Connection
    ) throws {
        try session.execute(
            "INSERT INTO messages (id, account, bundle_id, reason) VALUES (?, ?, ?, ?)",
            [.text(message.id), .text(account), .text(bundleID), .text(message.reason.rawValue)])
    }

    /// - Returns: whether it was one that somebody made for this account, shown before or not.
    static func show(_ id: String, account: String, _ session: any Connection) throws -> Bool {
        try session.execute("UPDATE messages SET shown = 1 WHERE id = ? AND account = ?", [.text(id), .text(account)])
            > 0
    }

    static func remember(_ id: String, account: String, _ session: any Connection) throws {
        try session.execute(
            "INSERT INTO shown_messages (account, id) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(account), .text(id)])
    }
}
