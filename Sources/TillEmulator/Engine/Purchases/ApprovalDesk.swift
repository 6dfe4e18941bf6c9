import TillBilling
import TillSQL

/// Purchases that wait: for a parent (Ask to Buy), or for the customer to do something first (interrupted).
///
/// What waits is kept under the number that the paid transaction will have. Nothing that Apple signs, no receipt and no
/// history shows it before, so all that the outside ever sees is one paid transaction: to StoreKit, whose failed
/// transactions have no id, it is the new one that comes after the failure (facts/storekit-client A8, SCENARIOS T3).
enum ApprovalDesk {
    /// Ask to Buy requests expire after a day (facts/limits §4).
    static let lifetime: Int64 = 24 * 3_600

    /// The request of the same account for the same product that still waits for a parent: a second one is merged
    /// into it, with the first one's quantity and token (facts/storekit-client A8).
    static func request(like purchase: Purchase, _ turn: Turn) throws -> StoreTransaction? {
        try WaitingTable.deferred(
            account: purchase.account.name, bundleID: purchase.request.bundleID, productID: purchase.product.id,
            turn.session)
    }

    /// A purchase begins to wait. An interrupted one has no end to that.
    static func open(_ transaction: StoreTransaction, _ turn: Turn) throws {
        guard transaction.state == .deferred else { return }
        try Agenda.set(
            .approval, transaction.number, at: transaction.purchased.adding(seconds: lifetime), turn.session)
    }

    /// Approves or declines a request to buy, or completes an interrupted purchase. The charge is now.
    static func settle(_ number: Int64, approved: Bool, _ turn: Turn) throws -> Result<StoreTransaction, StoreRefusal> {
        let id = String(number)
        guard var transaction = try TransactionTable.find(number, turn.session) else {
            return .failure(.unknownTransaction(id))
        }
        guard transaction.state == .deferred || transaction.state == .interrupted else {
            // Declined by itself, or it would have been by now.
            let isOld = turn.now >= transaction.purchased.adding(seconds: lifetime)
            return .failure(transaction.state == .declined && isOld ? .approvalExpired(id) : .notWaiting(id))
        }
        guard approved else { return .success(try decline(transaction, turn)) }
        if let refusal = try refusal(of: transaction, turn) { return .failure(refusal) }
        try Agenda.set(.approval, number, at: nil, turn.session)
        transaction = try complete(transaction, turn)
        return .success(transaction)
    }

    /// Nobody answered in time.
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

    /// Why it can't be charged now; it goes on waiting, but for what the customer has by now.
    private static func refusal(of transaction: StoreTransaction, _ turn: Turn) throws -> StoreRefusal? {
        guard let account = try AccountTable.find(transaction.account, turn.session) else { return nil }
        if account.isDeleted { return .accountDeleted(account.name) }
        if !account.paymentMethodWorks { return .paymentFailed(account.name) }
        // Asked for while it was on the shelf; it may come back there.
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
        // The first period begins when it is paid.
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
            "\(product) is not sold any more where it was asked for: the request goes on waiting.",
            "\(product) 已不再出售，购买请求继续等待。")
    }

    static func ownedAlready(_ product: String) -> StoreRefusal {
        StoreRefusal(
            "owned_already", status: 409, "The account has \(product) by now, so the request to buy it is closed.",
            "该账户已拥有 \(product)，购买请求已关闭。")
    }
}

extension StoreSchema {
    /// Few are ever waiting, among very many that were paid.
    static let waitingPurchases: StaticString = """
        CREATE INDEX transactions_unpaid ON transactions (account, state, number) WHERE state <> 'purchased';
        """
}

/// Purchases by how far their payment has come.
enum WaitingTable {
    /// The account's request for this product that waits for a parent.
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

    /// The account's transactions in one state that is not paid, oldest first, beginning after number `after`.
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

    /// The account's paid transactions, the same way.
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
