import TillBilling
import TillSQL

extension StoreSchema {
    /// Finished consumables leave an app's history; refunded ones are listed in it again.
    static let transactionSets: StaticString = """
        CREATE INDEX transactions_revoked_consumables ON transactions (account, bundle_id, number)
            WHERE state = 'purchased' AND kind = 'Consumable' AND finished = 1 AND revoked_at IS NOT NULL;
        """
}

/// StoreKit's sequences of transactions for an app (facts/storekit-client), from one account's paid transactions in it.
/// Waiting purchases are in none of them.
public enum TransactionSet: String, Sendable, Hashable, CaseIterable {
    /// The queue.
    case unfinished
    /// Everything except finished consumables that were not refunded.
    case all
    /// What the customer may use now.
    case currentEntitlements
    /// The newest transaction of each product in `all`.
    case latest
}

/// An app's query for transactions of an account, in pages, oldest first.
struct TransactionSetQuery: Sendable {
    var set: TransactionSet
    var account: String
    var bundleID: String
    /// Nil: every product.
    var productID: String?
    /// `SKIncludeConsumableInAppPurchaseHistory`: `all` and `latest` include finished consumables too.
    var includesConsumables = false
    /// The number of the previous page's last transaction.
    var after: Int64 = 0
    var limit = 20

    func answer(_ connection: any Connection) throws -> [StoreTransaction] {
        let numbers =
            switch set {
            case .unfinished: try numbers(Self.unfinished, connection)
            case .all: try history(connection)
            case .currentEntitlements: try entitlements(connection)
            case .latest: try latest(connection)
            }
        return try numbers.filter { $0 > after }.sorted().prefix(limit).compactMap {
            try TransactionTable.find($0, connection)
        }
    }

    // MARK: Sets

    private func history(_ connection: any Connection) throws -> [Int64] {
        if includesConsumables { return try numbers(Self.paid, connection) }
        return try numbers(Self.lasting, connection) + numbers(Self.revokedConsumables, connection)
    }

    /// A customer who has a product twice, bought and shared, has two entitlements; StoreKit's
    /// `currentEntitlements(for:)` is a sequence for that reason.
    private func entitlements(_ connection: any Connection) throws -> [Int64] {
        let values: [SQLValue] = [.text(account), .text(bundleID), .optional(productID), .optional(productID)]
        let bought = try connection.query(Self.bought, values) { $0.integer("number") }
        let subscribed = try SubscriptionTable.ofAccount(account, bundleID: bundleID, connection)
            .filter { $0.isServing && productID ?? $0.productID.text == $0.productID.text }
        return bought + subscribed.map(\.current)
    }

    private func latest(_ connection: any Connection) throws -> [Int64] {
        let values: [SQLValue] = [.text(account), .text(bundleID), .optional(productID), .optional(productID)]
        let queries = includesConsumables ? [Self.newestPaid] : [Self.newestLasting, Self.newestRevokedConsumables]
        var newest: [String: Int64] = [:]
        for sql in queries {
            for (product, number) in try connection.query(
                sql, values, { ($0.text("product_id"), $0.integer("number")) })
            {
                newest[product] = max(number, newest[product] ?? number)
            }
        }
        return Array(newest.values)
    }

    // MARK: Queries

    private func numbers(_ sql: SQL, _ connection: any Connection) throws -> [Int64] {
        try connection.query(
            sql,
            [
                .text(account), .text(bundleID), .integer(after), .optional(productID), .optional(productID),
                .integer(Int64(limit)),
            ]
        ) { $0.integer("number") }
    }

    static let unfinished: SQL = """
        SELECT number FROM transactions INDEXED BY transactions_unfinished
        WHERE account = ? AND bundle_id = ? AND number > ? AND state = 'purchased' AND finished = 0
            AND (? IS NULL OR product_id = ?)
        ORDER BY number LIMIT ?
        """

    static let lasting: SQL = """
        SELECT number FROM transactions INDEXED BY transactions_in_receipt
        WHERE account = ? AND bundle_id = ? AND number > ? AND state = 'purchased'
            AND (finished = 0 OR kind <> 'Consumable') AND (? IS NULL OR product_id = ?)
        ORDER BY number LIMIT ?
        """

    static let revokedConsumables: SQL = """
        SELECT number FROM transactions INDEXED BY transactions_revoked_consumables
        WHERE account = ? AND bundle_id = ? AND number > ? AND state = 'purchased' AND kind = 'Consumable'
            AND finished = 1 AND revoked_at IS NOT NULL AND (? IS NULL OR product_id = ?)
        ORDER BY number LIMIT ?
        """

    static let paid: SQL = """
        SELECT number FROM transactions INDEXED BY transactions_of_account
        WHERE account = ? AND bundle_id = ? AND number > ? AND state = 'purchased'
            AND (? IS NULL OR product_id = ?)
        ORDER BY number LIMIT ?
        """

    /// Lasting one-time purchases: the newest of each product, bought and shared ones separately.
    private static let bought: SQL = """
        SELECT max(number) AS number FROM transactions INDEXED BY transactions_of_product WHERE account = ? \
        AND bundle_id = ? AND state = 'purchased' AND kind <> 'Consumable' \
        AND kind IN ('Non-Consumable', 'Non-Renewing Subscription') AND revoked_at IS NULL \
        AND (? IS NULL OR product_id = ?) GROUP BY product_id, shared_from IS NOT NULL
        """

    private static let newestLasting: SQL = """
        SELECT product_id, max(number) AS number FROM transactions INDEXED BY transactions_in_receipt
        WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND (finished = 0 OR kind <> 'Consumable')
            AND (? IS NULL OR product_id = ?)
        GROUP BY product_id
        """

    private static let newestRevokedConsumables: SQL = """
        SELECT product_id, max(number) AS number FROM transactions INDEXED BY transactions_revoked_consumables
        WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND kind = 'Consumable' AND finished = 1
            AND revoked_at IS NOT NULL AND (? IS NULL OR product_id = ?)
        GROUP BY product_id
        """

    private static let newestPaid: SQL = """
        SELECT product_id, max(number) AS number FROM transactions INDEXED BY transactions_of_account
        WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND (? IS NULL OR product_id = ?)
        GROUP BY product_id
        """
}

extension Store {
    func transactions(_ query: TransactionSetQuery) async throws -> [StoreTransaction] {
        try await ask { connection in try query.answer(connection) }
    }
}
