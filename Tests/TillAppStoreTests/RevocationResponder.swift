import CTillOpenSSL
import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillThreads

/// Apple's OCSP responders as a test needs them: honest, slow, down or lying, at any time that the test sets.
final class RevocationResponder: Sendable {
    static let leafURL = "http://ocsp.example.com/leaf"
    static let intermediateURL = "http://ocsp.example.com/intermediate"

    /// The behavior of a responder.
    enum Conduct: Sendable {
        case good(forSeconds: Int64?)
        case revoked(at: Instant, reason: Int32)
        case unheardOf
        /// Answers with another authority's key.
        case forged(isRevoked: Bool)
        /// Answers about another certificate.
        case another(isRevoked: Bool)
        case bytes([UInt8], status: Int)
        case outage(AppleConnectionError.Reason)
        /// Never answers.
        case silent
    }

    private struct State {
        var now = TestAuthority.today
        var leaf = Conduct.good(forSeconds: 86_400)
        var intermediate = Conduct.good(forSeconds: 86_400)
        var requests: [AppleRequest] = []
        /// Answers wait until this many requests have arrived.
        var isHeld = false
        var isImpatient = false
    }

    let authority: TestAuthority
    private let stranger = TestAuthority()
    private let state = Locked(State())

    init(urls: Bool = true) {
        var flaws = TestAuthority.Flaws()
        if urls { (flaws.leafOCSP, flaws.intermediateOCSP) = (Self.leafURL, Self.intermediateURL) }
        authority = TestAuthority(flaws)
    }

    var now: Instant { state.withLock { $0.now } }
    func advance(seconds: Int64) { state.withLock { $0.now = $0.now.adding(seconds: seconds) } }

    var requests: [AppleRequest] { state.withLock { $0.requests } }
    /// The number of requests since the last call.
    func takeCount() -> Int {
        state.withLock { state in
            defer { state.requests = [] }
            return state.requests.count
        }
    }

    func behave(leaf: Conduct? = nil, intermediate: Conduct? = nil) {
        state.withLock { state in
            state.leaf = leaf ?? state.leaf
            state.intermediate = intermediate ?? state.intermediate
        }
    }

    func hold(_ isHeld: Bool) { state.withLock { $0.isHeld = isHeld } }
    func beImpatient() { state.withLock { $0.isImpatient = true } }

    var effects: AppleEffects {
        AppleEffects(
            exchange: { request async throws(AppleConnectionError) in try await self.answer(request) },
            clock: { self.now },
            entropy: RandomBytes.make,
            pause: { milliseconds in
                let isImpatient = self.state.withLock { $0.isImpatient }
                try? await Task.sleep(for: .milliseconds(isImpatient ? 20 : milliseconds))
            })
    }

    func checker(_ policy: RevocationPolicy = .soft) -> RevocationChecker {
        RevocationChecker(policy: policy, effects: effects)
    }

    /// The certificates that a verification of this authority's proofs relies on.
    func observations(signedAt: Instant? = TestAuthority.today) -> [SignerObservation] {
        let chain = authority.certificates.compactMap { Certificate(der: $0) }
        return [
            SignerObservation(
                questions: zip(chain, chain.dropFirst()).map(OCSPRequest.init(certificate:issuer:)),
                signedAt: signedAt)
        ]
    }

    // MARK: Answers

    private func answer(_ request: AppleRequest) async throws(AppleConnectionError) -> AppleResponse {
        state.withLock { $0.requests.append(request) }
        while state.withLock({ $0.isHeld }), !Task.isCancelled { await Task.yield() }
        let isLeaf = request.url == Self.leafURL
        let conduct = state.withLock { isLeaf ? $0.leaf : $0.intermediate }
        let (subject, issuer) =
            isLeaf ? (authority.leaf, authority.intermediate) : (authority.intermediate, authority.root)
        let day: Int64 = 86_400
        let compromise = Conduct.revoked(at: now, reason: 1)
        switch conduct {
        case .good, .revoked, .unheardOf: return Self.answer(conduct, subject, issuer, by: issuer, at: now)
        case .forged(let isRevoked):
            let claim = isRevoked ? compromise : .good(forSeconds: day)
            return Self.answer(claim, subject, issuer, by: stranger.intermediate, at: now)
        case .another(let isRevoked):
            let claim = isRevoked ? compromise : .good(forSeconds: day)
            return Self.answer(claim, stranger.leaf, issuer, by: issuer, at: now)
        case .bytes(let bytes, let status): return AppleResponse(status: status, body: bytes)
        case .outage(let reason): throw AppleConnectionError(reason)
        case .silent:
            try? await Task.sleep(for: .seconds(60))
            throw AppleConnectionError(.stopped)
        }
    }

    static func answer(
        _ conduct: Conduct, _ subject: TestCertificate, _ issuer: TestCertificate, by signer: TestCertificate,
        at now: Instant
    ) -> AppleResponse {
        let basic = OCSP_BASICRESP_new()
        defer { OCSP_BASICRESP_free(basic) }
        let identifier = OCSP_cert_to_id(EVP_sha1(), subject.certificate, issuer.certificate)
        defer { OCSP_CERTID_free(identifier) }
        var status = V_OCSP_CERTSTATUS_UNKNOWN
        var (reason, revokedAt, seconds): (Int32, OpaqueTime?, Int64?) = (-1, nil, 3_600)
        switch conduct {
        case .good(let validity): (status, seconds) = (V_OCSP_CERTSTATUS_GOOD, validity)
        case .revoked(let date, let why):
            (status, reason) = (V_OCSP_CERTSTATUS_REVOKED, why)
            revokedAt = ASN1_TIME_set(nil, time_t(date.seconds))
        default: break
        }
        let thisUpdate = ASN1_TIME_set(nil, time_t(now.seconds))
        let nextUpdate = seconds.map { ASN1_TIME_set(nil, time_t(now.seconds + $0)) } ?? nil
        defer { for time in [revokedAt, thisUpdate, nextUpdate] { ASN1_TIME_free(time) } }
        OCSP_basic_add1_status(basic, identifier, status, reason, revokedAt, thisUpdate, nextUpdate)
        OCSP_basic_sign(basic, signer.certificate, signer.key, EVP_sha256(), nil, 0)
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
        defer { OCSP_RESPONSE_free(response) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_OCSP_RESPONSE(response, &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        return AppleResponse(status: 200, body: Array(UnsafeBufferPointer(start: bytes, count: Int(count))))
    }

    private typealias OpaqueTime = UnsafeMutablePointer<ASN1_TIME>
}
