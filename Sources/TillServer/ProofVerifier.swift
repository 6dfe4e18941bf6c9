import TillAppStore
import TillBilling
import TillCrypto

/// What this server believes, as a verifier; its refusals in our own words.
struct ProofVerifier: Sendable {
    private let verifier: SignedDataVerifier
    /// The same, for proofs of either environment.
    private let anyEnvironment: SignedDataVerifier
    private let environments: Set<Environment>

    /// - Throws: `bad_root` if a configured root is no certificate.
    init(trust: AppleTrust, clock: @escaping Server.Clock) throws(VerificationFailure) {
        var policy = TrustPolicy(bundleID: trust.bundleID, environments: trust.environments, now: clock)
        if !trust.roots.isEmpty { policy.roots = trust.roots }
        policy.appAppleID = trust.appAppleID
        verifier = try SignedDataVerifier(policy: policy)
        policy.environments = nil
        anyEnvironment = try SignedDataVerifier(policy: policy)
        environments = trust.environments
    }

    /// Whether purchases made there count here (DESIGN §4, invariant 7).
    func accepts(_ environment: Environment) -> Bool { environments.contains(environment) }

    func transaction(_ token: String) throws(ProofRefusal) -> VerifiedTransaction {
        try refusing(Array(token.utf8)) { () throws(VerificationFailure) in try verifier.transaction(token) }
    }

    /// Apple's, of whichever environment: Apple is told that it arrived even where it does not count, or it would send
    /// it for days. Whoever settles it asks `accepts` first.
    func notification(_ token: String) throws(ProofRefusal) -> VerifiedNotification {
        try refusing(Array(token.utf8)) { () throws(VerificationFailure) in try anyEnvironment.notification(token) }
    }

    /// The record of one transaction in an app receipt.
    func transaction(_ id: TransactionID, inReceipt bytes: [UInt8]) throws(ProofRefusal) -> VerifiedTransaction {
        let receipt = try refusing(bytes) { () throws(VerificationFailure) in try verifier.receipt(bytes) }
        guard let transaction = receipt.transaction(id) else {
            throw ProofRefusal(
                .transactionNotInReceipt, "\(receipt.transactions.count) other transactions", proof: bytes)
        }
        return transaction
    }

    private func refusing<Value>(
        _ proof: [UInt8], _ verify: () throws(VerificationFailure) -> Value
    ) throws(ProofRefusal) -> Value {
        do {
            return try verify()
        } catch {
            // The verdicts of the verifier and the codes of our refusals are one list (CONTRACT §1).
            throw ProofRefusal(Refusal(rawValue: error.verdict.rawValue) ?? .malformed, error.detail, proof: proof)
        }
    }
}
