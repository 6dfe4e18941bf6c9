import TillBilling
import TillCrypto

/// Turns Apple's proofs into verified values, and is their only maker.
///
/// Every check of facts/jws §2 and facts/pkcs7-receipt §4 is done, in the order of `CheckCode`; nothing is fetched, so
/// certificates are judged at the proof's own date and not asked about by OCSP (facts/jws §8, last point). One
/// verifier serves all threads.
public final class SignedDataVerifier: Sendable {
    public let policy: TrustPolicy
    let trust: TrustStore
    private let demands: ProofDemands
    private let chains: ChainCache
    /// Hears whom a verification relies on, if somebody wants to know.
    private let witness: SignerWitness?

    /// Longest tokens and receipts that are looked at, in bytes (facts/limits §3).
    public static let tokenLimit = 64 << 10
    public static let notificationLimit = 512 << 10
    public static let receiptLimit = 8 << 20

    /// - Parameter other: whose memory of signers is shared; it must have the same roots and strictness.
    /// - Throws: `bad_root` if a root of the policy is no certificate, or there is none.
    public init(policy: TrustPolicy, rememberingWith other: SignedDataVerifier? = nil) throws(VerificationFailure) {
        guard let trust = Self.trustStore(roots: policy.roots, isStrict: policy.isStrict), !policy.roots.isEmpty else {
            throw VerificationFailure(.badRoot)
        }
        self.policy = policy
        self.trust = trust
        demands = ProofDemands(policy, trust: trust)
        chains = other?.chains ?? ChainCache(lifetime: policy.chainLifetime)
        witness = nil
    }

    /// The same verifier with the same memory, for a verification that somebody watches.
    init(_ other: SignedDataVerifier, telling witness: SignerWitness) {
        policy = other.policy
        trust = other.trust
        demands = other.demands
        chains = other.chains
        self.witness = witness
    }

    static func trustStore(roots: [[UInt8]], isStrict: Bool) -> TrustStore? {
        let certificates = roots.compactMap { Certificate(derOrPEM: $0) }
        guard certificates.count == roots.count else { return nil }
        return TrustStore(roots: certificates, strict: isStrict)
    }

    /// How many signers' chains are remembered just now.
    public var cachedChainCount: Int { chains.count }

    /// Whether the signer that a token names was believed a while ago: then checking it costs little, and otherwise a
    /// chain of certificates has to be judged first.
    public func knowsSigner(of jws: [UInt8]) -> Bool { chains.knows(jws, now: demands.now()) }

    private var checks: ProofChecks { ProofChecks(demands, chains: chains, witness: witness) }

    // MARK: - Tokens

