import TillBilling
import TillStorage

/// Every transaction the store has ever seen.
enum TransactionTable {
    static func insert(_ transaction: StoreTransaction, _ session: any Session) throws {
        try session.execute(
            """
            INSERT INTO transactions (
                number, original, state, finished, environment, account, bundle_id, product_id, kind, quantity,
                price, currency, storefront, app_account_token, app_transaction, reason, purchased_at,
                first_purchased_at, expires_at, group_id, line_item
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(transaction.number), .integer(transaction.original), .text(transaction.state.rawValue),
                .integer(transaction.isFinished ? 1 : 0), .text(transaction.environment.rawValue),
                .text(transaction.account), .text(transaction.bundleID), .text(transaction.productID.text),
                .text(transaction.kind.rawValue), .integer(transaction.quantity), .integer(transaction.price.amount),
                .text(transaction.price.currency.text), .text(transaction.storefront),
                .optional(transaction.appAccountToken?.description), .integer(transaction.appTransaction),
                .text(transaction.reason), .integer(transaction.purchased.milliseconds),
                .integer(transaction.firstPurchased.milliseconds),
                .optional(transaction.subscription?.expires.milliseconds),
                .optional(transaction.subscription?.groupID), .optional(transaction.subscription?.lineItem),
            ])
    }

    /// Stores what may change in a transaction's life: its state, its dates and its refund.
    static func update(_ transaction: StoreTransaction, _ session: any Session) throws {
        try session.execute(
            """
            UPDATE transactions SET state = ?, finished = ?, purchased_at = ?, first_purchased_at = ?, expires_at = ?,
                revoked_at = ?, revocation_reason = ?, revocation_type = ?, revocation_percentage = ?
            WHERE number = ?
            """,
            [
                .text(transaction.state.rawValue), .integer(transaction.isFinished ? 1 : 0),
                .integer(transaction.purchased.milliseconds), .integer(transaction.firstPurchased.milliseconds),
                .optional(transaction.subscription?.expires.milliseconds),
                .optional(transaction.revocation?.date.milliseconds), .optional(transaction.revocation?.reason),
                .optional(transaction.revocation?.type), .optional(transaction.revocation?.percentage),
                .integer(transaction.number),
            ])
    }

    static func find(_ number: Int64, _ session: any Session) throws -> StoreTransaction? {
        try session.query(
            """
            SELECT * FROM transactions WHERE number = ?
            """, [.integer(number)], read
        ).first ?? nil
    }

    /// Oldest first, beginning after the transaction `after`; of one app, or of all.
    static func ofAccount(
        _ account: String, bundleID: String?, after: Int64, limit: Int, _ session: any Session
    ) throws -> [StoreTransaction] {
        try session.query(
            """
            SELECT * FROM transactions
            WHERE account = ? AND number > ? AND (? IS NULL OR bundle_id = ?) ORDER BY number LIMIT ?
            """,
            [
                .text(account), .integer(after), .optional(bundleID), .optional(bundleID), .integer(Int64(limit)),
            ], read
        ).compactMap { $0 }
    }

    /// StoreKit's queue: paid and not finished. It belongs to the account and outlives the app (SCENARIOS O7).
    static func unfinished(
        account: String, bundleID: String?, after: Int64, limit: Int, _ session: any Session
    ) throws -> [StoreTransaction] {
        try session.query(
            """
            SELECT * FROM transactions
            WHERE account = ? AND number > ? AND finished = 0 AND state = 'purchased'
                AND (? IS NULL OR bundle_id = ?)
            ORDER BY number LIMIT ?
            """,
            [
                .text(account), .integer(after), .optional(bundleID), .optional(bundleID), .integer(Int64(limit)),
            ], read
        ).compactMap { $0 }
    }

    /// What an app receipt lists: a consumable only until it is finished, the other kinds for ever
    /// (facts/business-rules §1). The newest `limit` of them, oldest first.
    static func inReceipt(
        account: String, bundleID: String, limit: Int, _ session: any Session
    ) throws -> [StoreTransaction] {
        try session.query(
            """
            SELECT * FROM transactions
            WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND (finished = 0 OR kind <> 'Consumable')
            ORDER BY number DESC LIMIT ?
            """, [.text(account), .text(bundleID), .integer(Int64(limit))], read
        ).compactMap { $0 }.reversed()
    }

    /// The account's newest purchase of a product that is not a consumable.
    static func newest(
        account: String, bundleID: String, productID: ProductID, _ session: any Session
    ) throws -> StoreTransaction? {
        try session.query(
            """
            SELECT * FROM transactions
            WHERE account = ? AND bundle_id = ? AND product_id = ? AND state = 'purchased' AND kind <> 'Consumable'
            ORDER BY number DESC LIMIT 1
            """, [.text(account), .text(bundleID), .text(productID.text)], read
        ).first ?? nil
    }

    /// How many there are, how many wait in queues, how many were refunded.
    static func counts(_ session: any Session) throws -> (all: Int64, unfinished: Int64, refunded: Int64) {
        let counts = try session.first(
            """
            SELECT count(*), count(*) FILTER (WHERE finished = 0 AND state = 'purchased'), count(revoked_at)
            FROM transactions
            """, []
        ) { ($0.integer(0), $0.integer(1), $0.integer(2)) }
        return counts ?? (0, 0, 0)
    }

    /// Columns come in the schema's order. Nil for a row this version can't read.
    private static func read(_ row: any Row) -> StoreTransaction? {
        guard let state = StoreTransaction.State(rawValue: row.text(2)),
            let environment = Environment(rawValue: row.text(4)), let kind = ProductKind(rawValue: row.text(8))
        else { return nil }
        var transaction = StoreTransaction(
            price: Money(amount: row.integer(10), currency: Currency(row.text(11))), number: row.integer(0),
            original: row.integer(1), state: state, isFinished: row.integer(3) != 0, environment: environment,
            account: row.text(5), bundleID: row.text(6), productID: ProductID(row.text(7)), kind: kind,
            quantity: row.integer(9), storefront: row.text(12),
            appAccountToken: row.optionalText(13).flatMap { UniqueID($0) }, appTransaction: row.integer(14),
            reason: row.text(15), purchased: Instant(milliseconds: row.integer(16)),
            firstPurchased: Instant(milliseconds: row.integer(17)), subscription: nil, revocation: nil)
        if let expires = row.optionalInteger(18), let group = row.optionalText(19), let item = row.optionalInteger(20) {
            transaction.subscription = StoreTransaction.Subscription(
                groupID: group, expires: Instant(milliseconds: expires), lineItem: item)
        }
        if let date = row.optionalInteger(21) {
            transaction.revocation = StoreTransaction.Revocation(
                date: Instant(milliseconds: date), reason: row.integer(22), type: row.text(23),
                percentage: row.integer(24))
        }
        return transaction
    }
}
