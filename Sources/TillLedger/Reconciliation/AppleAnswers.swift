import TillAppStore
import TillBilling

/// One of Apple's answers that is believed: a transaction, with its bytes and what came beside it.
package struct VerifiedCopy: Sendable {
    let transaction: PaidTransaction
    let proof: PurchaseProof
    let renewal: SignedRenewal?

    init(transaction: PaidTransaction, proof: PurchaseProof, renewal: SignedRenewal?) {
        self.transaction = transaction
        self.proof = proof
        self.renewal = renewal
    }

    /// - Throws: why it is not believed, or, retryably, not yet.
    init(
        _ signed: SignedTransaction, beside next: SignedRenewalInfo?, by verifier: ProofVerifier
    ) async throws(ProofRefusal) {
        let believed = try await verifier.transaction(signed.jws)
        transaction = PaidTransaction(believed.value)
        proof = PurchaseProof(
            kind: .signedTransaction, bytes: Array(signed.jws.utf8), isUnderDoubt: believed.isUnderDoubt)
        if let next {
            let info = try await verifier.renewalInfo(next.jws).value
            renewal = SignedRenewal(info: info, proof: Array(next.jws.utf8))
        } else {
            renewal = nil
        }
    }
}

/// What came of verifying some of Apple's answers.
struct AppleAnswers: Sendable {
    private(set) var copies: [VerifiedCopy] = []
    /// Not Apple's, or not for this app. They are in the list of refused proofs.
    private(set) var refused: [Difference] = []
    /// How many count once Apple tells of its certificates.
    private(set) var undecided = 0

    /// What Apple did not sign is logged and passed over: the other answers are worth no less for it.
    ///
    /// - Parameter environment: who was asked.
    mutating func read(
        _ signed: SignedTransaction, beside next: SignedRenewalInfo? = nil, from environment: Environment,
        by ledger: Ledger
    ) async throws {
        do throws(ProofRefusal) {
            copies.append(try await VerifiedCopy(signed, beside: next, by: ledger.verifier))
        } catch {
            try await refuse(error, from: environment, by: ledger)
        }
    }

    mutating func refuse(_ refusal: ProofRefusal, from environment: Environment, by ledger: Ledger) async throws {
        guard !refusal.refusal.isRetryable else {
            undecided += 1
            return
        }
        try await ledger.intake.refusals.writeAnswer(refusal, to: .reconciliation)
        refused.append(Difference(.answerRefused, in: environment, was: refusal.refusal.rawValue))
    }

    /// The last transaction of each subscription, and what Apple signs about its renewal.
    mutating func read(_ statuses: Answered<SubscriptionStatuses>, by ledger: Ledger) async throws {
        for subscription in statuses.value.groups.flatMap(\.subscriptions) {
            guard let transaction = subscription.transaction else { continue }
            try await read(transaction, beside: subscription.renewalInfo, from: statuses.environment, by: ledger)
        }
    }

    mutating func append(_ copy: VerifiedCopy) { copies.append(copy) }
}
