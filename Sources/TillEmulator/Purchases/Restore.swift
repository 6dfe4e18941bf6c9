import TillBilling
import TillSQL

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
