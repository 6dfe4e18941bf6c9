import TillBilling
import TillCrypto

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
        guard let body = question.request() else { return .outage("cannot be asked about") }
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
