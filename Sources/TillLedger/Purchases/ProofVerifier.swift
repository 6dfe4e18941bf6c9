import TillAppStore
import TillBilling
import TillCrypto

/// Verifies Apple's signed data for this server's apps and environments, and translates failures into the API's
/// refusals.
package struct ProofVerifier: Sendable {
    private let verifier: SignedDataVerifier
    /// The same verifier, for proofs of either environment.
    private let anyEnvironment: SignedDataVerifier
    /// The same verifier, for proofs of either environment and any app.
    private let anyApp: SignedDataVerifier
    private let environments: Set<StoreEnvironment>
    /// Nil when revocation checking is off.
    private let revocation: RevocationChecker?
    /// Is told the code of every refused proof.
    private let refused: @Sendable (Refusal) -> Void

    /// - Throws: `bad_root` if a configured root is no certificate.
    init(
        trust: AppleTrust, clock: @escaping Ledger.Clock, effects: AppleEffects? = nil,
        refused: @escaping @Sendable (Refusal) -> Void = { _ in }
    ) throws(VerificationError) {
        var policy = TrustPolicy(bundleID: trust.bundleID, environments: trust.environments, now: clock)
        if !trust.roots.isEmpty { policy.roots = trust.roots }
        policy.appAppleID = trust.appAppleID
        policy.testCertificates = trust.testCertificates
        if let lifetime = trust.chainLifetime { policy.chainLifetime = lifetime }
        verifier = try SignedDataVerifier(policy: policy)
        policy.environments = nil
        anyEnvironment = try SignedDataVerifier(policy: policy, rememberingWith: verifier)
        policy.bundleID = nil
        policy.appAppleID = nil
        anyApp = try SignedDataVerifier(policy: policy, rememberingWith: verifier)
        environments = trust.environments
        self.refused = refused
        if let effects, trust.revocation != .off {
            revocation = RevocationChecker(policy: trust.revocation, effects: effects)
        } else {
            revocation = nil
        }
    }

    /// Whether purchases made in this environment count on this server (DESIGN §4, invariant 7).
    func accepts(_ environment: StoreEnvironment) -> Bool { environments.contains(environment) }

    /// Whether verifying this token costs little (``SignedDataVerifier/knowsSigner(of:)``).
    package func knowsSigner(of token: [UInt8]) -> Bool { verifier.knowsSigner(of: token) }

    package func transaction(_ token: String) async throws(ProofError) -> Verified<VerifiedTransaction> {
        try await transaction(Array(token.utf8))
    }

    /// - Parameter beforeAsking: called before Apple is asked about a certificate, which may take seconds.
    /// - Throws: `revocation_unknown`, which is retryable, if Apple must be asked and does not answer.
    package func transaction(
        _ proof: [UInt8], beforeAsking: () -> Void = {}
    ) async throws(ProofError) -> Verified<VerifiedTransaction> {
        try await verifying(proof, as: .transaction, verifier, beforeAsking) { verifier throws(VerificationError) in
            try verifier.transaction(proof)
        }
    }

    /// Renewal information names no app, so the caller must have its verified transaction beside it (facts/jws §5).
    ///
    /// - Throws: as for transactions.
    func renewalInfo(_ token: String) async throws(ProofError) -> Verified<VerifiedRenewalInfo> {
        let proof = Array(token.utf8)
        return try await verifying(proof, as: .renewal, verifier) { verifier throws(VerificationError) in
            try verifier.renewalInfo(proof)
        }
    }

    /// The record of one transaction in an app receipt.
    func transaction(
        _ id: TransactionID, inReceipt bytes: [UInt8]
    ) async throws(ProofError) -> Verified<VerifiedTransaction> {
        let receipt = try await receipt(bytes)
        guard let transaction = receipt.value.transaction(id) else {
            throw ProofError(
                .transactionNotInReceipt, "\(receipt.value.transactions.count) other transactions",
                zh: "收据中另有 \(receipt.value.transactions.count) 笔交易", proof: bytes)
        }
        return Verified(transaction, isRevocationUnknown: receipt.isRevocationUnknown)
    }

    /// Everything in an app receipt.
    package func receipt(_ bytes: [UInt8]) async throws(ProofError) -> Verified<VerifiedReceipt> {
        try await verifying(bytes, as: .receipt, verifier) { verifier throws(VerificationError) in
            try verifier.receipt(bytes)
        }
    }

    /// Verifies a notification that Apple signed for any environment and app. Apple must get a success response even if
    /// the notification does not count here, or it sends it again for days. Callers check `accepts` before they process
    /// it.
    ///
    /// - Throws: the refusal, if Apple did not sign it.
    package func notification(_ proof: [UInt8]) async throws(ProofError) -> NotificationReading {
        let (notification, observations): (VerifiedNotification, [SignerObservation])
        do throws(ProofError) {
            (notification, observations) = try recordingRefusal(proof, as: .notification, anyEnvironment) {
                () throws(VerificationError) in
                try observingSigners(anyEnvironment) { verifier throws(VerificationError) in
                    try verifier.notification(proof)
                }
            }
        } catch {
            guard error.refusal == .wrongApp || error.refusal == .wrongEnvironment else { throw error }
            let envelope = try recordingRefusal(proof, as: .notification, anyApp) { () throws(VerificationError) in
                try anyApp.envelope(proof)
            }
            return .foreign(envelope, error)
        }
        do throws(ProofError) {
            return .ours(notification, isRevocationUnknown: try await isRevocationUnknown(observations, proof))
        } catch {
            guard error.refusal.isRetryable else { throw error }
            return .undecided(notification)
        }
    }

    // MARK: Signers

    /// Verifies, then checks with Apple the revocation status of the certificates used.
    private func verifying<Value: Sendable>(
        _ proof: [UInt8], as kind: ProofInspection.Kind, _ verifier: SignedDataVerifier,
        _ beforeAsking: () -> Void = {}, _ verify: (SignedDataVerifier) throws(VerificationError) -> Value
    ) async throws(ProofError) -> Verified<Value> {
        let (value, observations) = try recordingRefusal(proof, as: kind, verifier) { () throws(VerificationError) in
            try observingSigners(verifier, verify)
        }
        return Verified(value, isRevocationUnknown: try await isRevocationUnknown(observations, proof, beforeAsking))
    }

    /// Skips recording the signers when revocation checking is off.
    private func observingSigners<Value>(
        _ verifier: SignedDataVerifier, _ verify: (SignedDataVerifier) throws(VerificationError) -> Value
    ) throws(VerificationError) -> (Value, [SignerObservation]) {
        guard revocation != nil else { return (try verify(verifier), []) }
        return try verifier.observingSigners(verify)
    }

    /// Whether the proof is accepted on its signature alone for now.
    private func isRevocationUnknown(
        _ observations: [SignerObservation], _ proof: [UInt8], _ beforeAsking: () -> Void = {}
    ) async throws(ProofError) -> Bool {
        guard let revocation else { return false }
        var status = revocation.known(observations)
        if status == nil {
            beforeAsking()
            status = await revocation.status(of: observations)
        }
        switch status {
        case .good: return false
        case .revoked(let detail):
            refused(.certificateRevoked)
            throw ProofError(.certificateRevoked, detail, zh: "证书已被吊销", proof: proof)
        // Apple answered that the certificate is on hold, so the caller has to wait.
        case .onHold(let detail):
            throw ProofError(.revocationUnknown, detail, zh: "证书暂停使用", proof: proof)
        case .unknown(let detail):
            guard revocation.policy == .hard else { return true }
            throw ProofError(.revocationUnknown, detail, zh: "未能查到证书是否已被吊销", proof: proof)
        case nil: return true
        }
    }

    private func recordingRefusal<Value>(
        _ proof: [UInt8], as kind: ProofInspection.Kind, _ verifier: SignedDataVerifier,
        _ verify: () throws(VerificationError) -> Value
    ) throws(ProofError) -> Value {
        do {
            return try verify()
        } catch {
            // The verifier's verdicts and the API's refusal codes are one list (CONTRACT §1).
            let code = Refusal(rawValue: error.verdict.rawValue) ?? .malformed
            refused(code)
            var refusal = ProofError(code, error.detail, zh: error.chineseDetail, proof: proof)
            refusal.verifier = (verifier, kind)
            throw refusal
        }
    }
}

/// A verified value.
package struct Verified<Value: Sendable>: Sendable {
    package let value: Value
    /// Accepted on its signature, while Apple did not say whether a certificate was revoked.
    package let isRevocationUnknown: Bool

    init(_ value: Value, isRevocationUnknown: Bool) {
        self.value = value
        self.isRevocationUnknown = isRevocationUnknown
    }
}

/// A verified notification, by its relation to this ledger.
package enum NotificationReading: Sendable {
    case ours(VerifiedNotification, isRevocationUnknown: Bool)
    /// For this app, but must not be processed before Apple says that its certificates are not revoked.
    case undecided(VerifiedNotification)
    /// For another app, or from no environment of the App Store; the refusal says which.
    case foreign(NotificationEnvelope, ProofError)

    /// Apple's id of the notification (`notificationUUID`).
    package var id: String {
        switch self {
        case .ours(let notification, _), .undecided(let notification): notification.id
        case .foreign(let envelope, _): envelope.id
        }
    }
}
