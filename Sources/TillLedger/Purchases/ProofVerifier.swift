import TillAppStore
import TillBilling
import TillCrypto

/// What this server believes, as a verifier; its refusals in our own words.
package struct ProofVerifier: Sendable {
    private let verifier: SignedDataVerifier
    /// The same, for proofs of either environment.
    private let anyEnvironment: SignedDataVerifier
    /// The same, for proofs of either environment and any app.
    private let anyApp: SignedDataVerifier
    private let environments: Set<Environment>
    /// Nil where nobody is asked about certificates.
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

    /// Whether purchases made there count here (DESIGN §4, invariant 7).
    func accepts(_ environment: Environment) -> Bool { environments.contains(environment) }

    /// Whether checking a token costs little (``SignedDataVerifier/knowsSigner(of:)``).
    package func knowsSigner(of token: String) -> Bool { verifier.knowsSigner(of: Array(token.utf8)) }

    /// - Throws: `revocation_unknown`, which is retryable, if Apple must be asked and does not answer.
    package func transaction(_ token: String) async throws(ProofRefusal) -> Verified<VerifiedTransaction> {
        let proof = Array(token.utf8)
        return try await believing(proof, as: .transaction, verifier) { verifier throws(VerificationFailure) in
            try verifier.transaction(proof)
        }
    }

    /// It names no app: whoever believes it has its transaction beside it (facts/jws §5).
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

    /// Apple's, of whichever environment and app: Apple is told that it arrived even where it does not count, or it
    /// would send it for days. Whoever settles ours asks `accepts` first.
    ///
    /// - Throws: what is wrong with what isn't Apple's.
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

    /// A verification, and then what Apple says about the certificates it relied on.
    private func believing<Value: Sendable>(
        _ proof: [UInt8], as kind: ProofInspection.Kind, _ verifier: SignedDataVerifier,
        _ verify: (SignedDataVerifier) throws(VerificationFailure) -> Value
    ) async throws(ProofRefusal) -> Verified<Value> {
        let (value, sightings) = try refusing(proof, as: kind, verifier) { () throws(VerificationFailure) in
            try witnessed(verifier, verify)
        }
        return Verified(value, isUnderDoubt: try await isUnderDoubt(sightings, proof))
    }

    /// Nobody watches where nobody will be asked.
    private func witnessed<Value>(
        _ verifier: SignedDataVerifier, _ verify: (SignedDataVerifier) throws(VerificationFailure) -> Value
    ) throws(VerificationFailure) -> (Value, [SignerSighting]) {
        guard revocation != nil else { return (try verify(verifier), []) }
        return try verifier.witnessed(verify)
    }

    /// Whether the proof counts on its signature alone for now.
    private func isUnderDoubt(_ sightings: [SignerSighting], _ proof: [UInt8]) async throws(ProofRefusal) -> Bool {
        guard let revocation else { return false }
        var standing = revocation.known(sightings)
        if standing == nil { standing = await revocation.standing(of: sightings) }
        switch standing {
        case .good: return false
        case .revoked(let detail): throw ProofRefusal(.certificateRevoked, detail, proof: proof)
        // Here Apple did answer: it says to wait.
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
            // The verdicts of the verifier and the codes of our refusals are one list (CONTRACT §1).
            var refusal = ProofRefusal(
                Refusal(rawValue: error.verdict.rawValue) ?? .malformed, error.detail, proof: proof)
            refusal.verifier = (verifier, kind)
            throw refusal
        }
    }
}

/// Something verified that this server relies on.
package struct Verified<Value: Sendable>: Sendable {
    package let value: Value
    /// Accepted on its signature while Apple did not say whether a certificate was revoked (U7).
    package let isUnderDoubt: Bool

    init(_ value: Value, isUnderDoubt: Bool) {
        self.value = value
        self.isUnderDoubt = isUnderDoubt
    }
}

/// What a notification that Apple signed is to this ledger.
package enum NotificationReading: Sendable {
    case ours(VerifiedNotification, isUnderDoubt: Bool)
    /// Ours, but nothing may be made of it before Apple says that its certificates were not revoked.
    case undecided(VerifiedNotification)
    /// For another app, or from no environment of the App Store; the refusal says why it isn't ours.
    case foreign(NotificationEnvelope, ProofRefusal)

    /// Apple's number of the notification.
    package var id: String {
        switch self {
        case .ours(let notification, _), .undecided(let notification): notification.id
        case .foreign(let envelope, _): envelope.id
        }
    }
}
