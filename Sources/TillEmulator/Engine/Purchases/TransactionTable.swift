import TillBilling
import TillSQL

/// Every transaction of the store.
enum TransactionTable {
    static let columns: Columns = """
        number, original, state, finished, environment, account, bundle_id, product_id, kind, quantity, price, \
        currency, storefront, app_account_token, app_transaction, reason, purchased_at, first_purchased_at, \
        expires_at, group_id, line_item, revoked_at, revocation_reason, revocation_type, revocation_percentage, \
        is_upgraded, offer, commitment, shared_from, modification
        """

    /// - Returns: the transaction with its position in the order of changes.
    @discardableResult
    static func insert(_ transaction: StoreTransaction, _ connection: any Connection) throws -> StoreTransaction {
        var transaction = transaction
        transaction.modification = try Counter.modification.take(connection)
        try connection.execute(
            """
            INSERT INTO transactions (\(columns)) VALUES (\(marks: 30))
            """,
            [
                .integer(transaction.number), .integer(transaction.original), .text(transaction.state.rawValue),
                .flag(transaction.isFinished), .text(transaction.environment.rawValue),
                .text(transaction.account), .text(transaction.bundleID), .text(transaction.productID.text),
                .text(transaction.kind.rawValue), .integer(transaction.quantity), .integer(transaction.price.amount),
                .text(transaction.price.currency.text), .text(transaction.storefront),
                .optional(transaction.appAccountToken?.description), .integer(transaction.appTransaction),
                .text(transaction.reason), .integer(transaction.purchased.milliseconds),
                .integer(transaction.firstPurchased.milliseconds),
                .optional(transaction.subscription?.expires.milliseconds),
                .optional(transaction.subscription?.groupID), .optional(transaction.subscription?.lineItem),
                .optional(transaction.revocation?.date.milliseconds), .optional(transaction.revocation?.reason),
                .optional(transaction.revocation?.type), .optional(transaction.revocation?.percentage),
                .flag(transaction.isUpgraded), .optional(try transaction.offer.map { try StoredDocument.text($0) }),
                .optional(try transaction.billingPlan()),
                .optional(transaction.sharedFrom), .integer(transaction.modification),
            ])
        try TransactionTally.add(transaction, connection)
        return transaction
    }

    /// Stores the variable columns of a transaction and moves it to the end of the order of changes. Finishing alone is
    /// not a change in a history: `setFinished` stores it without a new position.
    /// - Returns: the transaction with its new position.
    @discardableResult
    static func update(_ transaction: StoreTransaction, _ connection: any Connection) throws -> StoreTransaction {
        var transaction = transaction
        transaction.modification = try Counter.modification.take(connection)
        try connection.execute(
            """
            UPDATE transactions SET state = ?, finished = ?, purchased_at = ?, first_purchased_at = ?, expires_at = ?,
                revoked_at = ?, revocation_reason = ?, revocation_type = ?, revocation_percentage = ?,
                is_upgraded = ?, app_account_token = ?, commitment = ?, modification = ?
            WHERE number = ?
            """,
            [
                .text(transaction.state.rawValue), .flag(transaction.isFinished),
                .integer(transaction.purchased.milliseconds), .integer(transaction.firstPurchased.milliseconds),
                .optional(transaction.subscription?.expires.milliseconds),
                .optional(transaction.revocation?.date.milliseconds), .optional(transaction.revocation?.reason),
                .optional(transaction.revocation?.type), .optional(transaction.revocation?.percentage),
                .flag(transaction.isUpgraded), .optional(transaction.appAccountToken?.description),
                .optional(try transaction.billingPlan()), .integer(transaction.modification),
                .integer(transaction.number),
            ])
        return transaction
    }

    /// Adds a transaction to its account's queue, or removes it.
    static func setFinished(_ number: Int64, _ isFinished: Bool, _ connection: any Connection) throws {
        try connection.execute(
            "UPDATE transactions SET finished = ? WHERE number = ?", [.flag(isFinished), .integer(number)])
    }

    static func find(_ number: Int64, _ connection: any Connection) throws -> StoreTransaction? {
        try connection.query(
            "SELECT \(columns) FROM transactions WHERE number = ?", [.integer(number)], read
        ).first ?? nil
    }

