import TillBilling
import TillSQL

/// Every subscription the store has ever seen, by its original transaction.
enum SubscriptionTable {
    /// Writes the subscription as it is now, new or not.
    static func save(_ subscription: StoreSubscription, _ session: any Connection) throws {
        try session.execute(
            """
            INSERT INTO subscriptions (original, account, bundle_id, group_id, product_id, state, shared_from, content)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (original) DO UPDATE SET
                product_id = excluded.product_id, state = excluded.state, content = excluded.content
            """,
            [
                .integer(subscription.original), .text(subscription.account), .text(subscription.bundleID),
                .text(subscription.groupID), .text(subscription.productID.text), .text(subscription.state.rawValue),
                .optional(subscription.sharedFrom), .text(try StoredDocument.text(subscription)),
            ])
    }

    static func find(_ original: Int64, _ session: any Connection) throws -> StoreSubscription? {
        try session.first("SELECT content FROM subscriptions WHERE original = ?", [.integer(original)], read)
    }

    /// What this account pays for in the group; not what a family shares with it.
    static func own(
        account: String, bundleID: String, groupID: String, _ session: any Connection
    ) throws -> StoreSubscription? {
        try session.first(
            """
            SELECT content FROM subscriptions
            WHERE account = ? AND bundle_id = ? AND group_id = ? AND shared_from IS NULL
            """, [.text(account), .text(bundleID), .text(groupID)], read)
    }

    /// All of an account's, shared ones too, in the order of their groups.
    static func ofAccount(_ account: String, bundleID: String, _ session: any Connection) throws -> [StoreSubscription]
    {
        try session.query(
            contents, [.text(account), .text(bundleID)], read)
    }

    static let contents: SQL = """
        SELECT content FROM subscriptions WHERE account = ? AND bundle_id = ? ORDER BY group_id, original
        """

    /// The same as they lie in the store: what differs there differs.
    static func documents(
        account: String, bundleID: String, _ session: any Connection
    ) throws -> [(text: String, subscription: StoreSubscription)] {
        try session.query(
            contents, [.text(account), .text(bundleID)]
        ) { ($0.text("content"), try read($0)) }
    }

    /// What members of a family have from this subscription.
    static func shares(of original: Int64, _ session: any Connection) throws -> [StoreSubscription] {
        try session.query(
            "SELECT content FROM subscriptions WHERE shared_from = ? ORDER BY original", [.integer(original)], read)
    }

    /// The paid ones of a product, beginning after the original transaction `after`.
    static func ofProduct(
        _ productID: ProductID, bundleID: String, after: Int64, limit: Int, _ session: any Connection
    ) throws -> [StoreSubscription] {
        try session.query(
            """
            SELECT content FROM subscriptions
            WHERE product_id = ? AND bundle_id = ? AND shared_from IS NULL AND original > ? ORDER BY original LIMIT ?
            """, [.text(productID.text), .text(bundleID), .integer(after), .integer(Int64(limit))], read)
    }

    /// Every subscription, for pages and checkers, beginning after the original transaction `after`.
    static func all(after: Int64, limit: Int, _ session: any Connection) throws -> [StoreSubscription] {
        try session.query(
            "SELECT content FROM subscriptions WHERE original > ? ORDER BY original LIMIT ?",
            [.integer(after), .integer(Int64(limit))], read)
    }

    /// Of one account or of all, in one app or in all, beginning after the original transaction `after`.
    static func page(
        account: String?, bundleID: String?, after: Int64, limit: Int, _ session: any Connection
    ) throws -> [StoreSubscription] {
        try session.query(
            """
            SELECT content FROM subscriptions
            WHERE original > ? AND (? IS NULL OR account = ?) AND (? IS NULL OR bundle_id = ?)
            ORDER BY original LIMIT ?
            """,
            [
                .integer(after), .optional(account), .optional(account), .optional(bundleID), .optional(bundleID),
                .integer(Int64(limit)),
            ], read)
    }

    private static func read(_ row: any Row) throws -> StoreSubscription {
        try StoredDocument.read(StoreSubscription.self, from: row.text("content"))
    }
}
