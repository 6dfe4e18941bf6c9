import TillBilling
import TillSQL

extension Store {
    public func purchase(_ request: PurchaseRequest) async throws -> Result<PurchaseResult, StoreRefusal> {
        let request = faultInjector.arrived(request)
        return try await change { try PaymentSheet.pay(request, $0) }
    }

    /// Approves or declines an Ask to Buy request, or completes an interrupted purchase.
    public func decide(_ number: Int64, approved: Bool) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try PurchaseApprovals.decide(number, approved: approved, $0) }
    }

    /// Removes a transaction from its account's queue. A second call changes nothing.
    public func finish(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { change in
            guard var transaction = try TransactionTable.find(number, change.connection) else {
                return .failure(.unknownTransaction(String(number)))
            }
            guard transaction.state == .purchased else { return .failure(.notPurchased(String(number))) }
            if !transaction.isFinished { try TransactionTable.setFinished(number, true, change.connection) }
            transaction.isFinished = true
            return .success(transaction)
        }
    }

    public func transaction(_ number: Int64) async throws -> StoreTransaction? {
        try await ask { connection in try TransactionTable.find(number, connection) }
    }

    /// The account's transactions in one app, or in all apps, oldest first, starting after number `after`.
    public func transactions(
        account: String, bundleID: String? = nil, unfinishedOnly: Bool, after: Int64 = 0, limit: Int
    ) async throws -> [StoreTransaction] {
        try await ask { connection in
            unfinishedOnly
                ? try TransactionTable.unfinished(
                    account: account, bundleID: bundleID, after: after, limit: limit, connection)
                : try TransactionTable.ofAccount(
                    account, bundleID: bundleID, after: after, limit: limit, connection)
        }
    }

    /// The account's transactions in one payment state, in one app or in all apps, oldest first, starting after number
    /// `after`.
    public func transactions(
        in state: StoreTransaction.State, account: String, bundleID: String? = nil, after: Int64 = 0, limit: Int
    ) async throws -> [StoreTransaction] {
        try await ask { connection in
            state == .purchased
                ? try PendingPurchaseTable.paid(
                    account: account, bundleID: bundleID, after: after, limit: limit, connection)
                : try PendingPurchaseTable.all(
                    state, account: account, bundleID: bundleID, after: after, limit: limit, connection)
        }
    }

    /// The most purchases in one receipt: 20,000 are about 8 MiB (facts/limits §3).
    static let receiptLimit = 20_000
}

/// A restored purchase (`SKPaymentTransactionState.restored`).
public struct RestoredPurchase: Sendable, Hashable {
    /// The number of this restoration: new each time, in Apple's form (facts/verify-receipt §6).
    public var number: Int64
    /// The restored purchase itself.
    public var original: StoreTransaction
}

/// The result of `restoreCompletedTransactions`: non-consumables and auto-renewable subscriptions, a family's copies
/// included (facts/storekit-client).
///
/// The store records only that the ids are used. A restore changes no receipt, history or entitlement, and apps read
/// the original, so each answer is independent.
enum RestoredPurchases {
    /// The most purchases restored at once.
    static let limit = 1_000

    /// The newest finished purchase of each chain that was not refunded. Unfinished ones are in the queue anyway.
    static func restore(account: String, bundleID: String, _ change: StoreChange) throws -> [RestoredPurchase] {
        let numbers = try change.connection.query(
            """
            SELECT max(number) AS newest FROM transactions INDEXED BY transactions_of_product WHERE account = ? \
            AND bundle_id = ? AND state = 'purchased' AND kind <> 'Consumable' \
            AND kind IN ('Non-Consumable', 'Auto-Renewable Subscription') AND revoked_at IS NULL AND finished = 1 \
            GROUP BY original ORDER BY 1 LIMIT ?
            """, [.text(account), .text(bundleID), .integer(Int64(limit))]
        ) { $0.integer("newest") }
        return try numbers.compactMap { number in
            guard let original = try TransactionTable.find(number, change.connection) else { return nil }
            return RestoredPurchase(number: try Counter.transaction.take(change.connection), original: original)
        }
    }
}

extension Store {
    /// - Parameter device: the device of the request; the account must be signed in on it.
    public func restore(
        account: String, bundleID: String, device: UniqueID? = nil
    ) async throws -> Result<[RestoredPurchase], StoreRefusal> {
        try await change { change in
            guard let known = try AccountTable.find(account, change.connection) else {
                return .failure(.unknownAccount(account))
            }
            guard !known.isDeleted else { return .failure(.accountDeleted(account)) }
            if let device,
                case .failure(let refusal) = try AccountChanges.device(device, of: account, change.connection)
            {
                return .failure(refusal)
            }
            return .success(try RestoredPurchases.restore(account: account, bundleID: bundleID, change))
        }
    }
}
