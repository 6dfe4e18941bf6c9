import TillBilling
import TillCrypto

/// Turns Apple's proofs into verified values, and is their only maker.
///
/// Every check of facts/jws §2 and facts/pkcs7-receipt §4 is done, in the order of `Verdict`; nothing is fetched, so
/// certificates are judged at the proof's own date and not asked about by OCSP (facts/jws §8, last point). One
/// verifier serves all threads.
public final class SignedDataVerifier: Sendable {
    public let policy: TrustPolicy
    let trust: TrustStore
    private let chains: ChainCache
    /// Hears whom a verification relies on, if somebody wants to know.
    let witness: SignerWitness?

    /// Longest tokens and receipts that are looked at, in bytes (facts/limits §3).
    public static let tokenLimit = 64 << 10
    public static let notificationLimit = 512 << 10
    public static let receiptLimit = 8 << 20

    /// - Throws: `bad_root` if a root of the policy is no certificate, or there is none.
    public init(policy: TrustPolicy) throws(VerificationFailure) {
        guard let trust = Self.trustStore(roots: policy.roots, isStrict: policy.isStrict), !policy.roots.isEmpty else {
            throw VerificationFailure(.badRoot)
        }
        self.policy = policy
        self.trust = trust
        chains = ChainCache()
        witness = nil
    }

    /// The same verifier with the same memory, for a verification that somebody watches.
    init(_ other: SignedDataVerifier, telling witness: SignerWitness) {
        policy = other.policy
        trust = other.trust
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

    // MARK: - The parts of every JWS check

    func token(_ bytes: [UInt8], limit: Int) throws(VerificationFailure) -> (CompactToken, JSONObject) {
        guard bytes.count <= limit else { throw VerificationFailure(.malformed, "longer than \(limit) bytes") }
        guard let token = CompactToken(bytes) else { throw VerificationFailure(.malformed, "not a compact JWS") }
        return (token, try Self.decoding { () throws(JSONError) in try JSONObject(token.payload) })
    }

    static func decoding<Result>(_ read: () throws(JSONError) -> Result) throws(VerificationFailure) -> Result {
        do { return try read() } catch { throw VerificationFailure(.malformed, "payload: \(error.rawValue)") }
    }

    /// Chain and signature. `signedAt` is the payload's own date, read before it is believed, to know when the
    /// certificates had to be valid.
    func authenticate(_ token: CompactToken, signedAt: Instant?) throws(VerificationFailure) {
        let now = policy.now()
        let seconds = (policy.at ?? signedAt ?? now).seconds
        if let known = chains.verifier(for: token, at: seconds, now: now) {
            guard token.isSigned(accordingTo: known.verifier) else { throw VerificationFailure(.badSignature) }
            witness?.saw(known.chain.questions, signedAt: signedAt)
            return
        }
        guard let header = JWSHeader(token.header) else { throw VerificationFailure(.malformed, "header") }
        let chain = try Self.chain(of: header, trust: trust, at: seconds)
        guard let key = chain.leaf.publicKey,
            let verifier = ES256Verifier(key: key, messagePrefix: Array(token.headerPrefix)),
            token.isSigned(accordingTo: verifier)
        else { throw VerificationFailure(.badSignature) }
        chains.remember(chain, verifier, of: token, now: now)
        witness?.saw(chain.questions, signedAt: signedAt)
    }

    static func chain(
        of header: JWSHeader, trust: TrustStore?, at seconds: Int64
    ) throws(VerificationFailure) -> SigningChain {
        guard !header.certificates.isEmpty else { throw VerificationFailure(.missingX5C) }
        guard header.json["alg"] == .string(JWSHeader.algorithm) else { throw VerificationFailure(.malformed, "alg") }
        return try SigningChain(x5c: header.certificates, trust: trust, at: seconds)
    }

    // MARK: - Is it for us?

    func checkApp(bundleID: String?) throws(VerificationFailure) {
        if let expected = policy.bundleID, bundleID != expected { throw VerificationFailure(.wrongApp, "bundleId") }
    }

    /// Apple states the app's number in production only; a proof of an accepted sandbox has none (facts/jws §2).
    func checkApp(appAppleID: Int64?, environment: String?) throws(VerificationFailure) {
        guard let expected = policy.appAppleID else { return }
        let accepted = policy.environments ?? [.production, .sandbox]
        guard accepted.contains(.production) else { return }
        if environment == Environment.sandbox.rawValue, accepted.contains(.sandbox) { return }
        if appAppleID != expected { throw VerificationFailure(.wrongApp, "appAppleId") }
    }

    func environment(_ text: String?) throws(VerificationFailure) -> Environment {
        guard let environment = text.flatMap(Environment.init(rawValue:)),
            policy.environments?.contains(environment) ?? true
        else { throw VerificationFailure(.wrongEnvironment, text ?? "none") }
        return environment
    }
}
