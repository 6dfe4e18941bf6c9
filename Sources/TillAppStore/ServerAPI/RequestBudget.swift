import TillBilling
import TillThreads

/// Keeps every endpoint inside Apple's quota of the app, and shares the quota fairly.
///
/// One budget belongs to one app: all of its requests go through the same one. A budget does not see other processes;
/// processes that share an app divide its quotas by configuration.
///
/// It waits through the pause effect only. Of all callers that wait for one endpoint, one is the leader: it pauses
/// until the next slot is free and hands out slots; when it is served itself, another caller becomes the leader. So no
/// caller polls, and under a virtual clock the order of the calls decides everything.
public final class RequestBudget: Sendable {
    private struct Key: Hashable {
        let endpoint: ServerAPI.Endpoint
        let environment: StoreEnvironment
    }

    private enum Admission: Sendable {
        case granted
        case refused(ServerAPIError)
        /// Pause until this time, then hand out slots.
        case lead(until: Instant)
    }

    private struct Limiter {
        var quota: QuotaWindow
        var queue = RequestQueue()
        var sleepers: [UInt64: CheckedContinuation<Admission, Never>] = [:]
        var leader: UInt64?
    }

    private struct State {
        var limiters: [Key: Limiter] = [:]
        var lastNumber: UInt64 = 0
    }

    private let quotas: RequestQuotas
    private let clock: @Sendable () -> Instant
    private let pause: @Sendable (Int64) async -> Void
    private let waitingLimit: Int
    private let state = Locked(State())

    /// The longest single pause in milliseconds, because the clock may be set during a pause.
    private static let longestPause: Int64 = 30_000
    /// After this many pauses without progress, the clock counts as stopped.
    private static let stallLimit = 10

    /// - Parameter waitingLimit: how many callers may wait for one endpoint. A further caller displaces the last caller
    ///   of the source with the most waiting ones, or is refused at once if that is its own source.
    public init(effects: AppleEffects, quotas: RequestQuotas = RequestQuotas(), waitingLimit: Int = 1_000) {
        self.quotas = quotas
        clock = effects.clock
        pause = effects.pause
        self.waitingLimit = max(waitingLimit, 1)
    }

    /// Returns when one request may be sent. Cancelling the calling task ends the wait.
    ///
    /// - Throws: `overBudget` as soon as it is certain that no slot becomes free within the caller's patience; `outage`
    ///   with `stopped` if the task was cancelled.
    public func acquire(
        _ endpoint: ServerAPI.Endpoint, in environment: StoreEnvironment, for caller: RequestCaller
    ) async throws(ServerAPIError) {
        let key = Key(endpoint: endpoint, environment: environment)
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        var answer = await sleeping(key, number) { self.enter(key, number, caller, $0) }
        var stalls = 0
        while case .lead(let until) = answer {
            let before = clock()
            await pause(min(max(until.milliseconds - before.milliseconds, 1), Self.longestPause))
            stalls = clock() == before ? stalls + 1 : 0
            answer = lead(key, number, isStalled: stalls >= Self.stallLimit)
        }
        if case .refused(let error) = answer { throw error }
    }

    /// Records Apple's 429: no slot before `instant`, or for a minute if Apple stated no time.
    func close(_ endpoint: ServerAPI.Endpoint, in environment: StoreEnvironment, until instant: Instant?) {
        withLimiter(Key(endpoint: endpoint, environment: environment)) { limiter, now in
            limiter.quota.close(until: instant ?? now.adding(milliseconds: RetryAfter.defaultPause))
        }
    }

    /// The number of callers that wait for a slot of this endpoint.
    public func waiting(for endpoint: ServerAPI.Endpoint, in environment: StoreEnvironment) -> Int {
        withLimiter(Key(endpoint: endpoint, environment: environment)) { limiter, _ in limiter.queue.count }
    }

    /// The share of the quota that is left now, from 0 to 1.
    public func left(of endpoint: ServerAPI.Endpoint, in environment: StoreEnvironment) -> Double {
        withLimiter(Key(endpoint: endpoint, environment: environment)) { limiter, now in limiter.quota.left(at: now) }
    }

    /// The earliest time at which a request of this endpoint could be sent, if no other caller joins.
    public func nextAvailable(of endpoint: ServerAPI.Endpoint, in environment: StoreEnvironment) -> Instant {
        withLimiter(Key(endpoint: endpoint, environment: environment)) { limiter, now in
            limiter.quota.earliest(at: now, behind: limiter.queue.count)
        }
    }

    // MARK: - Waiting

    /// Reads the clock under the lock; otherwise the clock could appear to run backwards between two threads.
    private func withLimiter<Result>(_ key: Key, _ body: (inout Limiter, _ now: Instant) -> Result) -> Result {
        state.withLock { state in
            body(
                &state.limiters[key, default: Limiter(quota: QuotaWindow(quotas[key.endpoint, key.environment]))],
                clock())
        }
    }

    private func sleeping(
        _ key: Key, _ number: UInt64, _ body: (CheckedContinuation<Admission, Never>) -> Void
    ) async -> Admission {
        await withTaskCancellationHandler {
            await withCheckedContinuation(body)
        } onCancel: {
            leave(key, number)
        }
    }