    /// Oldest first, starting after the transaction `after`; of one app, or of all apps.
    static func ofAccount(
        _ account: String, bundleID: String?, after: Int64, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        try connection.query(
            """
            SELECT \(columns) FROM transactions
            WHERE account = ? AND number > ? AND (? IS NULL OR bundle_id = ?) ORDER BY number LIMIT ?
            """,
            [
                .text(account), .integer(after), .optional(bundleID), .optional(bundleID), .integer(Int64(limit)),
            ], read
        ).compactMap { $0 }
    }

    /// StoreKit's queue: paid and unfinished transactions. It belongs to the account and outlives the app.
    static func unfinished(
        account: String, bundleID: String?, after: Int64, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        try connection.query(
            """
            SELECT \(columns) FROM transactions
            WHERE account = ? AND number > ? AND finished = 0 AND state = 'purchased'
                AND (? IS NULL OR bundle_id = ?)
            ORDER BY number LIMIT ?
            """,
            [
                .text(account), .integer(after), .optional(bundleID), .optional(bundleID), .integer(Int64(limit)),
            ], read
        ).compactMap { $0 }
    }

    /// The purchases that an app receipt lists: a consumable until it is finished, other types for ever
    /// (facts/business-rules §1). The newest `limit` of them, oldest first.
    static func inReceipt(
        account: String, bundleID: String, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        try connection.query(
            """
            SELECT \(columns) FROM transactions
            WHERE account = ? AND bundle_id = ? AND state = 'purchased' AND (finished = 0 OR kind <> 'Consumable')
            ORDER BY number DESC LIMIT ?
            """, [.text(account), .text(bundleID), .integer(Int64(limit))], read
        ).compactMap { $0 }.reversed()
    }

    /// The account's newest purchase of a product that is not a consumable.
    static func newest(
        account: String, bundleID: String, productID: ProductID, _ connection: any Connection
    ) throws -> StoreTransaction? {
        try connection.query(
            """
            SELECT \(columns) FROM transactions
            WHERE account = ? AND bundle_id = ? AND product_id = ? AND state = 'purchased' AND kind <> 'Consumable'
            ORDER BY number DESC LIMIT 1
            """, [.text(account), .text(bundleID), .text(productID.text)], read
        ).first ?? nil
    }

    /// Nil for a row that this version can't read.
    static func read(_ row: any Row) throws -> StoreTransaction? {
        guard let state = StoreTransaction.State(rawValue: row.text("state")),
            let environment = StoreEnvironment(rawValue: row.text("environment")),
            let kind = ProductType(rawValue: row.text("kind"))
        else { return nil }
        var transaction = StoreTransaction(
            price: Money(amount: row.integer("price"), currency: Currency(row.text("currency"))),
            number: row.integer("number"),
            original: row.integer("original"), state: state, isFinished: row.flag("finished"), environment: environment,
            account: row.text("account"), bundleID: row.text("bundle_id"), productID: ProductID(row.text("product_id")),
            kind: kind,
            quantity: row.integer("quantity"), storefront: row.text("storefront"),
            appAccountToken: row.optionalText("app_account_token").flatMap { UniqueID($0) },
            appTransaction: row.integer("app_transaction"),
            reason: row.text("reason"), purchased: Instant(milliseconds: row.integer("purchased_at")),
            firstPurchased: Instant(milliseconds: row.integer("first_purchased_at")), subscription: nil, revocation: nil
        )
        if let expires = row.optionalInteger("expires_at"), let group = row.optionalText("group_id"),
            let item = row.optionalInteger("line_item")
        {
            transaction.subscription = StoreTransaction.Subscription(
                groupID: group, expires: Instant(milliseconds: expires), lineItem: item)
        }
        if let date = row.optionalInteger("revoked_at") {
            transaction.revocation = StoreTransaction.Revocation(
                date: Instant(milliseconds: date), reason: row.integer("revocation_reason"),
                type: row.text("revocation_type"),
                percentage: row.optionalInteger("revocation_percentage"))
        }
        transaction.isUpgraded = row.flag("is_upgraded")
        transaction.offer = try row.optionalText("offer").map {
            try StoredDocument.read(StoreTransaction.Offer.self, from: $0)
        }
        try transaction.setBillingPlan(row.optionalText("commitment"))
        transaction.sharedFrom = row.optionalInteger("shared_from")
        transaction.modification = row.integer("modification")
        return transaction
    }
}