    /// A signed transaction (JWSTransaction), as StoreKit 2, the server API and notifications deliver it.
    ///
    /// - Parameter jws: the compact serialization, at most 64 KiB.
    /// - Throws: the first check that fails; `malformed` also if what a settlement needs is missing (ids, product,
    ///   dates).
    public func transaction(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedTransaction {
        try checks.transaction(jws)
    }

    public func transaction(_ jws: String) throws(VerificationFailure) -> VerifiedTransaction {
        try transaction(Array(jws.utf8))
    }

    /// A signed renewal info (JWSRenewalInfo). It names no app: believe it only beside its transaction.
    public func renewalInfo(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedRenewalInfo {
        try checks.renewalInfo(jws)
    }

    public func renewalInfo(_ jws: String) throws(VerificationFailure) -> VerifiedRenewalInfo {
        try renewalInfo(Array(jws.utf8))
    }

    /// A signed app transaction (AppTransaction): the customer's download of the app.
    public func appTransaction(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedAppTransaction {
        try checks.appTransaction(jws)
    }

    public func appTransaction(_ jws: String) throws(VerificationFailure) -> VerifiedAppTransaction {
        try appTransaction(Array(jws.utf8))
    }

    /// An App Store Server Notification of version 2, by its `signedPayload`, with every token nested in it verified
    /// too. A nested token's verdict becomes the notification's, with its name in the detail.
    ///
    /// - Parameter signedPayload: the compact serialization, at most 512 KiB.
    public func notification(_ signedPayload: [UInt8]) throws(VerificationFailure) -> VerifiedNotification {
        try checks.notification(signedPayload)
    }

    public func notification(_ signedPayload: String) throws(VerificationFailure) -> VerifiedNotification {
        try notification(Array(signedPayload.utf8))
    }

    /// The outside of a notification, by this verifier's policy: one for any app and environment takes whatever Apple
    /// signed. Tokens nested in it are verified too, where it comes from an environment that has any.
    ///
    /// - Parameter signedPayload: the compact serialization, at most 512 KiB.
    public func envelope(_ signedPayload: [UInt8]) throws(VerificationFailure) -> NotificationEnvelope {
        try checks.envelope(signedPayload)
    }

    // MARK: - Receipts

    /// An app receipt (PKCS#7), as `appStoreReceiptURL` holds it: DER, or the BER that Xcode writes.
    ///
    /// Certificates are judged at the receipt's own creation date, which is signed: receipts outlive the certificate
    /// that signed them (facts/pkcs7-receipt §4.1).
    ///
    /// - Parameters:
    ///   - bytes: at most 8 MiB.
    ///   - device: the identifier that the receipt must have been made for; nil leaves it unasked.
    public func receipt(_ bytes: [UInt8], device: [UInt8]? = nil) throws(VerificationFailure) -> VerifiedReceipt {
        try ProofChecks(demands(device), witness: witness).receipt(bytes)
    }

    /// The same receipt as clients post it: base64 text, in which white space means nothing.
    public func receipt(
        base64 text: some StringProtocol, device: [UInt8]? = nil
    ) throws(VerificationFailure) -> VerifiedReceipt {
        guard text.utf8.count <= Self.receiptTextLimit, let bytes = Base64.decode(ignoringBlanks: text)
        else { throw VerificationFailure(.malformed, "base64") }
        return try receipt(bytes, device: device)
    }

    // MARK: - Why?

    /// Makes the same checks once more and writes them down; the verdict is the one that the plain call had. It costs
    /// a whole verification without the memory of chains: for the proof that was refused, not for every one.
    ///
    /// - Parameters:
    ///   - proof: what was given to the plain call, a receipt as DER.
    ///   - kind: which call that was. For `oldStyleReceipt`, which has none, the record is all there is.
    public func explain(
        _ proof: [UInt8], as kind: ProofInspection.Kind, device: [UInt8]? = nil
    ) -> VerificationRecord {
        let journal = VerificationJournal(kind: kind, input: proof)
        let demands = demands(device)
        let checks = ProofChecks(demands, journal: journal)
        do throws(VerificationFailure) {
            switch kind {
            case .transaction: _ = try checks.transaction(proof)
            case .renewal: _ = try checks.renewalInfo(proof)
            case .appTransaction: _ = try checks.appTransaction(proof)
            case .notification: _ = try checks.notification(proof)
            case .receipt: _ = try checks.receipt(proof)
            case .oldStyleReceipt:
                let text = if case .oldStyleReceipt(let text) = ProofForm(proof) { text } else { proof }
                return ProofInspection.oldStyleReceipt(text, demands, journal).record
            case .certificateChain:
                journal.refuse(.certificateCount, VerificationFailure(.malformed, "no proof"))
                return journal.finished()
            }
            journal.complete()
        } catch {
            // The journal has it.
        }
        return journal.finished()
    }

    private func demands(_ device: [UInt8]?) -> ProofDemands {
        device.map { ProofDemands(policy, trust: trust, device: $0) } ?? demands
    }
}

/// What a verification says, by the stable codes of CONTRACT §1, in the order of the checks.
public enum Verdict: String, Sendable, CaseIterable {
    case ok
    /// Not of the format, or without what the format demands.
    case malformed
    case missingX5C = "missing_x5c"
    case chainLength = "chain_length"
    /// A certificate of the proof cannot be read, or the signer's is not in it.
    case badCertificate = "bad_certificate"
    /// A configured root cannot be read.
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

/// A refusal of a proof: the verdict decides, the detail explains to people.
public struct VerificationFailure: Error, Equatable, Sendable {
    public let verdict: Verdict
    public let detail: String

    public init(_ verdict: Verdict, _ detail: String = "") {
        self.verdict = verdict
        self.detail = detail
    }

    /// Trying again with the same proof cannot help; only another proof or another configuration can.
    public var isRetryable: Bool { false }

    /// The same verdict for a token that is nested in another, named.
    func nested(in name: String) -> VerificationFailure {
        VerificationFailure(verdict, detail.isEmpty ? name : "\(name): \(detail)")
    }
}
