import TillBilling
import TillCrypto

/// Verifies Apple's proofs. It is the only type that creates verified values.
///
/// It makes every check of facts/jws §2 and facts/pkcs7-receipt §4, in the order of `CheckCode`. It works offline:
/// certificates are verified at the proof's own date and not checked by OCSP (facts/jws §8, last point). One verifier
/// serves all threads.
public final class SignedDataVerifier: Sendable {
    public let policy: TrustPolicy
    let trust: TrustStore
    private let verificationPolicy: VerificationPolicy
    private let chains: ChainCache
    /// Receives the chains that a verification relies on; nil if they are not needed.
    private let observer: SignerObserver?

    /// The maximum length of tokens and receipts, in bytes (facts/limits §3).
    public static let tokenLimit = 64 << 10
    public static let notificationLimit = 512 << 10
    public static let receiptLimit = 8 << 20

    /// - Parameter other: a verifier whose cache of signers is shared; it must have the same roots and strictness.
    /// - Throws: `bad_root` if there is no root, or a root of the policy is not a certificate; also if the policy
    ///   accepts `xcode` beside another environment or without a test certificate.
    public init(policy: TrustPolicy, rememberingWith other: SignedDataVerifier? = nil) throws(VerificationError) {
        guard let trust = Self.trustStore(roots: policy.roots, isStrict: policy.isStrict), !policy.roots.isEmpty else {
            throw VerificationError(.badRoot)
        }
        if policy.environments?.contains(.xcode) == true {
            guard policy.environments == [.xcode], !policy.testCertificates.isEmpty,
                policy.testCertificates.allSatisfy({ Certificate(der: $0) != nil })
            else { throw VerificationError(.badRoot, "xcode") }
        }
        self.policy = policy
        self.trust = trust
        let verificationPolicy = VerificationPolicy(policy, trust: trust)
        self.verificationPolicy = verificationPolicy
        // A signer that only a test trusts must be unknown to every other verifier.
        let shared = other.flatMap { other in
            other.verificationPolicy.testCertificates == verificationPolicy.testCertificates ? other.chains : nil
        }
        chains = shared ?? ChainCache(lifetime: policy.chainLifetime)
        observer = nil
    }

    /// A copy with the same cache, for a verification whose signers are collected.
    init(_ other: SignedDataVerifier, notifying observer: SignerObserver) {
        policy = other.policy
        trust = other.trust
        verificationPolicy = other.verificationPolicy
        chains = other.chains
        self.observer = observer
    }

    static func trustStore(roots: [[UInt8]], isStrict: Bool) -> TrustStore? {
        let certificates = roots.compactMap { Certificate(derOrPEM: $0) }
        guard certificates.count == roots.count else { return nil }
        return TrustStore(roots: certificates, strict: isStrict)
    }

    /// The number of cached signers' chains.
    public var cachedChainCount: Int { chains.count }

    /// The number of cached chains of receipts' signers.
    public var cachedReceiptChainCount: Int { chains.receiptCount }

    /// Whether the chain of the token's signer is cached. If it is, verification is cheap; otherwise a certificate
    /// chain has to be verified first.
    public func knowsSigner(of jws: [UInt8]) -> Bool { chains.knows(jws, now: verificationPolicy.now()) }

    private var checks: ProofChecks { ProofChecks(verificationPolicy, chains: chains, observer: observer) }

    // MARK: - Tokens

    /// Verifies a signed transaction (JWSTransaction), as delivered by StoreKit 2, the server API and notifications.
    ///
    /// - Parameter jws: the compact serialization, at most 64 KiB.
    /// - Throws: the first check that fails; `malformed` also if a field that processing needs is missing (ids,
    ///   product, dates).
    public func transaction(_ jws: [UInt8]) throws(VerificationError) -> VerifiedTransaction {
        try checks.transaction(jws)
    }

    public func transaction(_ jws: String) throws(VerificationError) -> VerifiedTransaction {
        try transaction(Array(jws.utf8))
    }

    /// Verifies a signed renewal info (JWSRenewalInfo). It names no app: use it only together with its transaction.
    public func renewalInfo(_ jws: [UInt8]) throws(VerificationError) -> VerifiedRenewalInfo {
        try checks.renewalInfo(jws)
    }

    public func renewalInfo(_ jws: String) throws(VerificationError) -> VerifiedRenewalInfo {
        try renewalInfo(Array(jws.utf8))
    }

    /// Verifies a signed app transaction (AppTransaction): the customer's download of the app.
    public func appTransaction(_ jws: [UInt8]) throws(VerificationError) -> VerifiedAppTransaction {
        try checks.appTransaction(jws)
    }

    public func appTransaction(_ jws: String) throws(VerificationError) -> VerifiedAppTransaction {
        try appTransaction(Array(jws.utf8))
    }

    /// Verifies the `signedPayload` of an App Store Server Notification of version 2, including every nested token. The
    /// verdict of a nested token becomes the notification's, with the token's name in the detail.
    ///
    /// - Parameter signedPayload: the compact serialization, at most 512 KiB.
    public func notification(_ signedPayload: [UInt8]) throws(VerificationError) -> VerifiedNotification {
        try checks.notification(signedPayload)
    }

