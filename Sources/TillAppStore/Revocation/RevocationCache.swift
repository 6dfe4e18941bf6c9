import TillBilling
import TillCrypto

/// The cached statements about certificates, their age, and the requests in progress. A value type: its owner locks it.
struct RevocationCache {
    /// Apple uses one or two leaf certificates at a time, each under one intermediate.
    static let capacity = 32
    /// The maximum lifetime of an answer, whatever the answer itself states.
    static let lifetime: Int64 = 6 * 3_600_000
    /// The lifetime of answers that name no next update.
    static let lifetimeWithoutNext: Int64 = 15 * 60_000
    /// The pause after a failure; it doubles with each further failure, up to `longestPause`.
    static let firstPause: Int64 = 15_000
    static let longestPause: Int64 = 600_000

    private enum Finding {
        case good(until: Instant)
        case revoked(at: Int64, reason: CRLReason?)
        case unknown(String)
    }

    private struct Entry {
        var finding: Finding
        var askedAt: Instant
        /// When the next request is due; nil: never.
        var askAgain: Instant?
        /// Consecutive failures.
        var failures: Int

        var isRevoked: Bool {
            if case .revoked = finding { true } else { false }
        }
    }

    /// A request in progress, with the callers that wait for its answer.
    private struct PendingRequest {
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private var entries: [[UInt8]: Entry] = [:]
    private var pendingRequests: [[UInt8]: PendingRequest] = [:]

    /// Nil if the certificate has to be asked about, or is being asked about.
    func status(_ question: OCSPRequest, signedAt: Instant?, at now: Instant) -> SignerStatus? {
        // After the clock was set back, an old answer would look young.
        guard let entry = entries[question.fingerprint], entry.askedAt <= now else { return nil }
        let isDue = entry.askAgain.map { $0 <= now } ?? false
        switch entry.finding {
        case .good(let until):
            // A valid answer is refreshed before it ends; only the caller that asks waits for the new one.
            if now < until, !isDue || pendingRequests[question.fingerprint] != nil { return .good }
            return isDue ? nil : .unknown("\(question.certificate.subject): the last answer is too old")
        case .revoked(let seconds, let reason):
            return isDue
                ? nil
                : SignerStatus(question.certificate, revokedAt: seconds, reason: reason, signedAt: signedAt)
        case .unknown(let why):
            return isDue ? nil : .unknown("\(question.certificate.subject): \(why)")
        }
    }

    /// The worst status of all, or nil if a certificate has to be asked about first. A revocation counts regardless of
    /// the other certificates.
    func status(of observations: [SignerObservation], at now: Instant) -> SignerStatus? {
        var worst = SignerStatus.good
        var isOpen = false
        for observation in observations {
            for question in observation.questions {
                guard let found = status(question, signedAt: observation.signedAt, at: now) else {
                    isOpen = true
                    continue
                }
                worst = worst.worse(of: found)
            }
        }
        if case .revoked = worst { return worst }
        return isOpen ? nil : worst
    }

    /// The questions to ask for these chains, each once.
    func open(_ observations: [SignerObservation], at now: Instant) -> [OCSPRequest] {
        var seen: Set<[UInt8]> = []
        return observations.flatMap { observation in
            observation.questions.filter { status($0, signedAt: observation.signedAt, at: now) == nil }
        }.filter { seen.insert($0.fingerprint).inserted }
    }

    enum NextStep {
        /// Another caller's request was answered in the meantime.
        case done
        case ask
        case wait
    }

    mutating func begin(_ question: OCSPRequest, at now: Instant) -> NextStep {
        if pendingRequests[question.fingerprint] != nil { return .wait }
        if status(question, signedAt: nil, at: now) != nil { return .done }
        pendingRequests[question.fingerprint] = PendingRequest()
        return .ask
    }

    /// - Returns: whether a request is still in progress, so that `waiter` will be resumed.
    mutating func wait(_ question: OCSPRequest, _ waiter: CheckedContinuation<Void, Never>) -> Bool {
        pendingRequests[question.fingerprint]?.waiting.append(waiter) != nil
    }

    /// Ends a request.
    ///
    /// - Parameter answer: nil if the asking caller was cancelled, which says nothing about the responder.
    /// - Returns: the callers to resume.
    mutating func end(
        _ question: OCSPRequest, _ answer: RevocationChecker.Response?, at now: Instant
    ) -> [CheckedContinuation<Void, Never>] {
        if let answer { store(answer, for: question.fingerprint, at: now) }
        return pendingRequests.removeValue(forKey: question.fingerprint)?.waiting ?? []
    }

    private mutating func store(_ answer: RevocationChecker.Response, for fingerprint: [UInt8], at now: Instant) {
        let known = entries[fingerprint]
        switch answer {
        case .status(.good(let next)):
            let longest = now.adding(milliseconds: next == nil ? Self.lifetimeWithoutNext : Self.lifetime)
            let until = min(next.map { Instant(seconds: $0) } ?? longest, longest)
            // The clocks' difference may leave no lifetime. Keep the answer for a minute, so that not every proof asks
            // again.
            let end = max(until, now.adding(milliseconds: 60_000))
            let half = (end.milliseconds - now.milliseconds) / 2
            entries[fingerprint] = Entry(
                finding: .good(until: end), askedAt: now, askAgain: now.adding(milliseconds: half), failures: 0)
        case .status(.revoked(let seconds, let reason)):
            // Only a hold can be lifted (RFC 5280 §5.3.1).
            let again = reason == .certificateHold ? now.adding(milliseconds: Self.longestPause) : nil
            entries[fingerprint] = Entry(
                finding: .revoked(at: seconds, reason: reason), askedAt: now, askAgain: again, failures: 0)
        case .status(.unknown(let failure)): storeFailure(failure.rawValue, for: fingerprint, after: known, at: now)
        case .unreachable(let why): storeFailure(why, for: fingerprint, after: known, at: now)
        }
        if entries.count > Self.capacity { forgetOne(except: fingerprint) }
    }

    /// A failure keeps the previous statement: a good answer stays valid until its end, and a hold stays in force.
    private mutating func storeFailure(_ why: String, for fingerprint: [UInt8], after known: Entry?, at now: Instant) {
        let failures = min((known?.failures ?? 0) + 1, 16)
        let pause = min(Self.firstPause << Int64(failures - 1), Self.longestPause)
        let again = now.adding(milliseconds: pause)
        switch known?.finding {
        case .good(let until)? where now < until:
            entries[fingerprint] = Entry(
                finding: .good(until: until), askedAt: now, askAgain: again, failures: failures)
        case .revoked(let seconds, let reason)?:
            entries[fingerprint] = Entry(
                finding: .revoked(at: seconds, reason: reason), askedAt: now, askAgain: again, failures: failures)
        default:
            entries[fingerprint] = Entry(finding: .unknown(why), askedAt: now, askAgain: again, failures: failures)
        }
    }

    /// Removes the entry with the oldest request; revoked ones are removed last.
    private mutating func forgetOne(except fingerprint: [UInt8]) {
        let oldest = entries.filter { $0.key != fingerprint }.min { left, right in
            (left.value.isRevoked ? 1 : 0, left.value.askedAt) < (right.value.isRevoked ? 1 : 0, right.value.askedAt)
        }
        if let oldest { entries[oldest.key] = nil }
    }

    var count: Int { entries.count }
}
