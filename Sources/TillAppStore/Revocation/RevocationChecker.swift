import TillBilling
import TillCrypto
import TillThreads

/// Asks Apple by OCSP (RFC 6960) whether the certificates behind proofs were revoked, and caches the answers.
///
/// Cached answers return at once. An unknown certificate causes one request, which all waiting proofs share. The
/// request goes to the responder that the certificate names; the certificate leads to a configured root, so Apple chose
/// that address. A slow, failing or lying responder makes no proof valid or invalid; it is not asked again for a while.
public final class RevocationChecker: Sendable {
    /// Never `off`: without revocation checking there is no checker.
    public let policy: RevocationPolicy
    private let effects: AppleEffects
    private let cache = Locked(RevocationCache())

    /// How long a proof waits for a responder, in milliseconds. Apple's libraries wait thirty seconds; here a customer
    /// is waiting.
    public static let timeout: Int64 = 5_000

    public init(policy: RevocationPolicy, effects: AppleEffects) {
        self.policy = policy
        self.effects = effects
    }

    /// The status of the signers, if it is cached; nil if a responder has to be asked first.
    public func known(_ observations: [SignerObservation]) -> SignerStatus? {
        let now = effects.clock()
        return cache.withLock { $0.status(of: observations, at: now) }
    }

    /// The status of the signers. Asks about certificates without a cached answer, which takes a few seconds at most.
    public func status(of observations: [SignerObservation]) async -> SignerStatus {
        if let known = known(observations) { return known }
        let now = effects.clock()
        let questions = cache.withLock { $0.open(observations, at: now) }
        await withTaskGroup(of: Void.self) { group in
            for question in questions {
                group.addTask { await self.refresh(question) }
            }
        }
        return known(observations) ?? .unknown("no answer yet")
    }

    /// The number of certificates with a cached answer.
    public var rememberedCount: Int { cache.withLock { $0.count } }

    // MARK: One request at a time

    enum Response: Sendable {
        case status(OCSPStatus)
        /// No readable response arrived; the text is for people.
        case unreachable(String)
    }

    private func refresh(_ question: OCSPRequest) async {
        while true {
            let now = effects.clock()
            switch cache.withLock({ $0.begin(question, at: now) }) {
            case .done: return
            case .ask:
                let answer = await ask(question)
                // A cancelled caller has no answer; one of the waiting callers asks in its place.
                let isCancelled = Task.isCancelled
                let then = effects.clock()
                let waiting = cache.withLock { $0.end(question, isCancelled ? nil : answer, at: then) }
                for waiter in waiting { waiter.resume() }
                return
            case .wait:
                await withCheckedContinuation { waiter in
                    if !cache.withLock({ $0.wait(question, waiter) }) { waiter.resume() }
                }
                if Task.isCancelled { return }
            }
        }
    }

    private func ask(_ question: OCSPRequest) async -> Response {
        guard let url = question.responderURL else { return .unreachable("names no OCSP responder") }
        // Without a nonce: Apple prepares its responses in advance, and they can be replayed only within their stated
        // validity.
        guard let body = question.request() else { return .unreachable("no OCSP request can be made for it") }
        let request = AppleRequest(
            .post, url,
            headers: [.init("Content-Type", "application/ocsp-request"), .init("Accept", "application/ocsp-response")],
            body: body, responseLimit: OCSPRequest.responseLimit)
        let reply: AppleResponse
        do throws(AppleConnectionError) {
            reply = try await exchange(request)
        } catch {
            return .unreachable("\(url): \(error.reason.rawValue)")
        }
        guard reply.status == 200 else { return .unreachable("\(url): HTTP \(reply.status)") }
        return .status(question.result(in: reply.body, at: effects.clock().seconds))
    }

