import TillBilling
import TillSQL

extension Store {
    public func purchase(_ request: PurchaseRequest) async throws -> Result<PurchaseResult, StoreRefusal> {
        let request = chaos.arrived(request)
        return try await change { try PaymentSheet.pay(request, $0) }
    }

    /// Approves or declines what waits for a parent, or lets an interrupted purchase go through.
    public func settle(_ number: Int64, approved: Bool) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { try ApprovalDesk.settle(number, approved: approved, $0) }
    }

    /// Takes a transaction out of its account's queue. Finishing twice changes nothing.
    public func finish(_ number: Int64) async throws -> Result<StoreTransaction, StoreRefusal> {
        try await change { turn in
            guard var transaction = try TransactionTable.find(number, turn.session) else {
                return .failure(.unknownTransaction(String(number)))
            }
            guard transaction.state == .purchased else { return .failure(.notPurchased(String(number))) }
            if !transaction.isFinished { try TransactionTable.setFinished(number, true, turn.session) }
            transaction.isFinished = true
            return .success(transaction)
        }
    }

    public func transaction(_ number: Int64) async throws -> StoreTransaction? {
        try await ask { session in try TransactionTable.find(number, session) }
    }

    /// The account's transactions in one app, or in all, oldest first, beginning after number `after`.
    public func transactions(
        account: String, bundleID: String? = nil, unfinishedOnly: Bool, after: Int64 = 0, limit: Int
    ) async throws -> [StoreTransaction] {
        try await ask { session in
            unfinishedOnly
                ? try TransactionTable.unfinished(
                    account: account, bundleID: bundleID, after: after, limit: limit, session)
                : try TransactionTable.ofAccount(
                    account, bundleID: bundleID, after: after, limit: limit, session)
        }
    }

    /// The account's transactions whose payment has come this far, in one app or in all, oldest first, beginning after
    /// number `after`.
    public func transactions(
        in state: StoreTransaction.State, account: String, bundleID: String? = nil, after: Int64 = 0, limit: Int
    ) async throws -> [StoreTransaction] {
        try await ask { session in
            state == .purchased
                ? try WaitingTable.paid(account: account, bundleID: bundleID, after: after, limit: limit, session)
                : try WaitingTable.all(state, account: account, bundleID: bundleID, after: after, limit: limit, session)
        }
    }

    /// More purchases than this don't go into one receipt: 20,000 are about 8 MiB (facts/limits §3).
    static let receiptLimit = 20_000
}

/// One purchase that comes back to its customer (`SKPaymentTransactionState.restored`).
public struct RestoredPurchase: Sendable, Hashable {
    /// Of this restore: new each time, in Apple's form (facts/verify-receipt §6).
    public var number: Int64
    /// What was bought.
    public var original: StoreTransaction
}

/// What `restoreCompletedTransactions` gives: non-consumables and auto-renewable subscriptions, a family's copies too
/// (facts/storekit-client A5, SCENARIOS P10).
///
/// The store keeps nothing of it but that the ids are spent. A restore changes no receipt, no history and no
/// entitlement, and what the app must look at is the original; so each answer stands by itself.
enum Restore {
    /// More than this don't come back at once.
    static let limit = 1_000

    /// The newest finished purchase of each chain that was not refunded. What is not finished is in the queue anyway.
    static func restore(account: String, bundleID: String, _ turn: Turn) throws -> [RestoredPurchase] {
        let numbers = try turn.session.query(
            """
            SELECT max(number) AS newest FROM transactions INDEXED BY transactions_of_product WHERE account = ? \
            AND bundle_id = ? AND state = 'purchased' AND kind <> 'Consumable' \
            AND kind IN ('Non-Consumable', 'Auto-Renewable Subscription') AND revoked_at IS NULL AND finished = 1 \
            GROUP BY original ORDER BY 1 LIMIT ?
            """, [.text(account), .text(bundleID), .integer(Int64(limit))]
        ) { $0.integer("newest") }
        return try numbers.compactMap { number in
            guard let original = try TransactionTable.find(number, turn.session) else { return nil }
            return RestoredPurchase(number: try Counter.transaction.take(turn.session), original: original)
        }
    }
}

extension Store {
    /// - Parameter device: where the customer asks; the account must be signed in there.
    public func restore(
        account: String, bundleID: String, device: UniqueID? = nil
    ) async throws -> Result<[RestoredPurchase], StoreRefusal> {
        try await change { turn in
            guard let known = try AccountTable.find(account, turn.session) else {
                return .failure(.unknownAccount(account))
            }
            guard !known.isDeleted else { return .failure(.accountDeleted(account)) }
            if let device, case .failure(let refusal) = try AccountDesk.device(device, of: account, turn.session) {
                return .failure(refusal)
            }
            return .success(try Restore.restore(account: account, bundleID: bundleID, turn))
        }
    }
}
