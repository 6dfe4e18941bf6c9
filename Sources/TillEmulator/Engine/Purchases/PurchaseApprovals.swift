import TillBilling
import TillSQL

/// Waiting purchases: for a parent's approval (Ask to Buy), or for an action by the customer (interrupted).
///
/// A waiting purchase already has the number of its later paid transaction. No signed payload, receipt or history
/// contains it until it is paid, so outside callers see one paid transaction. To StoreKit, whose failed transactions
/// have no id, it is the new transaction after the failure (facts/storekit-client).
enum PurchaseApprovals {
    /// Seconds. Ask to Buy requests expire after a day (facts/limits §4).
    static let lifetime: Int64 = 24 * 3_600

    /// The same account's waiting Ask to Buy request for the same product. A second request is merged into it and keeps
    /// the first one's quantity and token (facts/storekit-client).
    static func request(like purchase: Purchase, _ change: StoreChange) throws -> StoreTransaction? {
        try PendingPurchaseTable.deferred(
            account: purchase.account.name, bundleID: purchase.request.bundleID, productID: purchase.product.id,
            change.connection)
    }

    /// Starts the waiting time of an Ask to Buy request. An interrupted purchase waits without a limit.
    static func open(_ transaction: StoreTransaction, _ change: StoreChange) throws {
        guard transaction.state == .deferred else { return }
        try Schedule.set(
            .approval, transaction.number, at: transaction.purchased.adding(seconds: lifetime), change.connection)
    }

    /// Approves or declines an Ask to Buy request, or completes an interrupted purchase. The customer is charged now.
    static func decide(_ number: Int64, approved: Bool, _ change: StoreChange) throws -> Result<
        StoreTransaction, StoreRefusal
    > {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, change.connection) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .deferred || transaction.state == .interrupted else {
            // The request expired, or would have expired by now.
            let isOld = change.now >= transaction.purchased.adding(seconds: lifetime)
            return .failure(transaction.state == .declined && isOld ? .approvalExpired(id) : .notWaiting(id))
        }
        guard approved else { return .success(try decline(transaction, change)) }
        if let refusal = try refusal(of: transaction, change) { return .failure(refusal) }
        try Schedule.set(.approval, number, at: nil, change.connection)
        transaction = try complete(transaction, change)
        return .success(transaction)
    }

    /// Declines a request that was not answered in time.
    static func expire(_ number: Int64, _ change: StoreChange) throws {
        guard let transaction = try TransactionTable.find(number, change.connection), transaction.state == .deferred
        else {
            return
        }
        _ = try decline(transaction, change)
    }

    private static func decline(_ transaction: StoreTransaction, _ change: StoreChange) throws -> StoreTransaction {
        var transaction = transaction
        transaction.state = .declined
        try Schedule.set(.approval, transaction.number, at: nil, change.connection)
        return try TransactionTable.update(transaction, change.connection)
    }

    /// Why the purchase can't be charged now; it keeps waiting. Checked against the customer's current purchases.
    private static func refusal(of transaction: StoreTransaction, _ change: StoreChange) throws -> StoreRefusal? {
        guard let account = try AccountTable.find(transaction.account, change.connection) else { return nil }
        if account.isDeleted { return .accountDeleted(account.name) }
        if !account.paymentMethodWorks { return .paymentFailed(account.name) }
        // The product was on sale at the time of the request, and may be again later.
        let product = try ProductTable.priced(
            transaction.productID, storefront: transaction.storefront, change.connection)
        guard let product, product.isSold(in: change.configuration.environment), product.isOnSale,
            (product.subscription == nil) == (transaction.subscription == nil)
        else { return .noLongerSold(transaction.productID.text) }
        if let refusal = try SubscriptionSale.refusal(of: transaction, change) {
            _ = try decline(transaction, change)
            return refusal
        }
        guard transaction.kind == .nonConsumable,
            try SharedPurchaseTable.owned(
                transaction.productID, by: account.name, bundleID: transaction.bundleID, shared: true, change.connection
            )
                != nil
        else { return nil }
        _ = try decline(transaction, change)
        return .ownedAlready(transaction.productID.text)
    }

    private static func complete(_ transaction: StoreTransaction, _ change: StoreChange) throws -> StoreTransaction {
        // The first period starts at the payment.
        guard transaction.kind != .autoRenewable else { return try SubscriptionLifecycle.complete(transaction, change) }
        var transaction = transaction
        transaction.purchased = change.now
        transaction.firstPurchased = change.now
        transaction.state = .purchased
        transaction = try TransactionTable.update(transaction, change.connection)
        try OneTimeSale.notify(of: transaction, change)
        return transaction
    }
}

extension StoreRefusal {
    static func noLongerSold(_ product: String) -> StoreRefusal {
        StoreRefusal(
            "no_longer_sold", status: 409,
            "\(product) is no longer sold in the storefront of the request. The request keeps waiting.",
            "\(product) 在该店面已不再出售，购买请求继续等待。")
    }

    static func ownedAlready(_ product: String) -> StoreRefusal {
        StoreRefusal(
            "owned_already", status: 409, "The account already owns \(product), so the purchase request is closed.",
            "该账户已拥有 \(product)，购买请求已关闭。")
    }
}

extension StoreSchema {
    /// Waiting transactions are few among many paid ones.
    static let waitingPurchases: StaticString = """
        CREATE INDEX transactions_unpaid ON transactions (account, state, number) WHERE state <> 'purchased';
        """
}

/// Transactions by payment state.
enum PendingPurchaseTable {
    /// The account's Ask to Buy request for this product that still waits.
    static func deferred(
        account: String, bundleID: String, productID: ProductID, _ connection: any Connection
    ) throws -> StoreTransaction? {
        let number = try connection.first(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = 'deferred' AND state <> 'purchased' AND bundle_id = ? AND product_id = ?
            ORDER BY number LIMIT 1
            """, [.text(account), .text(bundleID), .text(productID.text)]
        ) { $0.integer("number") }
        guard let number else { return nil }
        return try TransactionTable.find(number, connection)
    }

    /// The account's transactions in one unpaid state, oldest first, starting after number `after`.
    static func all(
        _ state: StoreTransaction.State, account: String, bundleID: String?, after: Int64, limit: Int,
        _ connection: any Connection
    ) throws -> [StoreTransaction] {
        try connection.query(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = ? AND state <> 'purchased' AND number > ?
                AND (? IS NULL OR bundle_id = ?)
            ORDER BY number LIMIT ?
            """,
            [
                .text(account), .text(state.rawValue), .integer(after), .optional(bundleID), .optional(bundleID),
                .integer(Int64(limit)),
            ]
        ) { $0.integer("number") }.compactMap { try TransactionTable.find($0, connection) }
    }

    /// The account's paid transactions, in the same form.
    static func paid(
        account: String, bundleID: String?, after: Int64, limit: Int, _ connection: any Connection
    ) throws -> [StoreTransaction] {
        try connection.query(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = 'purchased' AND number > ? AND (? IS NULL OR bundle_id = ?)
            ORDER BY number LIMIT ?
            """,
            [.text(account), .integer(after), .optional(bundleID), .optional(bundleID), .integer(Int64(limit))]
        ) { $0.integer("number") }.compactMap { try TransactionTable.find($0, connection) }
    }
}