    private func enter(
        _ key: Key, _ number: UInt64, _ caller: RequestCaller, _ continuation: CheckedContinuation<Admission, Never>
    ) {
        let answers: [(CheckedContinuation<Admission, Never>, Admission)] = withLimiter(key) { limiter, now in
            // Under the lock, a cancellation either precedes this line or finds the waiting continuation.
            if Task.isCancelled { return [(continuation, .refused(Self.cancelled))] }
            let next = limiter.quota.next(at: now)
            if limiter.queue.isEmpty, next <= now {
                limiter.quota.take(at: now)
                return [(continuation, .granted)]
            }
            let earliest = limiter.quota.earliest(at: now, behind: limiter.queue.ahead(of: caller))
            let deadline = now.adding(milliseconds: caller.timeout)
            let refused = Admission.refused(.overBudget(until: earliest))
            if earliest > deadline { return [(continuation, refused)] }
            var others: [(CheckedContinuation<Admission, Never>, Admission)] = []
            if limiter.queue.count >= waitingLimit {
                guard let sleeper = Self.evict(for: caller, &limiter) else { return [(continuation, refused)] }
                others.append((sleeper, refused))
            }
            limiter.queue.append(RequestQueue.Waiter(number: number, caller: caller, deadline: deadline))
            guard limiter.leader != nil else {
                limiter.leader = number
                return others + [(continuation, .lead(until: next))]
            }
            limiter.sleepers[number] = continuation
            return others
        }
        for (continuation, answer) in answers { continuation.resume(returning: answer) }
    }

    /// Displaces a waiting caller to make room for another, and returns its continuation; nil if no source has more
    /// waiting callers than this caller's own.
    private static func evict(
        for caller: RequestCaller, _ limiter: inout Limiter
    ) -> CheckedContinuation<Admission, Never>? {
        guard let number = limiter.queue.evicted(by: caller, except: limiter.leader),
            let sleeper = limiter.sleepers.removeValue(forKey: number)
        else { return nil }
        _ = limiter.queue.remove { $0.number == number }
        return sleeper
    }

    /// Called after the leader's pause: hands out the free slots, and refuses callers whose patience ended.
    private func lead(_ key: Key, _ number: UInt64, isStalled: Bool) -> Admission {
        let isCancelled = Task.isCancelled
        let (mine, others) = withLimiter(key) { limiter, now in
            var finished: [(number: UInt64, answer: Admission)] = []
            if isCancelled || isStalled {
                let error = isCancelled ? Self.cancelled : .overBudget(until: limiter.quota.next(at: now))
                finished += limiter.queue.remove { $0.number == number }.map { ($0.number, .refused(error)) }
            }
            // Slots first: a pause may end late, and no caller is refused for that while a slot is free.
            while limiter.quota.next(at: now) <= now, let waiter = limiter.queue.next() {
                limiter.quota.take(at: now)
                finished.append((waiter.number, .granted))
            }
            let next = limiter.quota.next(at: now)
            finished += limiter.queue.remove { $0.deadline < now }.map {
                ($0.number, .refused(.overBudget(until: next)))
            }
            return Self.sorted(finished, leader: number, &limiter, now: now)
        }
        for (continuation, answer) in others { continuation.resume(returning: answer) }
        return mine
    }

    /// Separates the leader's answer from the others', and appoints another leader if this one is served or refused.
    private static func sorted(
        _ finished: [(number: UInt64, answer: Admission)], leader: UInt64, _ limiter: inout Limiter, now: Instant
    ) -> (Admission, [(CheckedContinuation<Admission, Never>, Admission)]) {
        var mine: Admission?
        var others: [(CheckedContinuation<Admission, Never>, Admission)] = []
        for (number, answer) in finished {
            if number == leader {
                mine = answer
            } else if let sleeper = limiter.sleepers.removeValue(forKey: number) {
                others.append((sleeper, answer))
            }
        }
        let wake = wakeTime(&limiter, now: now)
        guard let mine else { return (.lead(until: wake), others) }
        limiter.leader = limiter.queue.lastWaiting
        if let next = limiter.leader, let sleeper = limiter.sleepers.removeValue(forKey: next) {
            others.append((sleeper, .lead(until: wake)))
        }
        return (mine, others)
    }

    private static func wakeTime(_ limiter: inout Limiter, now: Instant) -> Instant {
        let next = limiter.quota.next(at: now)
        guard let deadline = limiter.queue.earliestDeadline else { return next }
        return min(next, deadline.adding(milliseconds: 1))
    }

    /// Called when a waiting caller's task is cancelled. The leader notices a cancellation itself, because its pause
    /// ends.
    private func leave(_ key: Key, _ number: UInt64) {
        let sleeper = withLimiter(key) { limiter, _ in
            let sleeper = limiter.sleepers.removeValue(forKey: number)
            if sleeper != nil { _ = limiter.queue.remove { $0.number == number } }
            return sleeper
        }
        sleeper?.resume(returning: .refused(Self.cancelled))
    }

    private static let cancelled = ServerAPIError.outage(
        AppleConnectionError(.stopped, "cancelled while waiting for a turn"))
}
