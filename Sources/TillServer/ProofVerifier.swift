import TillAppStore
import TillBilling
import TillCrypto

/// What this server believes, as a verifier; its refusals in our own words.
struct ProofVerifier: Sendable {
    private let verifier: SignedDataVerifier

    /// - Throws: `bad_root` if a configured root is no certificate.
    init(trust: AppleTrust, clock: @escaping Server.Clock) throws(VerificationFailure) {
        var policy = TrustPolicy(bundleID: trust.bundleID, environments: trust.environments, now: clock)
        if !trust.roots.isEmpty { policy.roots = trust.roots }
        policy.appAppleID = trust.appAppleID
        verifier = try SignedDataVerifier(policy: policy)
    }

    func transaction(_ token: String) throws(ProofRefusal) -> VerifiedTransaction {
        try refusing(Array(token.utf8)) { () throws(VerificationFailure) in try verifier.transaction(token) }
    }

    func notification(_ token: String) throws(ProofRefusal) -> VerifiedNotification {
        try refusing(Array(token.utf8)) { () throws(VerificationFailure) in try verifier.notification(token) }
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
