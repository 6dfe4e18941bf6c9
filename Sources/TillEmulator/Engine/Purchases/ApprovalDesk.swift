import TillBilling
import TillSQL

/// Waiting purchases: for a parent's approval (Ask to Buy), or for an action by the customer (interrupted).
///
/// A waiting purchase already has the number of its later paid transaction. No signed payload, receipt or history
/// contains it until it is paid, so outside callers see one paid transaction. To StoreKit, whose failed transactions
/// have no id, it is the new transaction after the failure (facts/storekit-client).
enum ApprovalDesk {
    /// Seconds. Ask to Buy requests expire after a day (facts/limits §4).
    static let lifetime: Int64 = 24 * 3_600

    /// The same account's waiting Ask to Buy request for the same product. A second request is merged into it and keeps
    /// the first one's quantity and token (facts/storekit-client).
    static func request(like purchase: Purchase, _ turn: Turn) throws -> StoreTransaction? {
        try WaitingTable.deferred(
            account: purchase.account.name, bundleID: purchase.request.bundleID, productID: purchase.product.id,
            turn.session)
    }

    /// Starts the waiting time of an Ask to Buy request. An interrupted purchase waits without a limit.
    static func open(_ transaction: StoreTransaction, _ turn: Turn) throws {
        guard transaction.state == .deferred else { return }
        try Agenda.set(
            .approval, transaction.number, at: transaction.purchased.adding(seconds: lifetime), turn.session)
    }

    /// Approves or declines an Ask to Buy request, or completes an interrupted purchase. The customer is charged now.
    static func settle(_ number: Int64, approved: Bool, _ turn: Turn) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, turn.session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .deferred || transaction.state == .interrupted else {
            // The request expired, or would have expired by now.
            let isOld = turn.now >= transaction.purchased.adding(seconds: lifetime)
            return .failure(transaction.state == .declined && isOld ? .approvalExpired(id) : .notWaiting(id))
        }
        guard approved else { return .success(try decline(transaction, turn)) }
        if let refusal = try refusal(of: transaction, turn) { return .failure(refusal) }
        try Agenda.set(.approval, number, at: nil, turn.session)
        transaction = try complete(transaction, turn)
        return .success(transaction)
    }

    /// Declines a request that was not answered in time.
    static func expire(_ number: Int64, _ turn: Turn) throws {
        guard let transaction = try TransactionTable.find(number, turn.session), transaction.state == .deferred else {
            return
        }
        _ = try decline(transaction, turn)
    }

    private static func decline(_ transaction: StoreTransaction, _ turn: Turn) throws -> StoreTransaction {
        var transaction = transaction
        transaction.state = .declined
        try Agenda.set(.approval, transaction.number, at: nil, turn.session)
        return try TransactionTable.update(transaction, turn.session)
    }

    /// Why the purchase can't be charged now; it keeps waiting. Checked against the customer's current purchases.
    private static func refusal(of transaction: StoreTransaction, _ turn: Turn) throws -> StoreRefusal? {
        guard let account = try AccountTable.find(transaction.account, turn.session) else { return nil }
        if account.isDeleted { return .accountDeleted(account.name) }
        if !account.paymentMethodWorks { return .paymentFailed(account.name) }
        // The product was on sale at the time of the request, and may be again later.
        let product = try ProductTable.priced(
            transaction.productID, storefront: transaction.storefront, turn.session)
        guard let product, product.isSold(in: turn.configuration.environment), product.isOnSale,
            (product.subscription == nil) == (transaction.subscription == nil)
        else { return .noLongerSold(transaction.productID.text) }
        if let refusal = try SubscriptionSale.refusal(of: transaction, turn) {
            _ = try decline(transaction, turn)
            return refusal
        }
        guard transaction.kind == .nonConsumable,
            try SharedPurchaseTable.owned(
                transaction.productID, by: account.name, bundleID: transaction.bundleID, shared: true, turn.session)
                != nil
        else { return nil }
        _ = try decline(transaction, turn)
        return .ownedAlready(transaction.productID.text)
    }

    private static func complete(_ transaction: StoreTransaction, _ turn: Turn) throws -> StoreTransaction {
        // The first period starts at the payment.
        guard transaction.kind != .autoRenewable else { return try SubscriptionLife.complete(transaction, turn) }
        var transaction = transaction
        transaction.purchased = turn.now
        transaction.firstPurchased = turn.now
        transaction.state = .purchased
        transaction = try TransactionTable.update(transaction, turn.session)
        try OneTimeSale.tell(of: transaction, turn)
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
enum WaitingTable {
    /// The account's Ask to Buy request for this product that still waits.
    static func deferred(
        account: String, bundleID: String, productID: ProductID, _ session: any Connection
    ) throws -> StoreTransaction? {
        let number = try session.first(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = 'deferred' AND state <> 'purchased' AND bundle_id = ? AND product_id = ?
            ORDER BY number LIMIT 1
            """, [.text(account), .text(bundleID), .text(productID.text)]
        ) { $0.integer("number") }
        guard let number else { return nil }
        return try TransactionTable.find(number, session)
    }

    /// The account's transactions in one unpaid state, oldest first, starting after number `after`.
    static func all(
        _ state: StoreTransaction.State, account: String, bundleID: String?, after: Int64, limit: Int,
        _ session: any Connection
    ) throws -> [StoreTransaction] {
        try session.query(
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
        ) { $0.integer("number") }.compactMap { try TransactionTable.find($0, session) }
    }

    /// The account's paid transactions, in the same form.
    static func paid(
        account: String, bundleID: String?, after: Int64, limit: Int, _ session: any Connection
    ) throws -> [StoreTransaction] {
        try session.query(
            """
            SELECT number FROM transactions
            WHERE account = ? AND state = 'purchased' AND number > ? AND (? IS NULL OR bundle_id = ?)
            ORDER BY number LIMIT ?
            """,
            [.text(account), .integer(after), .optional(bundleID), .optional(bundleID), .integer(Int64(limit))]
        ) { $0.integer("number") }.compactMap { try TransactionTable.find($0, session) }
    }
}
