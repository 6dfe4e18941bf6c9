import TillBilling
import TillCrypto
import TillThreads

/// Asks Apple whether the certificates behind proofs were revoked, by OCSP (RFC 6960), and remembers what was said.
///
/// What is known is answered without waiting. What is not is asked once, however many proofs wait for it, and asked
/// where the certificate itself says: its chain leads to a configured root, so that is Apple's word and no stranger's.
/// A responder that is slow, down or lying makes nothing forged and nothing good; it is left alone for a while.
public final class RevocationChecker: Sendable {
    /// Never `off`: who asks nobody needs no checker.
    public let policy: RevocationPolicy
    private let effects: AppleEffects
    private let record = Locked(RevocationRecord())

    /// How long a proof waits for a responder, in milliseconds. Apple's libraries wait thirty seconds; a buyer is
    /// waiting here.
    public static let patience: Int64 = 5_000

    public init(policy: RevocationPolicy, effects: AppleEffects) {
        self.policy = policy
        self.effects = effects
    }

    /// How the signers stand, if that is known at this moment; nil if somebody has to be asked first.
    public func known(_ sightings: [SignerSighting]) -> SignerStanding? {
        let now = effects.clock()
        return record.withLock { $0.standing(of: sightings, at: now) }
    }

    /// How the signers stand, after asking about those certificates about which nothing is known: at most some seconds
    /// later.
    public func standing(of sightings: [SignerSighting]) async -> SignerStanding {
        if let known = known(sightings) { return known }
        let now = effects.clock()
        let questions = record.withLock { $0.open(sightings, at: now) }
        await withTaskGroup(of: Void.self) { group in
            for question in questions {
                group.addTask { await self.settle(question) }
            }
        }
        return known(sightings) ?? .unknown("no answer yet")
    }

    /// How many certificates something is remembered about.
    public var rememberedCount: Int { record.withLock { $0.count } }

    // MARK: One question at a time

    enum Answer: Sendable {
        case said(OCSPAnswer)
        /// Nothing came that could be read; the text is for people.
        case outage(String)
    }

    private func settle(_ question: OCSPQuestion) async {
        while true {
            let now = effects.clock()
            switch record.withLock({ $0.begin(question, at: now) }) {
            case .done: return
            case .ask:
                let answer = await ask(question)
                // Whoever was told to stop learned nothing; one of those who wait asks in its place.
                let isCancelled = Task.isCancelled
                let then = effects.clock()
                let waiting = record.withLock { $0.end(question, isCancelled ? nil : answer, at: then) }
                for waiter in waiting { waiter.resume() }
                return
            case .wait:
                await withCheckedContinuation { waiter in
                    if !record.withLock({ $0.wait(question, waiter) }) { waiter.resume() }
                }
                if Task.isCancelled { return }
            }
        }
    }

    private func ask(_ question: OCSPQuestion) async -> Answer {
        guard let url = question.responderURL else { return .outage("names no OCSP responder") }
        // Without a nonce: Apple's responses are made in advance, and nobody else can repeat them for longer than
        // they say.
        guard let body = question.request() else { return .outage("no OCSP request can be made for it") }
        let request = AppleRequest(
            .post, url,
            headers: [.init("Content-Type", "application/ocsp-request"), .init("Accept", "application/ocsp-response")],
            body: body, answerLimit: OCSPQuestion.responseLimit)
        let reply: AppleAnswer
        do throws(AppleOutage) {
            reply = try await exchange(request)
        } catch {
            return .outage("\(url): \(error.reason.rawValue)")
        }
        guard reply.status == 200 else { return .outage("\(url): HTTP \(reply.status)") }
        return .said(question.answer(in: reply.body, at: effects.clock().seconds))
    }

    /// The exchange, given up after `patience`.
    private func exchange(_ request: AppleRequest) async throws(AppleOutage) -> AppleAnswer {
        let effects = effects
        let result = await withTaskGroup(of: Result<AppleAnswer, AppleOutage>.self) { group in
            group.addTask {
                do throws(AppleOutage) {
                    return .success(try await effects.exchange(request))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await effects.pause(Self.patience)
                return .failure(AppleOutage(.timedOut))
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .failure(AppleOutage(.stopped))
        }
        return try result.get()
    }
}

/// Whether Apple is asked if the certificates behind a proof were revoked, and what counts while Apple says nothing
/// (facts/jws §2 step 8, §8).
public enum RevocationPolicy: String, Sendable, CaseIterable {
    /// Nobody is asked: proofs are judged by themselves, offline.
    case off
    /// Asked; while there is no answer, a proof counts on its signature (U7).
    case soft
    /// Asked; while there is no answer, a proof has to wait. It is not refused.
    case hard
}

/// How the signers of one proof stand with those who issued their certificates.
public enum SignerStanding: Sendable, Hashable {
    case good
    /// Nothing reliable was said about some certificate; the text says about which and why, for operators.
    case unknown(String)
    /// Suspended by its authority: it may be revoked yet, or be good again.
    case onHold(String)
    /// Revoked in a way that takes this proof along; the text has the date and the reason. Final.
    case revoked(String)

    /// How much there is to worry, to find the worst of several.
    private var weight: Int {
        switch self {
        case .good: 0
        case .unknown: 1
        case .onHold: 2
        case .revoked: 3
        }
    }

    func worse(of other: SignerStanding) -> SignerStanding { other.weight > weight ? other : self }
}

extension CRLReason {
    /// Whether the reason itself says that the key stayed in the right hands, so that the date a signer wrote beside
    /// its signature can be believed (decisions/0015). No reason given says nothing of the kind.
    var leavesKeySound: Bool {
        switch self {
        case .affiliationChanged, .superseded, .cessationOfOperation, .privilegeWithdrawn, .certificateHold: true
        default: false
        }
    }
}

extension SignerStanding {
    /// What a revocation means for a proof.
    ///
    /// - Parameter signedAt: as the signer says; nil if it does not, and then nothing can be older than the revocation.
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
public struct SignerSighting: Sendable {
    /// Each certificate below the root, with the one above it.
    public let questions: [OCSPQuestion]
    /// When the signer says that it signed.
    public let signedAt: Instant?

    public init(questions: [OCSPQuestion], signedAt: Instant?) {
        self.questions = questions
        self.signedAt = signedAt
    }
}

/// Told by one verification whom it relies on: a notification has up to four signatures.
final class SignerWitness: @unchecked Sendable {
    // Unchecked: one verification has it, on one thread, and it is read when that is over.
    private(set) var sightings: [SignerSighting] = []

    func saw(_ questions: [OCSPQuestion], signedAt: Instant?) {
        sightings.append(SignerSighting(questions: questions, signedAt: signedAt))
    }
}

extension SignedDataVerifier {
    /// A verification, and the chains of the signatures it relied on, each led to a configured root.
    ///
    /// - Parameter verify: gets a verifier of the same policy and memory, and uses it on the calling thread only.
    public func witnessed<Value>(
        _ verify: (SignedDataVerifier) throws(VerificationFailure) -> Value
    ) throws(VerificationFailure) -> (value: Value, sightings: [SignerSighting]) {
        let witness = SignerWitness()
        let value = try verify(SignedDataVerifier(self, telling: witness))
        return (value, witness.sightings)
    }
}

extension SigningChain {
    /// What there is to ask about a verified path, the root excepted: nobody stands above it.
    static func questions(along path: [Certificate]) -> [OCSPQuestion] {
        zip(path, path.dropFirst()).map(OCSPQuestion.init(certificate:issuer:))
    }
}
