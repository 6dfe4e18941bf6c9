import TillAppStore
import TillBilling

/// A verified answer from Apple: a transaction with its bytes and the renewal information beside it.
package struct VerifiedCopy: Sendable {
    let transaction: PaidTransaction
    let proof: PurchaseProof
    let renewal: SignedRenewal?

    init(transaction: PaidTransaction, proof: PurchaseProof, renewal: SignedRenewal?) {
        self.transaction = transaction
        self.proof = proof
        self.renewal = renewal
    }

    /// - Throws: why the proof is refused; retryable if it cannot be decided yet.
    init(
        _ signed: SignedTransaction, beside next: SignedRenewalInfo?, by verifier: ProofVerifier
    ) async throws(ProofError) {
        let verified = try await verifier.transaction(signed.jws)
        transaction = PaidTransaction(verified.value)
        proof = PurchaseProof(
            kind: .signedTransaction, bytes: Array(signed.jws.utf8), isRevocationUnknown: verified.isRevocationUnknown)
        if let next {
            let info = try await verifier.renewalInfo(next.jws).value
            renewal = SignedRenewal(info: info, proof: Array(next.jws.utf8))
        } else {
            renewal = nil
        }
    }
}

/// The result of verifying some of Apple's answers.
struct VerifiedResponses: Sendable {
    private(set) var copies: [VerifiedCopy] = []
    /// Not signed by Apple, or not for this app. They are recorded as refused proofs.
    private(set) var refused: [Difference] = []
    /// How many answers cannot be accepted before Apple gives the status of its certificates.
    private(set) var undecided = 0

    /// Logs and skips an answer that Apple did not sign; the other answers are still used.
    ///
    /// - Parameter environment: the environment whose API answered.
    mutating func read(
        _ signed: SignedTransaction, beside next: SignedRenewalInfo? = nil, from environment: StoreEnvironment,
        by ledger: Ledger
    ) async throws {
        do throws(ProofError) {
            copies.append(try await VerifiedCopy(signed, beside: next, by: ledger.verifier))
        } catch {
            try await refuse(error, from: environment, by: ledger)
        }
    }

    mutating func refuse(_ refusal: ProofError, from environment: StoreEnvironment, by ledger: Ledger) async throws {
        guard !refusal.refusal.isRetryable else {
            undecided += 1
            return
        }
        try await ledger.intake.refusals.writeAnswer(refusal, to: .reconciliation)
        refused.append(Difference(.responseRefused, in: environment, was: refusal.refusal.rawValue))
    }

    /// Reads the last transaction of each subscription, and its renewal information.
    mutating func read(_ statuses: EnvironmentResult<SubscriptionStatuses>, by ledger: Ledger) async throws {
        for subscription in statuses.value.groups.flatMap(\.subscriptions) {
            guard let transaction = subscription.transaction else { continue }
            try await read(transaction, beside: subscription.renewalInfo, from: statuses.environment, by: ledger)
        }
    }

    mutating func append(_ copy: VerifiedCopy) { copies.append(copy) }
}
