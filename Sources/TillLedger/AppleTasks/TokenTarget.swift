import TillAppStore
import TillBilling

extension AppleTaskRuns {
    /// What an order id would be set on (Set App Account Token, U1).
    enum TokenTarget: Sendable {
        /// The purchase that the order paid for, or a renewal of it.
        case ownPurchase
        /// Something that somebody, perhaps another customer of the same Apple Account, bought in the subscription
        /// since.
        case boughtSince(TransactionID)
        /// Apple's answer can't be believed.
        case unknown(String)
    }

    /// Of a subscription Apple sets the token on the newest transaction and on every renewal to come, whichever
    /// transaction it is asked about (facts/server-api §3, note on 13). What was bought since keeps the token that it
    /// has, and what it has none of is found by the ladder; so Apple is asked first what the newest one is.
    func tokenTarget(
        of errand: ErrandTable.Stored, over api: ServerAPI
    ) async throws(ServerAPIFault) -> TokenTarget {
        guard errand.isSubscription else { return .ownPurchase }
        let statuses = try await api.subscriptionStatuses(of: errand.originalID, in: errand.environment).value
        let chain = statuses.groups.lazy.flatMap(\.subscriptions).first {
            $0.originalTransactionID == errand.originalID
        }
        guard let signed = chain?.transaction else { return .unknown("Apple lists no such subscription") }
        do throws(ProofRefusal) {
            let newest = try await ledger.verifier.transaction(signed.jws).value
            guard newest.originalID == errand.originalID, newest.environment == errand.environment else {
                return .unknown("Apple answered with transaction \(newest.id)")
            }
            let isOwnRenewal =
                newest.isRenewal && newest.productID == errand.productID && newest.appAccountTokenText == nil
            return newest.id == errand.transactionID || isOwnRenewal ? .ownPurchase : .boughtSince(newest.id)
        } catch {
            return .unknown("the answer failed verification:  \(error.refusal.rawValue) \(error.detail)")
        }
    }
}
