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
    private let environments: Set<Environment>
    /// Nil when revocation checking is off.
    private let revocation: RevocationChecker?

    /// - Throws: `bad_root` if a configured root is no certificate.
    init(
        trust: AppleTrust, clock: @escaping Ledger.Clock, effects: AppleEffects? = nil
    ) throws(VerificationFailure) {
        var policy = TrustPolicy(bundleID: trust.bundleID, environments: trust.environments, now: clock)
        if !trust.roots.isEmpty { policy.roots = trust.roots }
        policy.appAppleID = trust.appAppleID
        if let lifetime = trust.chainLifetime { policy.chainLifetime = lifetime }
        verifier = try SignedDataVerifier(policy: policy)
        policy.environments = nil
        anyEnvironment = try SignedDataVerifier(policy: policy, rememberingWith: verifier)
        policy.bundleID = nil
        policy.appAppleID = nil
        anyApp = try SignedDataVerifier(policy: policy, rememberingWith: verifier)
        environments = trust.environments
        if let effects, trust.revocation != .off {
            revocation = RevocationChecker(policy: trust.revocation, effects: effects)
        } else {
            revocation = nil
        }
    }

    /// Whether purchases made in this environment count on this server (DESIGN §4, invariant 7).
    func accepts(_ environment: Environment) -> Bool { environments.contains(environment) }

    /// Whether verifying this token costs little (``SignedDataVerifier/knowsSigner(of:)``).
    package func knowsSigner(of token: String) -> Bool { verifier.knowsSigner(of: Array(token.utf8)) }

    /// - Throws: `revocation_unknown`, which is retryable, if Apple must be asked and does not answer.
    package func transaction(_ token: String) async throws(ProofRefusal) -> Verified<VerifiedTransaction> {
        let proof = Array(token.utf8)
        return try await believing(proof, as: .transaction, verifier) { verifier throws(VerificationFailure) in
            try verifier.transaction(proof)
        }
    }

    /// Renewal information names no app, so the caller must have its verified transaction beside it (facts/jws §5).
    ///
    /// - Throws: as for transactions.
    func renewalInfo(_ token: String) async throws(ProofRefusal) -> Verified<VerifiedRenewalInfo> {
        let proof = Array(token.utf8)
        return try await believing(proof, as: .renewal, verifier) { verifier throws(VerificationFailure) in
            try verifier.renewalInfo(proof)
        }
    }

    /// The record of one transaction in an app receipt.
    func transaction(
        _ id: TransactionID, inReceipt bytes: [UInt8]
    ) async throws(ProofRefusal) -> Verified<VerifiedTransaction> {
        let receipt = try await receipt(bytes)
        guard let transaction = receipt.value.transaction(id) else {
            throw ProofRefusal(
                .transactionNotInReceipt, "\(receipt.value.transactions.count) other transactions", proof: bytes)
        }
        return Verified(transaction, isUnderDoubt: receipt.isUnderDoubt)
    }

    /// Everything in an app receipt.
    package func receipt(_ bytes: [UInt8]) async throws(ProofRefusal) -> Verified<VerifiedReceipt> {
        try await believing(bytes, as: .receipt, verifier) { verifier throws(VerificationFailure) in
            try verifier.receipt(bytes)
        }
    }

    /// Verifies a notification that Apple signed for any environment and app. Apple must get a success response even if
    /// the notification does not count here, or it sends it again for days. Callers check `accepts` before they process
    /// it.
    ///
    /// - Throws: the refusal, if Apple did not sign it.
    package func notification(_ token: String) async throws(ProofRefusal) -> NotificationReading {
        let proof = Array(token.utf8)
        let (notification, sightings): (VerifiedNotification, [SignerSighting])
        do throws(ProofRefusal) {
            (notification, sightings) = try refusing(proof, as: .notification, anyEnvironment) {
                () throws(VerificationFailure) in
                try witnessed(anyEnvironment) { verifier throws(VerificationFailure) in
                    try verifier.notification(proof)
                }
            }
        } catch {
            guard error.refusal == .wrongApp || error.refusal == .wrongEnvironment else { throw error }
            let envelope = try refusing(proof, as: .notification, anyApp) { () throws(VerificationFailure) in
                try anyApp.envelope(proof)
            }
            return .foreign(envelope, error)
        }
        do throws(ProofRefusal) {
            return .ours(notification, isUnderDoubt: try await isUnderDoubt(sightings, proof))
        } catch {
            guard error.refusal.isRetryable else { throw error }
            return .undecided(notification)
        }
    }

    // MARK: Signers

    /// Verifies, then checks with Apple the revocation status of the certificates used.
    private func believing<Value: Sendable>(
        _ proof: [UInt8], as kind: ProofInspection.Kind, _ verifier: SignedDataVerifier,
        _ verify: (SignedDataVerifier) throws(VerificationFailure) -> Value
    ) async throws(ProofRefusal) -> Verified<Value> {
        let (value, sightings) = try refusing(proof, as: kind, verifier) { () throws(VerificationFailure) in
            try witnessed(verifier, verify)
        }
        return Verified(value, isUnderDoubt: try await isUnderDoubt(sightings, proof))
    }

    /// Skips recording the signers when revocation checking is off.
    private func witnessed<Value>(
        _ verifier: SignedDataVerifier, _ verify: (SignedDataVerifier) throws(VerificationFailure) -> Value
    ) throws(VerificationFailure) -> (Value, [SignerSighting]) {
        guard revocation != nil else { return (try verify(verifier), []) }
        return try verifier.witnessed(verify)
    }

    /// Whether the proof is accepted on its signature alone for now.
    private func isUnderDoubt(_ sightings: [SignerSighting], _ proof: [UInt8]) async throws(ProofRefusal) -> Bool {
        guard let revocation else { return false }
        var standing = revocation.known(sightings)
        if standing == nil { standing = await revocation.standing(of: sightings) }
        switch standing {
        case .good: return false
        case .revoked(let detail): throw ProofRefusal(.certificateRevoked, detail, proof: proof)
        // Apple answered that the certificate is on hold, so the caller has to wait.
        case .onHold(let detail): throw ProofRefusal(.revocationUnknown, detail, proof: proof)
        case .unknown(let detail):
            if revocation.policy == .hard { throw ProofRefusal(.revocationUnknown, detail, proof: proof) }
            return true
        case nil: return true
        }
    }

    private func refusing<Value>(
        _ proof: [UInt8], as kind: ProofInspection.Kind, _ verifier: SignedDataVerifier,
        _ verify: () throws(VerificationFailure) -> Value
    ) throws(ProofRefusal) -> Value {
        do {
            return try verify()
        } catch {
            // The verifier's verdicts and the API's refusal codes are one list (CONTRACT §1).
            var refusal = ProofRefusal(
                Refusal(rawValue: error.verdict.rawValue) ?? .malformed, error.detail, proof: proof)
            refusal.verifier = (verifier, kind)
            throw refusal
        }
    }
}

/// A verified value.
package struct Verified<Value: Sendable>: Sendable {
    package let value: Value
    /// Accepted on its signature, while Apple did not say whether a certificate was revoked.
    package let isUnderDoubt: Bool

    init(_ value: Value, isUnderDoubt: Bool) {
        self.value = value
        self.isUnderDoubt = isUnderDoubt
    }
}

/// A verified notification, by its relation to this ledger.
package enum NotificationReading: Sendable {
    case ours(VerifiedNotification, isUnderDoubt: Bool)
    /// For this app, but must not be processed before Apple says that its certificates are not revoked.
    case undecided(VerifiedNotification)
    /// For another app, or from no environment of the App Store; the refusal says which.
    case foreign(NotificationEnvelope, ProofRefusal)

    /// Apple's id of the notification (`notificationUUID`).
    package var id: String {
        switch self {
        case .ours(let notification, _), .undecided(let notification): notification.id
        case .foreign(let envelope, _): envelope.id
        }
    }
}
