import TillAppStore
import TillBilling

extension AppleTaskRuns {
    /// The transaction that an order id would be set on (Set App Account Token).
    enum TokenTarget: Sendable {
        /// The purchase that the order paid for, or a renewal of it.
        case ownPurchase
        /// A later purchase in the subscription, perhaps by another customer of the same Apple Account.
        case boughtSince(TransactionID)
        /// Apple's answer could not be verified.
        case unknown(String)
    }

    /// For a subscription Apple sets the token on the newest transaction and on every later renewal, whichever
    /// transaction the request names (facts/server-api §3, note on 13). A later purchase keeps its own token, or is
    /// matched to an owner without one; so the newest transaction is read from Apple first.
    func tokenTarget(
        of task: AppleTaskTable.Stored, over api: ServerAPI
    ) async throws(ServerAPIError) -> TokenTarget {
        guard task.isSubscription else { return .ownPurchase }
        let statuses = try await api.subscriptionStatuses(of: task.originalID, in: task.environment).value
        let chain = statuses.groups.lazy.flatMap(\.subscriptions).first {
            $0.originalTransactionID == task.originalID
        }
        guard let signed = chain?.transaction else { return .unknown("Apple lists no such subscription") }
        do throws(ProofError) {
            let newest = try await ledger.verifier.transaction(signed.jws).value
            guard newest.originalID == task.originalID, newest.environment == task.environment else {
                return .unknown("Apple answered with transaction \(newest.id)")
            }
            let isOwnRenewal =
                newest.isRenewal && newest.productID == task.productID && newest.appAccountTokenText == nil
            return newest.id == task.transactionID || isOwnRenewal ? .ownPurchase : .boughtSince(newest.id)
        } catch {
            return .unknown("the answer failed verification:  \(error.refusal.rawValue) \(error.detail)")
        }
    }
}