    /// The exchange, with `timeout` as its time limit.
    private func exchange(_ request: AppleRequest) async throws(AppleConnectionError) -> AppleResponse {
        let effects = effects
        let result = await withTaskGroup(of: Result<AppleResponse, AppleConnectionError>.self) { group in
            group.addTask {
                do throws(AppleConnectionError) {
                    return .success(try await effects.exchange(request))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await effects.pause(Self.timeout)
                return .failure(AppleConnectionError(.timedOut))
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .failure(AppleConnectionError(.stopped))
        }
        return try result.get()
    }
}

/// Whether Apple is asked if the certificates behind a proof were revoked, and how a proof counts while no answer is
/// available (facts/jws §2 step 8, §8).
public enum RevocationPolicy: String, Sendable, CaseIterable {
    /// Revocation checking is off: proofs are verified offline.
    case off
    /// Apple is asked; while no answer is available, a proof counts on its signature.
    case soft
    /// Apple is asked; while no answer is available, a proof waits. It is not refused.
    case hard
}

/// The revocation status of the certificates behind one proof.
public enum SignerStatus: Sendable, Hashable {
    case good
    /// No reliable statement exists about a certificate; the text names the certificate and the reason, for operators.
    case unknown(String)
    /// The authority has put a certificate on hold: it may be revoked or released later.
    case onHold(String)
    /// Revoked with effect on this proof; the text contains the date and the reason. Final.
    case revoked(String)

    /// The severity, to find the worst of several.
    private var weight: Int {
        switch self {
        case .good: 0
        case .unknown: 1
        case .onHold: 2
        case .revoked: 3
        }
    }

    func worse(of other: SignerStatus) -> SignerStatus { other.weight > weight ? other : self }
}

extension CRLReason {
    /// Whether the reason implies that the key was not compromised, so that the signing date in a proof can be trusted
    /// (decisions/0015). A missing reason does not imply it.
    var leavesKeySound: Bool {
        switch self {
        case .affiliationChanged, .superseded, .cessationOfOperation, .privilegeWithdrawn, .certificateHold: true
        default: false
        }
    }
}

extension SignerStatus {
    /// The effect of a revocation on a proof.
    ///
    /// - Parameter signedAt: the proof's own date; nil if it states none, and then the proof never counts as older than
    ///   the revocation.
    init(
        _ certificate: Certificate, revokedAt seconds: Int64, reason: CRLReason?, signedAt: Instant?
    ) {
        let date = Instant(seconds: seconds)
        if let reason, reason.leavesKeySound, let signedAt, signedAt < date {
            self = .good
            return
        }
        let cause = reason?.name ?? "no reason given"
        if reason == .certificateHold {
            self = .onHold("\(certificate.subject): on hold since \(date.rfc3339)")
        } else {
            self = .revoked("\(certificate.subject): revoked at \(date.rfc3339), \(cause)")
        }
    }
}

/// A chain that a verification relied on.
public struct SignerObservation: Sendable {
    /// Each certificate below the root, with its issuer.
    public let questions: [OCSPRequest]
    /// The signing date that the proof states.
    public let signedAt: Instant?

    public init(questions: [OCSPRequest], signedAt: Instant?) {
        self.questions = questions
        self.signedAt = signedAt
    }
}

/// Collects the chains that one verification relies on: a notification has up to four signatures.
final class SignerObserver: @unchecked Sendable {
    // Unchecked: one verification uses it, on one thread, and it is read after the verification.
    private(set) var observations: [SignerObservation] = []

    func observe(_ questions: [OCSPRequest], signedAt: Instant?) {
        observations.append(SignerObservation(questions: questions, signedAt: signedAt))
    }
}

extension SignedDataVerifier {
    /// Verifies, and also returns the chains of the signatures that the verification relied on; each leads to a
    /// configured root.
    ///
    /// - Parameter verify: receives a verifier with the same policy and cache, and uses it on the calling thread only.
    public func observingSigners<Value>(
        _ verify: (SignedDataVerifier) throws(VerificationError) -> Value
    ) throws(VerificationError) -> (value: Value, observations: [SignerObservation]) {
        let observer = SignerObserver()
        let value = try verify(SignedDataVerifier(self, notifying: observer))
        return (value, observer.observations)
    }
}

extension SigningChain {
    /// The questions about a verified chain. The root has no issuer, so it is not asked about.
    static func questions(along path: [Certificate]) -> [OCSPRequest] {
        zip(path, path.dropFirst()).map(OCSPRequest.init(certificate:issuer:))
    }
}