    public func notification(_ signedPayload: String) throws(VerificationError) -> VerifiedNotification {
        try notification(Array(signedPayload.utf8))
    }

    /// Verifies the envelope of a notification. A policy for any app and environment accepts every notification that
    /// Apple signed. Nested tokens are verified too, if the notification names an environment of the App Store.
    ///
    /// - Parameter signedPayload: the compact serialization, at most 512 KiB.
    public func envelope(_ signedPayload: [UInt8]) throws(VerificationError) -> NotificationEnvelope {
        try checks.envelope(signedPayload)
    }

    // MARK: - Receipts

    /// Verifies an app receipt (PKCS#7), the content of `appStoreReceiptURL`: DER, or the BER that Xcode writes.
    ///
    /// Certificates are verified at the receipt's signed creation date, because receipts outlive the certificate that
    /// signed them (facts/pkcs7-receipt §4.1).
    ///
    /// - Parameters:
    ///   - bytes: at most 8 MiB.
    ///   - device: the identifier that the receipt must have been made for; nil skips this check.
    public func receipt(_ bytes: [UInt8], device: [UInt8]? = nil) throws(VerificationError) -> VerifiedReceipt {
        try ProofChecks(verificationPolicy(device), chains: chains, observer: observer).receipt(bytes)
    }

    /// Verifies a receipt as clients post it: base64 text in which white space is ignored.
    public func receipt(
        base64 text: some StringProtocol, device: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        guard text.utf8.count <= Self.receiptTextLimit, let bytes = Base64.decode(ignoringBlanks: text)
        else { throw VerificationError(.malformed, "base64") }
        return try receipt(bytes, device: device)
    }

    // MARK: - Explanations

    /// Repeats the checks and records them; the verdict equals that of the plain call. It costs a complete verification
    /// without the cache of chains, so use it for refused proofs.
    ///
    /// - Parameters:
    ///   - proof: the argument of the plain call; a receipt as DER.
    ///   - kind: the kind of the plain call. For `oldStyleReceipt`, which has none, the record is the only result.
    public func explain(
        _ proof: [UInt8], as kind: ProofInspection.Kind, device: [UInt8]? = nil
    ) -> VerificationRecord {
        let recorder = VerificationRecorder(kind: kind, input: proof)
        let verificationPolicy = verificationPolicy(device)
        let checks = ProofChecks(verificationPolicy, recorder: recorder)
        do throws(VerificationError) {
            switch kind {
            case .transaction: _ = try checks.transaction(proof)
            case .renewal: _ = try checks.renewalInfo(proof)
            case .appTransaction: _ = try checks.appTransaction(proof)
            case .notification: _ = try checks.notification(proof)
            case .receipt: _ = try checks.receipt(proof)
            case .oldStyleReceipt:
                let text = if case .oldStyleReceipt(let text) = ProofFormat(proof) { text } else { proof }
                return ProofInspection.oldStyleReceipt(text, verificationPolicy, recorder).record
            case .certificateChain:
                recorder.refuse(.certificateCount, VerificationError(.malformed, "no proof"))
                return recorder.finished()
            }
            recorder.complete()
        } catch {
            // The journal has recorded the failure.
        }
        return recorder.finished()
    }

    private func verificationPolicy(_ device: [UInt8]?) -> VerificationPolicy {
        device.map { VerificationPolicy(policy, trust: trust, device: $0) } ?? verificationPolicy
    }
}

/// The result of a verification as a stable code, in the order of the checks.
public enum Verdict: String, Sendable, CaseIterable {
    case ok
    /// Not in the format, or without a required part.
    case malformed
    case missingX5C = "missing_x5c"
    case chainLength = "chain_length"
    /// A certificate of the proof is unreadable, or the signer's is missing.
    case badCertificate = "bad_certificate"
    /// A configured root is unreadable.
    case badRoot = "bad_root"
    case chainUntrusted = "chain_untrusted"
    case chainExpired = "chain_expired"
    /// A certificate lacks Apple's marker extension for its place.
    case missingOID = "missing_oid"
    case badSignature = "bad_signature"
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"
    case wrongDevice = "wrong_device"
}

/// A refusal of a proof: decisions use the verdict; the detail is for people.
public struct VerificationError: Error, Equatable, Sendable {
    public let verdict: Verdict
    /// In English, or a name that is the same in every language.
    public let detail: String
    public let chineseDetail: String

    public init(_ verdict: Verdict, _ detail: String = "", zh chinese: String? = nil) {
        self.verdict = verdict
        self.detail = detail
        chineseDetail = chinese ?? detail
    }

    /// False: only another proof or another configuration can succeed.
    public var isRetryable: Bool { false }

    /// The same verdict for a token nested in another, with its name.
    func nested(in name: String) -> VerificationError {
        detail.isEmpty
            ? VerificationError(verdict, name)
            : VerificationError(verdict, "\(name): \(detail)", zh: "\(name)：\(chineseDetail)")
    }
}
